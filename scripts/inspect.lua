-- Reads each lock.
-- KEYS the locks
-- Reply: a list, for each lock a list: PTTL (-2 if nobody holds it, -1 without a lease), then each
--        field and its value; an error if the key is no lock.
-- Idempotent; writes nothing.
local reply = {}
for i = 1, #KEYS do
    local fields = redis.pcall('hgetall', KEYS[i])
    reply[i] = fields.err and fields or {redis.call('pttl', KEYS[i]), unpack(fields)}
end
return reply
