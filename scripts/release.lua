-- Gives each ownership back and tells the waiters.
-- KEYS the locks
-- ARGV for each lock: field, channel
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish;
--        false if the field is gone; an error if the key does not hold a lock.
-- Idempotent: a repeat finds no field and does nothing.
local pcall = redis.pcall

-- include publish.lua

local reply = {}
for i = 1, #KEYS do
    local removed = pcall('hdel', KEYS[i], ARGV[2 * i - 1])
    if removed == 1 then
        reply[i] = publish(ARGV[2 * i], '0')
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
