-- Counts each latch down. A latch that reaches zero is removed and lets all waiters pass.
-- KEYS for each latch: latch, the client's last change there
-- ARGV for each latch: by how much, number of the change, life of its record in ms, channel
-- Reply: a list, for each latch the count that is left; an error if the key does not hold a latch.
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
        local count = type(value) ~= 'table' and tonumber(value or 0)
        if type(value) == 'table' then
            reply[i] = value
        elseif not count then
            reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
        else
            local left = math.max(count - ARGV[4 * i - 3], 0)
            call('set', record, number .. ' ' .. string.format('%.0f', left), 'px', life)
            if left > 0 then
                call('decrby', latch, ARGV[4 * i - 3])
            elseif value then
                call('del', latch)
                if count > 0 then
                    publish(ARGV[4 * i], '0')
                end
            end
            reply[i] = left
        end
    end
end
return reply
