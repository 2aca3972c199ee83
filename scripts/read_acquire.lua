-- traits: joins 11
-- Takes the read side of each read-write lock that has no writer.
-- KEYS the locks
-- ARGV for each lock: field, lease in ms, prefix of the lease keys
-- Reply: a list, for each lock 0 if granted; a list with the lock's PTTL if somebody writes, or the
--        hash is not a read-write lock; an error if the key does not hold a hash.
-- Idempotent: a repeat finds its field and sets the lease again.
local call, pcall = redis.call, redis.pcall
local reply = {}
for i = 1, #KEYS do
    local lock, field, lease, prefix = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
    local mode = pcall('hget', lock, 'mode')
    local free = not mode and call('exists', lock) == 0
    if type(mode) == 'table' then
        reply[i] = mode
    elseif free or mode == 'read' then
        -- Calls that can fail come before calls that take.
        local own = prefix .. ':' .. field .. ':rwlock_timeout:1'
        local set = pcall('set', own, '1', 'px', lease)
        if not set.err then
            call('hset', lock, 'mode', 'read', field, '1')
            if call('pttl', lock) < tonumber(lease) then
                set = pcall('pexpire', lock, lease)
            end
            if set ~= 1 and set.err then  -- refused: a lock without a lease must not stay
                pcall('del', own)
                pcall('hdel', lock, field)
                if free then
                    pcall('hdel', lock, 'mode')
                end
            end
        end
        reply[i] = set ~= 1 and set.err and set or 0
    else
        reply[i] = {call('pttl', lock)}
    end
end
return reply
