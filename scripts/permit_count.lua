-- Counts the permits of each semaphore.
-- KEYS for each semaphore: semaphore, its leases
-- Reply: a list, for each semaphore a list with the available permits, which are those that are
--        left and those whose lease has ended, and with those that are out; an error if the keys do
--        not hold a semaphore.
-- Idempotent; writes nothing.
local time = redis.call('time')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local reply = {}
for i = 1, #KEYS / 2 do
    local value = redis.pcall('get', KEYS[2 * i - 1])
    local ended = redis.pcall('zcount', KEYS[2 * i], 0, now)
    local out = redis.pcall('zcount', KEYS[2 * i], '(' .. now, '+inf')
    local available = type(value) ~= 'table' and tonumber(value or 0)
    if type(value) == 'table' or type(ended) == 'table' then
        reply[i] = type(value) == 'table' and value or ended
    else
        reply[i] = available and {available + ended, out} or
            redis.error_reply('WRONGTYPE the key holds no number')
    end
end
return reply
