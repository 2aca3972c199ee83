-- traits: joins 7
-- Gives each ownership back, and tells the waiters: by the lock's channel all that listen there,
-- and of the wait list the first client alone, by a channel of its own.
-- KEYS the locks
-- ARGV for each lock: field; channel; wait list; and the client's id if it goes to the end of the
--      list when another client was told, else ''
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish; if
--        a client of the wait list was told, a list of that number and of 1 if the releasing client
--        stands in the wait list now, else 0; false if the field is gone; an error if the key does
--        not hold a lock.
-- Idempotent: a repeat finds no field and does nothing.
local pcall = redis.pcall

-- include publish.lua

-- Tells the first of a wait list: the reply. Made only if somebody waits, because making these
-- functions costs as much as releasing a lock.
local function turns()
    -- include wait_list_entries.lua
    -- include crowd.lua
    -- include tell_first.lua
    return function(channel, list, entry, receivers)
        if not tell_first(list, channel, receivers) then
            return receivers
        end
        local stands = entry ~= '' and join(list, entry, false)
        return {receivers, stands and 1 or 0}
    end
end

local reply, lists = {}, {}
for i = 1, #KEYS do
    lists[i] = ARGV[4 * i - 1]
end
-- If the server refuses, it is not known whether somebody waits.
local tell_next = pcall('exists', unpack(lists)) ~= 0 and turns()
for i, lock in ipairs(KEYS) do
    local channel, entry = ARGV[4 * i - 2], ARGV[4 * i]
    local removed = pcall('hdel', lock, ARGV[4 * i - 3])
    if removed == 1 then
        local receivers = publish(channel, '0')
        reply[i] = tell_next and tell_next(channel, lists[i], entry, receivers) or receivers
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
