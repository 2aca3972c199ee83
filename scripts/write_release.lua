-- traits: joins 6, looks_around
-- Takes each ownership's write side back and tells the waiters, as a release does. Its owner's read
-- side stays.
-- KEYS the locks
-- ARGV for each lock: field with ':write'; channel, wait list and entry as in release.lua; prefix of
--      the lease keys
-- Reply: as of release.lua.
-- Idempotent: a repeat finds no field and does nothing.
local call, pcall = redis.call, redis.pcall

-- include depth_of.lua
-- include lease_key.lua
-- include publish.lua
-- include wait_list_entries.lua
-- include crowd.lua
-- include tell_first.lua

-- The longest lease of the owner's read side; the lock's TTL if not all of them can be read.
local function longest(lock, field, prefix)
    local most = 0
    for n = 1, depth_of(call('hget', lock, field)) do
        local rest = pcall('pttl', lease_key(prefix, field, n))
        most = math.max(most, type(rest) == 'number' and rest or call('pttl', lock))
    end
    return most
end

local reply = {}
for i = 1, #KEYS do
    local lock, field, channel = KEYS[i], ARGV[5 * i - 4], ARGV[5 * i - 3]
    local list, entry, prefix = ARGV[5 * i - 2], ARGV[5 * i - 1], ARGV[5 * i]
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
        -- Where the owner reads on, the first writer learns that somebody reads now.
        local receivers = publish(channel, '1')
        reply[i] = receivers
        if tell_first(list, channel, receivers) then
            local stands = entry ~= '' and join(list, entry, false)
            reply[i] = {receivers, stands and 1 or 0}
        end
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
