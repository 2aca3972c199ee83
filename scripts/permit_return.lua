-- Gives permits back by their ids and tells the waiters: all of them, or none if one is not out.
-- KEYS for each semaphore: semaphore, the client's last change there, its leases
-- ARGV for each semaphore: ids, one for each permit, number of the change, life of its record in
--      ms, channel, wait list, how the names of the mailboxes begin
-- Reply: a list, for each semaphore the number of permits that it has got back; an error if the
--        keys do not hold a semaphore.
-- Idempotent: the record has the number and the result of the last change.
local call, pcall = redis.call, redis.pcall
local time = call('time')
local clock = time[1] * 1000000 + time[2]

-- include ids.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include tell_left.lua

local now = math.floor(clock / 1000)

-- Whether all of them are out; an error if that cannot be said.
local function are_out(leases, ids)
    for _, id in ipairs(ids) do
        local ends = pcall('zscore', leases, id)
        if type(ends) == 'table' then
            return ends
        elseif not ends or tonumber(ends) <= now then
            return false
        end
    end
    return true
end

local reply = {}
for i = 1, #KEYS / 3 do
    local semaphore, record, leases = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
    local ids_text, number, life, channel, list, box = unpack(ARGV, 6 * i - 5, 6 * i)
    local last, result = string.match(call('get', record) or '', '^(%d+) (-?%d+)$')
    if last and tonumber(last) >= tonumber(number) then
        reply[i] = tonumber(result)
    else
        local ids = ids_in(ids_text)
        local out = are_out(leases, ids)
        local available = out
        if out == true then
            call('zrem', leases, '')  -- removes nothing; see README on full memory
            available = pcall('incrby', semaphore, #ids)
        end
        if type(available) == 'table' then
            reply[i] = available
        else
            reply[i] = out and #ids or 0
            if out then
                call('zrem', leases, unpack(ids))
                tell_left(semaphore, channel, list, box, available)
            end
            call('set', record, number .. ' ' .. reply[i], 'px', life)
        end
    end
end
return reply
