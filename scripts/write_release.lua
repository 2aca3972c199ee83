-- traits: joins 6, looks_around, shares_first
-- Takes each ownership's write side back and tells the waiters, as a release does. Its owner's read
-- side stays.
-- KEYS the locks
-- ARGV as in release.lua, with ':write' behind the field; and for each lock the prefix of the lease
--      keys
-- Reply: as of release.lua.
-- Idempotent: as release.lua.
local call, pcall = redis.call, redis.pcall
local box, clock = ARGV[1]

-- include depth_of.lua
-- include lease_key.lua
-- include publish.lua
-- include crowd.lua
-- include wait_list.lua
-- include tell.lua
-- include stand.lua
-- include leave.lua
-- include is_foreign.lua
-- include give_way.lua

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
    local lock = KEYS[i]
    local field, channel, list, joining, prefix = unpack(ARGV, 5 * i - 3, 5 * i + 1)
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
    end
    if type(removed) == 'table' then
        reply[i] = removed
    else
        -- Where the owner reads on, the first writer learns that somebody reads now.
        reply[i] = give_way(lock, removed == 1, field, channel, '1', list, box, joining)
    end
end
return reply
