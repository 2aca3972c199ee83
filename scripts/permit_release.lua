-- traits: shares_first
-- Gives permits back, as many of them as are out, or a place in the wait list, whichever is there, and
-- tells the waiters.
-- KEYS for each semaphore: semaphore, its leases
-- ARGV 1 how the names of the mailboxes begin; then for each semaphore: ids, one for each permit;
--      channel; wait list; the entry that leaves the list, '' if none does
-- Reply: a list, for each semaphore the number of receivers, or -1 if the server refuses to
--        publish; false if a permit is gone or its lease had ended; an error if the keys do not
--        hold a semaphore.
-- Idempotent: a repeat finds neither permits nor entry and does nothing.
local call, pcall, box = redis.call, redis.pcall, ARGV[1]
local time = call('time')
local clock = time[1] * 1000000 + time[2]

-- include ids.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_left.lua
-- include leave.lua
-- include tell_next.lua

local now = math.floor(clock / 1000)
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, leases = KEYS[2 * i - 1], KEYS[2 * i]
    local ids, channel, list, entry = unpack(ARGV, 4 * i - 2, 4 * i + 1)
    local out, is_whole = {}, true
    for _, id in ipairs(ids_in(ids)) do
        local ends = pcall('zscore', leases, id)
        if type(ends) == 'table' then
            reply[i] = ends
        elseif ends then
            out[#out + 1] = id
        end
        is_whole = is_whole and type(ends) == 'string' and tonumber(ends) > now
    end
    reply[i] = reply[i] or false
    local was_next = entry ~= '' and leave(list, entry)
    if #out > 0 then
        call('zrem', leases, '')  -- removes nothing; see README on full memory
        local available = pcall('incrby', semaphore, #out)
        reply[i] = available
        if type(available) == 'number' then
            call('zrem', leases, unpack(out))
            local receivers = tell_left(semaphore, channel, list, box, available)
            reply[i] = is_whole and receivers
        end
    elseif was_next then
        tell_next(semaphore, list, box, tonumber((pcall('get', semaphore))) or 0)
    end
end
return reply
