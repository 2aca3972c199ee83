-- Takes all permits of each semaphore.
-- KEYS for each semaphore: semaphore, the client's last change there
-- ARGV for each semaphore: 0, number of the change, life of its record in ms, channel (not used)
-- Reply: a list, for each semaphore the permits that it had; an error if the key does
--        not hold a semaphore.
-- Idempotent: the record has the number and the result of the last change.
local call = redis.call
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local number, life = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local last, result = string.match(call('get', record) or '', '^(%d+) (-?%d+)$')
    if last and tonumber(last) >= tonumber(number) then
        reply[i] = tonumber(result)
    else
        local value = redis.pcall('get', semaphore)
        local available = type(value) ~= 'table' and tonumber(value or 0)
        if type(value) == 'table' then
            reply[i] = value
        elseif not available then
            reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
        else
            call('set', record, number .. ' ' .. string.format('%.0f', available), 'px', life)
            if value then
                call('set', semaphore, 0, 'keepttl')
            end
            reply[i] = available
        end
    end
end
return reply
