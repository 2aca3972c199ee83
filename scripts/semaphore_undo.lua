-- Gives back the permits of a request that its caller has given up, and its place in the wait list, and
-- keeps that request from taking effect later.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: number of the request, number of this one, permits, life of the record
--      in ms, channel, wait list, how the names of the mailboxes begin, entry of
--      the request ('' if it has never stood there)
-- Reply: a list, for each semaphore 1 if the request had taken them, else 0.
-- Idempotent: a repeat finds its own number.
local call, pcall = redis.call, redis.pcall
local clock

-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_left.lua
-- include leave.lua
-- include tell_next.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local request, number, permits, life, channel, list, box, entry = unpack(ARGV, 8 * i - 7, 8 * i)
    local last = call('get', record)
    if tonumber(last or 0) < tonumber(number) then
        call('set', record, number, 'px', life)
    end
    local was_next = entry ~= '' and leave(list, entry)
    reply[i] = 0
    if last == request and call('exists', semaphore) == 1 then
        tell_left(semaphore, channel, list, box, call('incrby', semaphore, permits))
        reply[i] = 1
    elseif was_next then
        tell_next(semaphore, list, box, tonumber((pcall('get', semaphore))) or 0)
    end
end
return reply
