-- traits: joins 3, confirms
-- Renews each ownership's read side.
-- KEYS the locks
-- ARGV for each lock: field, lease in ms, prefix of the lease keys
-- Reply: 1 if all are renewed; else a list, for each lock 1, or 0 if the field is gone.
-- Idempotent. Never shortens the lock's lease: other readers may have longer ones.
local call, pcall = redis.call, redis.pcall
local reply, renewed = {}, 0
for i = 1, #KEYS do
    local lock, field, lease = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1]
    local depth = pcall('hget', lock, field)
    reply[i] = 0
    if type(depth) == 'string' then
        local key = ARGV[3 * i] .. ':' .. field .. ':rwlock_timeout:'
        for n = 1, tonumber(depth) do
            local one = key .. string.format('%d', n)
            if pcall('pexpire', one, lease) ~= 1 then
                pcall('set', one, '1', 'px', lease)
            end
        end
        if call('pttl', lock) < tonumber(lease) then
            call('pexpire', lock, lease)
        end
        reply[i] = 1
        renewed = renewed + 1
    end
end
return renewed == #KEYS and 1 or reply
