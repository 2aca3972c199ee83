-- Makes each semaphore that is not there yet, and tells the waiters.
-- KEYS for each semaphore: semaphore, the client's last change there
-- ARGV for each semaphore: permits, or permits:life of the semaphore in ms, number of the change,
--      life of its record in ms, channel, wait list,
--      how the names of the mailboxes begin
-- Reply: a list, for each semaphore 1 if it was made, 0 if it was there.
-- Idempotent: the record has the number and the result of the last change.
local call = redis.call
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
    elseif call('exists', semaphore) == 1 then
        reply[i] = 0
    else
        local count, ends_in = string.match(permits, '^(%d+):(%d+)$')
        call('set', record, number .. ' 1', 'px', life)
        if count then
            call('set', semaphore, count, 'px', ends_in)
        else
            call('set', semaphore, permits)
        end
        tell_left(semaphore, channel, list, box, tonumber(count or permits))
        reply[i] = 1
    end
end
return reply
