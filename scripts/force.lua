-- Takes each lock away from its holder and tells the waiters, as a release does.
-- KEYS the locks
-- ARGV for each lock: channel
-- Reply: a list, for each lock 1 if somebody held it, else 0; an error if the key does not hold a
--        lock, which stays as it is.
-- Not idempotent: a repeat could take the lock away from a later owner, so it is sent once.

-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include crowd.lua
-- include tell_first.lua

local reply = {}
for i = 1, #KEYS do
    local depth = redis.pcall('hlen', KEYS[i])
    reply[i] = depth
    if type(depth) == 'number' and depth > 0 then
        redis.call('del', KEYS[i])
        tell_first(wait_list(ARGV[i]), ARGV[i], publish(ARGV[i], '0'))
        reply[i] = 1
    end
end
return reply
