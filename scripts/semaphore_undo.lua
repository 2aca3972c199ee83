-- Gives back the permits of a request that its caller has given up, and keeps that request from
-- taking effect later.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: number of the request, number of this one, permits, life of the record
--      in ms, channel
-- Reply: a list, for each semaphore 1 if the request had taken them, else 0.
-- Idempotent: a repeat finds its own number.
local call = redis.call

-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include crowd.lua
-- include tell_first.lua
-- include tell_left.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local last, number = call('get', record), ARGV[5 * i - 3]
    if tonumber(last or 0) < tonumber(number) then
        call('set', record, number, 'px', ARGV[5 * i - 1])
    end
    reply[i] = 0
    if last == ARGV[5 * i - 4] and call('exists', semaphore) == 1 then
        local available = call('incrby', semaphore, ARGV[5 * i - 2])
        tell_left(ARGV[5 * i], available, tonumber(ARGV[5 * i - 2]))
        reply[i] = 1
    end
end
return reply
