-- traits: joins 4
-- Removes the client, or its entry, from each wait list. If the entry is not there, the lock may
-- have been passed on to it: then it gives that back. If its turn may have come, tells the next one.
-- KEYS the locks
-- ARGV for each lock: channel, client or entry
-- Reply: a list, for each lock 1 if the client stood in the list, else 0.
-- A repeat finds nothing, and tells the next one once more, who asks in vain.

-- include publish.lua
-- include wait_list.lua
-- include tell_first.lua

local reply = {}
for i = 1, #KEYS do
    local channel, client = ARGV[2 * i - 1], ARGV[2 * i]
    local list = wait_list(channel)
    local field = string.match(client, '^([^|]*)|')
    local is_first = redis.pcall('lindex', list, 0) == client
    local removed = redis.pcall('lrem', list, 1, client) == 1
    if field and not removed then
        redis.pcall('hdel', KEYS[i], field)
    end
    if is_first or not removed then
        tell_first(list, channel, 0)
    end
    reply[i] = removed and 1 or 0
end
return reply
