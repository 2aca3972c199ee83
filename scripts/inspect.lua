-- Reads a lock.
-- KEYS 1 lock
-- Reply: a list: PTTL (-2 if nobody holds it, -1 without a lease), then each field and its value.
-- Idempotent; writes nothing.
local fields = redis.call('hgetall', KEYS[1])
return {redis.call('pttl', KEYS[1]), unpack(fields)}
