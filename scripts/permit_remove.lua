-- Removes each semaphore of permits, with those that are out.
-- KEYS for each semaphore: semaphore, the client's last change there, its leases
-- ARGV for each semaphore: 0, number of the change, life of its record in ms, channel (not used)
-- Reply: a list, for each semaphore 1 if it was removed, 0 if it was not there; an error if the keys
--        do not hold a semaphore, which stay as they are.
-- Idempotent: the record has the number and the result of the last change.
local call, pcall = redis.call, redis.pcall

local reply = {}
for i = 1, #KEYS / 3 do
    local semaphore, record, leases = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
    local number, life = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local last, result = string.match(call('get', record) or '', '^(%d+) (-?%d+)$')
    if last and tonumber(last) >= tonumber(number) then
        reply[i] = tonumber(result)
    else
        local value, out = pcall('get', semaphore), pcall('zcount', leases, '-inf', '+inf')
        if type(value) == 'table' or type(out) == 'table' then
            reply[i] = type(value) == 'table' and value or out
        elseif not tonumber(value or 0) then
            reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
        else
            reply[i] = (value or out > 0) and 1 or 0
            call('set', record, number .. ' ' .. reply[i], 'px', life)
            call('del', semaphore, leases)
        end
    end
end
return reply
