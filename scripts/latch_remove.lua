-- Removes each latch, so that it is open, and lets all waiters pass.
-- KEYS for each latch: latch, the client's last change there
-- ARGV for each latch: 0, number of the change, life of its record in ms, channel
-- Reply: a list, for each latch 1 if it was removed, 0 if it was not there; an error if the key
--        does not hold a latch, which stays as it is.
-- Idempotent: the record has the number and the result of the last change.
local call = redis.call

-- include publish.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local latch, record = KEYS[2 * i - 1], KEYS[2 * i]
    local number, life = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local last, result = string.match(call('get', record) or '', '^(%d+) (-?%d+)$')
    if last and tonumber(last) >= tonumber(number) then
        reply[i] = tonumber(result)
    else
        local value = redis.pcall('get', latch)
        if type(value) == 'table' then
            reply[i] = value
        elseif not tonumber(value or 0) then
            reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
        else
            reply[i] = value and 1 or 0
            call('set', record, number .. ' ' .. reply[i], 'px', life)
            if value then
                call('del', latch)
                publish(ARGV[4 * i], '0')
            end
        end
    end
end
return reply
