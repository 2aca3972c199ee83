-- traits: joins 8
-- Removes the client's entry from each wait list. If its turn may have come, tells the next one; of
-- permits, those that can get in, or the next one if nobody can.
-- KEYS the locks, or semaphores
-- ARGV for each lock: channel, entry of the client
-- Reply: a list, for each lock 1 if the client stood in the list, else 0; an error if it may still stand
--        there.
-- A repeat finds nothing, and tells the next one once more, who asks in vain.

-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include crowd.lua
-- include tell_first.lua

-- Whether one client has the lock, and its release tells the first of the list: see refuse.lua.
local function is_held_by_teller(lock)
    if redis.pcall('hlen', lock) ~= 1 then
        return false
    end
    local holder = redis.pcall('hkeys', lock)[1]
    return holder and string.sub(holder, 15, 15) == '9'
end

local reply = {}
for i = 1, #KEYS do
    local channel, entry = ARGV[2 * i - 1], ARGV[2 * i]
    local list = wait_list(channel)
    local is_first = redis.pcall('lindex', list, 0) == entry
    local removed = redis.pcall('lrem', list, 1, entry)
    local failed = type(removed) == 'table' and removed
    removed = not failed and removed > 0
    local permits = redis.pcall('get', KEYS[i])
    permits = type(permits) == 'string' and tonumber(permits)
    if permits and (is_first or not removed) then
        tell_first_or_front(list, channel, permits)
    elseif not removed or is_first and not is_held_by_teller(KEYS[i]) then
        tell_first(list, channel, 0)
    end
    reply[i] = failed or removed and 1 or 0
end
return reply
