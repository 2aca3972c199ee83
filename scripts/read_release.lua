-- traits: joins 5, looks_around, shares_first
-- Takes each ownership's read side back. When the lock is free, tells the waiters by the channel,
-- and of the wait list the first writer.
-- KEYS the locks
-- ARGV 1 how the names of the mailboxes begin; then for each lock: field; channel; wait list; prefix
--      of the lease keys
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish; 0
--        if others still hold it; false if the field is gone; an error if the key does not hold a
--        lock.
-- Idempotent: a repeat finds no field and does nothing.
local call, pcall = redis.call, redis.pcall
local box, clock = ARGV[1]

-- include depth_of.lua
-- include lease_key.lua
-- include longest.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua

local reply = {}
for i = 1, #KEYS do
    local lock = KEYS[i]
    local field, channel, list, prefix = unpack(ARGV, 4 * i - 2, 4 * i + 1)
    local depth = pcall('hget', lock, field)
    if type(depth) ~= 'string' then
        reply[i] = depth
    else
        local mode, ttl = call('hget', lock, 'mode'), call('pttl', lock)
        local had = pcall('pttl', lease_key(prefix, field, 1))
        call('hdel', lock, field)
        for n = 1, depth_of(depth) do
            pcall('del', lease_key(prefix, field, n))
        end
        local free = call('hlen', lock) < 2
        -- If the lock outlives this reader's lease, another owner has set its TTL.
        -- A lock without a TTL was not set so by colock or Redisson, and tells nothing.
        if not free and mode == 'read' and ttl >= 0 and (type(had) ~= 'number' or had + 1 >= ttl) then
            local rest = longest(lock, prefix, ttl)
            free = rest <= 0
            if not free then
                call('pexpire', lock, rest)
            end
        end
        reply[i] = 0
        if free then
            call('del', lock)
            reply[i] = publish(channel, '0')
            tell(list, box, lock, 1, reply[i])
        end
    end
end
return reply
