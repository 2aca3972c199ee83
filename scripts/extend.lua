-- traits: joins 2
-- Sets the depth and the lease of each ownership: re-entry, partial release, a new lease.
-- KEYS the locks
-- ARGV for each lock: field, depth, lease in ms
-- Reply: a list, for each lock 1, or 0 if the field is gone, or an error; then nothing is taken.
-- Idempotent: the depth is the new depth, not a difference.

-- include absent.lua

local reply = {}
for i = 1, #KEYS do
    local found = redis.pcall('hexists', KEYS[i], ARGV[3 * i - 2])
    reply[i] = absent(found)
    if found == 1 then
        -- A call that needs no memory comes first: after it the server does not refuse the others
        -- because of full memory.
        reply[i] = redis.call('pexpire', KEYS[i], ARGV[3 * i])
        redis.call('hset', KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1])
    end
end
return reply
