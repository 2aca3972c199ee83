-- Adds permits to each semaphore and tells the waiters. A negative number takes some away, even if
-- fewer are left.
-- KEYS for each semaphore: semaphore, the client's last change there
-- ARGV for each semaphore: permits, number of the change, life of its record in ms, channel, wait list,
--      how the names of the mailboxes begin
-- Reply: a list, for each semaphore the permits that are left then; an error if the key does
--        not hold a semaphore.
-- Idempotent: the record has the number and the result of the last change.
local call, pcall = redis.call, redis.pcall
local clock

-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_left.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local permits, number, life = ARGV[6 * i - 5], ARGV[6 * i - 4], ARGV[6 * i - 3]
    local channel, list, box = unpack(ARGV, 6 * i - 2, 6 * i)
    local last, result = string.match(call('get', record) or '', '^(%d+) (-?%d+)$')
    if last and tonumber(last) >= tonumber(number) then
        reply[i] = tonumber(result)
    else
        local available = pcall('incrby', semaphore, permits)
        if type(available) == 'number' then
            call('set', record, number .. ' ' .. string.format('%.0f', available), 'px', life)
            tell_left(semaphore, channel, list, box, available)
        end
        reply[i] = available
    end
end
return reply
