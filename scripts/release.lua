-- traits: joins 7, shares_first
-- Gives back each ownership, or a grant that nobody wants, or a place in the wait list, whichever of
-- them is there, and tells the waiters: by the lock's channel all that listen there, and the first of
-- the wait list by the mailbox of its client.
-- KEYS the locks
-- ARGV 1 how the names of the mailboxes begin; then for each lock: field; channel; wait list; and the
--      entry that goes to the end of the list if another one has the turn, else ''
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish; if
--        somebody of the wait list has the turn now, a list of that number and of the time since when
--        that entry stands there, 0 if it does not; false if the field is gone; an error if the key
--        does not hold a lock.
-- Idempotent: a repeat finds neither field nor entry and does nothing.
local call, pcall = redis.call, redis.pcall
local box, clock = ARGV[1]

-- include publish.lua

-- Made only if somebody waits, because making these functions costs as much as releasing a lock.
local function contended()
    -- include crowd.lua
    -- include wait_list.lua
    -- include tell.lua
    -- include stand.lua
    -- include leave.lua
    -- include is_foreign.lua
    -- include give_way.lua
    return give_way
end

local reply, lists = {}, {}
for i = 1, #KEYS do
    lists[i] = ARGV[4 * i]
end
-- If the server refuses, it is not known whether somebody waits.
local give_way = pcall('exists', unpack(lists)) ~= 0 and contended()
for i, lock in ipairs(KEYS) do
    local field, channel, list, joining = unpack(ARGV, 4 * i - 2, 4 * i + 1)
    local removed = pcall('hdel', lock, field)
    if type(removed) == 'table' then
        reply[i] = removed
    elseif give_way then
        reply[i] = give_way(lock, removed == 1, field, channel, '0', list, box, joining)
    else
        reply[i] = removed == 1 and publish(channel, '0')
    end
end
return reply
