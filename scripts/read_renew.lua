-- traits: joins 3, confirms
-- Renews each ownership's read side.
-- KEYS the locks
-- ARGV for each lock: field, lease in ms, prefix of the lease keys
-- Reply: a list: one 1 if all are renewed; else for each lock 1, 0 if the field is gone, or an error if a
--        lease could not be renewed.
-- Idempotent. Never shortens the lock's lease: other readers may have longer ones.
local call, pcall = redis.call, redis.pcall

-- include absent.lua
-- include depth_of.lua

local reply, renewed = {}, 0
for i = 1, #KEYS do
    local lock, field, lease = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1]
    local depth = pcall('hget', lock, field)
    reply[i] = absent(depth)
    if type(depth) == 'string' then
        local key = ARGV[3 * i] .. ':' .. field .. ':rwlock_timeout:'
        for n = 1, depth_of(depth) do
            local one = key .. string.format('%d', n)
            local kept = pcall('pexpire', one, lease)
            if kept ~= 1 then
                kept = pcall('set', one, '1', 'px', lease)
            end
            if kept ~= 1 and kept.err then
                reply[i] = kept
            end
        end
        if reply[i] == 0 then
            if call('pttl', lock) < tonumber(lease) then
                call('pexpire', lock, lease)
            end
            reply[i] = 1
            renewed = renewed + 1
        end
    end
end
return renewed == #KEYS and {1} or reply
