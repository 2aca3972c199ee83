-- Takes permits of each semaphore that has enough, once for each request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms,
--      'place:channel' as in acquire.lua, client ('' without a place), how many permits a semaphore
--      gets that does not exist ('': it is not made)
-- Reply: a list, for each semaphore 1 if they are taken, or how many permits it has at least, with a
--        minus sign, if it got others than these; if they are not taken, a list with the permits
--        that are left; how many wait, as far as it is known; the sum of 1 if the client stands in
--        the wait list, 2 if it has to listen to no other channel than its own, 4 if it is the first
--        of the list, 8 if the semaphore does not exist, and 16 if it has other permits; then these
--        are the fourth number; an error if the key does not hold a semaphore.
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
    local wanted, number = ARGV[6 * i - 5], ARGV[6 * i - 4]
    local place, channel = place_and_channel(ARGV[6 * i - 2])
    local entry = entry_of(ARGV[6 * i - 1], wanted)
    local limit, last = tonumber(ARGV[6 * i]), call('get', record)
    local value = redis.pcall('get', semaphore)
    local is_new = not value and limit
    local available = type(value) ~= 'table' and tonumber(value or limit or 0)
    -- The number does not tell how many are out: that there are others shows only if more are left.
    local others = limit and available and available > limit and available
    local is_over = tonumber(last or 0) > tonumber(number)
    if type(value) == 'table' then
        reply[i] = value
    elseif not available then
        reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
    elseif last == number then
        reply[i] = 1
    elseif is_over or available < tonumber(wanted) or not (value or limit) then
        if is_over then
            place = ''  -- the client does not wait for this one any more
        end
        reply[i] = refuse_permits(available, available, entry, channel, place)
        add_limit(reply[i], value or limit, others)
    else
        -- Calls that can fail come before calls that take.
        call('set', record, number, 'px', ARGV[6 * i - 3])
        if is_new then
            call('set', semaphore, ARGV[6 * i])
        end
        local left = call('decrby', semaphore, wanted)
        if is_new then
            publish(channel, string.format('%.0f', left))
        end
        follow(left, entry, channel, place, is_new)
        reply[i] = others and -others or 1
    end
end
return reply
