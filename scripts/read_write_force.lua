-- traits: looks_around
-- Takes one side of each read-write lock away from its holders, tells these, and the waiters.
-- KEYS the locks
-- ARGV for each lock: side, 'read' or 'write'; channel; prefix of the lease keys; how the names of
--      the mailboxes begin
-- Reply: a list, for each lock 1 if that side was held, else 0; an error if the key does not hold a
--        lock, which stays as it is.
-- Not idempotent: a repeat could take the lock away from a later owner, so it is sent once.
local call, pcall = redis.call, redis.pcall

-- include depth_of.lua
-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include crowd.lua
-- include tell_first.lua
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
    local side, channel, prefix, box = unpack(ARGV, 4 * i - 3, 4 * i)
    local mode = pcall('hget', KEYS[i], 'mode')
    reply[i] = type(mode) == 'table' and mode or 0
    if mode == side then
        local fields = call('hkeys', KEYS[i])
        remove_leases(KEYS[i], prefix)
        call('del', KEYS[i])
        tell_forced(KEYS[i], fields, box)
        local receivers = publish(channel, side == 'read' and '0' or '1')
        tell_first(wait_list(channel), channel, receivers)
        reply[i] = 1
    end
end
return reply
