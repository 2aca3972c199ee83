-- Sets how many permits each semaphore has, those that are out among them, and tells the waiters of
-- new ones. If more are out than it shall have, fewer than none are left.
-- KEYS for each semaphore: semaphore, the client's last change there, its leases
-- ARGV for each semaphore: permits, number of the change, life of its record in ms, channel, wait
--      list, how the names of the mailboxes begin
-- Reply: a list, for each semaphore the permits that are left then; an error if the keys do not
--        hold a semaphore.
-- Idempotent: the record has the number and the result of the last change.
local call, pcall = redis.call, redis.pcall
local clock

-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_left.lua

local reply = {}
for i = 1, #KEYS / 3 do
    local semaphore, record, leases = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
    local permits, number, life, channel, list, box = unpack(ARGV, 6 * i - 5, 6 * i)
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
            local left = permits - out
            local more = left - (value or 0)
            call('incrby', semaphore, string.format('%.0f', more))
            if more > 0 and left > 0 then
                tell_left(semaphore, channel, list, box, left)
            end
            call('set', record, number .. ' ' .. string.format('%.0f', left), 'px', life)
            reply[i] = left
        end
    end
end
return reply
