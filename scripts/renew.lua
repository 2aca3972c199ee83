-- Renews each ownership.
-- KEYS the locks
-- ARGV for each lock: field, lease in ms
-- Reply: a list, for each lock 1, or 0 if the field is gone, or an error.
-- Idempotent.
local reply = {}
for i = 1, #KEYS do
    reply[i] = 0
    if redis.pcall('hexists', KEYS[i], ARGV[2 * i - 1]) == 1 then
        reply[i] = redis.pcall('pexpire', KEYS[i], ARGV[2 * i])
    end
end
return reply
