-- Reads each counter: a semaphore's permits, a latch's count.
-- KEYS the counters
-- Reply: a list, for each counter its value, 0 if there is none; an error if the key does not hold
--        a counter.
-- Idempotent; writes nothing.
local reply = {}
for i = 1, #KEYS do
    local value = redis.pcall('get', KEYS[i])
    reply[i] = type(value) == 'table' and value or tonumber(value or 0) or
        redis.error_reply('WRONGTYPE the key holds no number')
end
return reply
