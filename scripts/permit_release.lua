-- Gives each permit back and tells the waiters.
-- KEYS for each permit: semaphore, its leases
-- ARGV for each permit: id, channel
-- Reply: a list, for each permit the number of receivers, or -1 if the server refuses to publish;
--        false if it is gone or its lease had ended; an error if the keys do not hold a semaphore.
-- Idempotent: a repeat finds no permit and does nothing.
local call, pcall = redis.call, redis.pcall

-- include publish.lua

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, leases, id = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i - 1]
    local ends = pcall('zscore', leases, id)
    reply[i] = type(ends) == 'table' and ends or false
    if type(ends) == 'string' then
        call('zrem', leases, '')  -- removes nothing; see README on full memory
        local available = pcall('incr', semaphore)
        reply[i] = available
        if type(available) == 'number' then
            call('zrem', leases, id)
            local receivers = publish(ARGV[2 * i], string.format('%.0f', available))
            reply[i] = tonumber(ends) > now and receivers
        end
    end
end
return reply
