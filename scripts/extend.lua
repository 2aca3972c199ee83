-- Sets the depth and the lease of an ownership: re-entry, partial release, a new lease.
-- KEYS 1 lock
-- ARGV 1 field  2 depth  3 lease in ms
-- Reply: 1, or 0 if the field is gone; then nothing is taken.
-- Idempotent: the depth is the one to have, not a difference.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
redis.call('pexpire', KEYS[1], ARGV[3])
return 1
