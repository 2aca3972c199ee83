-- Renews many ownerships.
-- KEYS the locks
-- ARGV two for each lock: field, lease in ms
-- Reply: a list, 1 for each lock that was renewed and 0 for each whose field is gone.
-- Idempotent.
local renewed = {}
for i, key in ipairs(KEYS) do
    renewed[i] = 0
    if redis.pcall('hexists', key, ARGV[2 * i - 1]) == 1 then
        renewed[i] = redis.call('pexpire', key, ARGV[2 * i])
    end
end
return renewed
