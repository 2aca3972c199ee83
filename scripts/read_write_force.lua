-- traits: looks_around
-- Takes one side of each read-write lock away from its holders, tells these, and the waiters.
-- KEYS the locks
-- ARGV for each lock: side, 'read' or 'write'; channel; wait list; how the names of the mailboxes
--      begin; prefix of the lease keys
-- Reply: a list, for each lock 1 if that side was held, else 0; an error if the key does not hold a
--        lock, which stays as it is.
-- Not idempotent: a repeat could take the lock away from a later owner, so it is sent once.
local call, pcall = redis.call, redis.pcall
local clock

-- include depth_of.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_forced.lua

-- The leases of all readers; the writer may be one of them.
local function remove_leases(lock, prefix)
    local fields = call('hgetall', lock)
    for f = 1, #fields, 2 do
        for n = 1, depth_of(fields[f + 1]) do
            pcall('del', prefix .. ':' .. fields[f] .. ':rwlock_timeout:' .. string.format('%d', n))
        end
    end
end

local reply = {}
for i = 1, #KEYS do
    local side, channel, list, box, prefix = unpack(ARGV, 5 * i - 4, 5 * i)
    local mode = pcall('hget', KEYS[i], 'mode')
    reply[i] = type(mode) == 'table' and mode or 0
    if mode == side then
        local fields = call('hkeys', KEYS[i])
        remove_leases(KEYS[i], prefix)
        call('del', KEYS[i])
        tell_forced(KEYS[i], fields, box)
        local receivers = publish(channel, side == 'read' and '0' or '1')
        tell(list, box, KEYS[i], 1, receivers)
        reply[i] = 1
    end
end
return reply
