-- Reads the state of each lock.
-- KEYS the locks
-- Reply: a list, for each lock a list: PTTL (-2 if nobody holds it, -1 without a lease), the mode
--        of a read-write lock ('' for other locks), the number of fields; an error if the key does
--        not hold a lock.
-- Idempotent; writes nothing. A hundred thousand readers take no longer than one.
local reply = {}
for i = 1, #KEYS do
    local mode = redis.pcall('hget', KEYS[i], 'mode')
    if type(mode) == 'table' then
        reply[i] = mode
    else
        reply[i] = {redis.call('pttl', KEYS[i]), mode or '', redis.call('hlen', KEYS[i])}
    end
end
return reply
