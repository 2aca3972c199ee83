-- Gives permits back, as many of them as are out, and tells the waiters.
-- KEYS for each semaphore: semaphore, its leases
-- ARGV for each semaphore: ids, one for each permit, channel
-- Reply: a list, for each semaphore the number of receivers, or -1 if the server refuses to
--        publish; false if a permit is gone or its lease had ended; an error if the keys do not
--        hold a semaphore.
-- Idempotent: a repeat finds no permits and does nothing.
local call, pcall = redis.call, redis.pcall

-- include ids.lua
-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include crowd.lua
-- include tell_first.lua
-- include tell_left.lua

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, leases = KEYS[2 * i - 1], KEYS[2 * i]
    local out, is_whole = {}, true
    for _, id in ipairs(ids_in(ARGV[2 * i - 1])) do
        local ends = pcall('zscore', leases, id)
        if type(ends) == 'table' then
            reply[i] = ends
        elseif ends then
            out[#out + 1] = id
        end
        is_whole = is_whole and type(ends) == 'string' and tonumber(ends) > now
    end
    reply[i] = reply[i] or false
    if #out > 0 then
        call('zrem', leases, '')  -- removes nothing; see README on full memory
        local available = pcall('incrby', semaphore, #out)
        reply[i] = available
        if type(available) == 'number' then
            call('zrem', leases, unpack(out))
            local receivers = tell_left(ARGV[2 * i], available, #out)
            reply[i] = is_whole and receivers
        end
    end
end
return reply
