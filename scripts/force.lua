-- Takes a lock away from whoever holds it and tells those who wait.
-- KEYS 1 lock
-- ARGV 1 channel
-- Reply: 1 if there was a lock, else 0. A key of another type is an error and stays.
-- Idempotent.
if redis.call('hlen', KEYS[1]) == 0 then
    return 0
end
redis.call('del', KEYS[1])
redis.pcall('publish', ARGV[1], '0')
return 1
