-- traits: joins 4, looks_around
-- Sets the depth and the lease of each ownership's read side: re-entry, partial release, a new
-- lease, or a writer that begins to read.
-- KEYS the locks
-- ARGV for each lock: field, depth, lease in ms, prefix of the lease keys
-- Reply: a list, for each lock 1, or 0 if the ownership is gone, or an error; then nothing is taken.
-- Idempotent: the depth is the new depth, not a difference.
local call, pcall = redis.call, redis.pcall

-- include absent.lua
-- include depth_of.lua
-- include lease_key.lua
-- include longest.lua

local reply = {}
for i = 1, #KEYS do
    local lock, field, prefix = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i]
    local depth, lease = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local before = pcall('hget', lock, field)
    reply[i] = absent(before)
    if type(before) == 'string' or
        not before and call('hexists', lock, field .. ':write') == 1 then
        local had = pcall('pttl', lease_key(prefix, field, 1))
        for n = 1, tonumber(depth) do
            if call('pexpire', lease_key(prefix, field, n), lease) == 0 then
                call('set', lease_key(prefix, field, n), '1', 'px', lease)
            end
        end
        if depth ~= before then
            call('hset', lock, field, depth)
        end
        for n = depth + 1, depth_of(before) do
            call('del', lease_key(prefix, field, n))
        end
        -- If the lock outlives this reader's lease, another owner has set its TTL.
        local ttl = call('pttl', lock)
        if ttl < tonumber(lease) then
            call('pexpire', lock, lease)
        elseif type(had) == 'number' and had + 1 >= ttl and
            call('hget', lock, 'mode') == 'read' then
            call('pexpire', lock, longest(lock, prefix, ttl))
        end
        reply[i] = 1
    end
end
return reply
