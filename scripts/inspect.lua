-- Looks at each lock.
-- KEYS the locks
-- Reply: a list, for each lock a list: PTTL (-2 if nobody holds it, -1 without a lease), the mode of
--        a read-write lock ('' of others), the number of fields; an error if the key is no lock.
-- Idempotent; writes nothing. Takes as long for a hundred thousand readers as for one.
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
