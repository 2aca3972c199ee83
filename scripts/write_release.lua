-- Takes each ownership's write side back and tells the waiters. Its owner's read side stays.
-- KEYS the locks
-- ARGV for each lock: field with ':write', channel, prefix of the lease keys
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish;
--        false if the field is gone; an error if the key does not hold a lock.
-- Idempotent: a repeat finds no field and does nothing.
local call, pcall = redis.call, redis.pcall

-- include lease_key.lua
-- include publish.lua

-- The longest lease of the owner's read side; the lock's TTL if not all of them can be read.
local function longest(lock, field, prefix)
    local most = 0
    for n = 1, tonumber(call('hget', lock, field) or 0) do
        local rest = pcall('pttl', lease_key(prefix, field, n))
        most = math.max(most, type(rest) == 'number' and rest or call('pttl', lock))
    end
    return most
end

local reply = {}
for i = 1, #KEYS do
    local lock, field, prefix = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i]
    local removed = pcall('hdel', lock, field)
    if removed == 1 then
        -- While there is a writer, only the writer itself may read.
        local rest = longest(lock, string.sub(field, 1, -string.len(':write') - 1), prefix)
        if rest > 0 then
            call('hset', lock, 'mode', 'read')
            call('pexpire', lock, rest)
        else
            call('del', lock)
        end
        reply[i] = publish(ARGV[3 * i - 1], '1')
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
