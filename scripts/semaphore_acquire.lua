-- Takes permits of each semaphore that has enough, once for each request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms,
--      'place:channel' as in acquire.lua, client ('' without a place)
-- Reply: a list, for each semaphore 1 if they are taken; if they are not, a list with the permits
--        that are left; how many wait, as far as it is known; and the sum of 1 if the client stands
--        in the wait list, 2 if it has to listen to no other channel than its own, and 4 if it is
--        the first of the list; an error if the key does not hold a semaphore.
-- Idempotent: a repeat finds its number. The numbers of a client grow. A request with a lower
--             number than the last one was given up or undone, so it takes nothing.
local call = redis.call

-- include crowd.lua
-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include tell_first.lua
-- include stand.lua
-- include permit_waiters.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local wanted, number = ARGV[5 * i - 4], ARGV[5 * i - 3]
    local place, channel = place_and_channel(ARGV[5 * i - 1])
    local entry = entry_of(ARGV[5 * i], wanted)
    local value = redis.pcall('get', semaphore)
    local available = type(value) ~= 'table' and tonumber(value or 0)
    local last = call('get', record)
    if type(value) == 'table' then
        reply[i] = value
    elseif not available then
        reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
    elseif last == number then
        reply[i] = 1
    elseif not value or available < tonumber(wanted) or tonumber(last or 0) > tonumber(number) then
        if tonumber(last or 0) > tonumber(number) then
            place = ''  -- the client does not wait for this one any more
        end
        reply[i] = refuse_permits(available, available, entry, channel, place)
    else
        -- Calls that can fail come before calls that take.
        call('set', record, number, 'px', ARGV[5 * i - 2])
        local left = call('decrby', semaphore, wanted)
        follow(left, entry, channel, place)
        reply[i] = 1
    end
end
return reply
