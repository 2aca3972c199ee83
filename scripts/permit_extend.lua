-- traits: joins 14, confirms
-- Sets a new lease of each permit that starts now: an extension, or a renewal.
-- KEYS the leases of each permit's semaphore
-- ARGV for each permit: id, lease in ms
-- Reply: a list, for each permit 1, or 0 if it is gone or its lease has ended, or an error.
-- Idempotent.

-- include absent.lua

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {}
for i = 1, #KEYS do
    local ends = redis.pcall('zscore', KEYS[i], ARGV[2 * i - 1])
    reply[i] = absent(ends)
    if type(ends) == 'string' and tonumber(ends) > now then
        redis.call('zrem', KEYS[i], '')  -- removes nothing; see README on full memory
        redis.call('zadd', KEYS[i], string.format('%.0f', now + ARGV[2 * i]), ARGV[2 * i - 1])
        reply[i] = 1
    end
end
return reply
