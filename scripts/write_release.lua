-- Takes each ownership's write side back and tells those who wait; its readers stay.
-- KEYS the locks
-- ARGV for each lock: field with ':write', channel
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish;
--        false if the field is gone; an error if the key is no lock.
-- Idempotent: a repeat finds no field and does nothing.
local call, pcall = redis.call, redis.pcall
local reply = {}
for i = 1, #KEYS do
    local lock = KEYS[i]
    local removed = pcall('hdel', lock, ARGV[2 * i - 1])
    if removed == 1 then
        -- Beside the mode there may be the writer's own reader.
        if call('hlen', lock) > 1 then
            call('hset', lock, 'mode', 'read')
        else
            call('del', lock)
        end
        local receivers = pcall('publish', ARGV[2 * i], '1')
        reply[i] = type(receivers) == 'number' and receivers or -1
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
