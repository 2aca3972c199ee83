-- Takes permits of each semaphore that has enough, once for each request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms, channel; wait
--      list, how the names of the mailboxes begin and since when the client stands there, as in
--      acquire.lua; its entry, '' if it has never stood there; how many permits a semaphore gets that does not exist ('': it is not
--      made)
-- Reply: a list, for each semaphore 1 if they are taken, or how many permits it has at least, with a
--        minus sign, if it got others than these; if they are not taken, a list with the ms until the
--        turn of others ends, -1 if nobody has it; since when the client stands in the wait list, else
--        0; the sum of 1 if it stands there, 2 if it is the first, 8 if the semaphore does not exist,
--        and 16 if it has other permits; then these are the fourth number; an error if the key does
--        not hold a semaphore.
-- Idempotent: a repeat finds its number, or its entry. The numbers of a client grow. A request with a
--             lower number than the last one was given up or undone, so it takes nothing.
local call = redis.call
local clock

-- include crowd.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include stand.lua
-- include leave.lua
-- include tell_next.lua
-- include permit_waiters.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local wanted, number, life, channel, list, box, since, entry, limit =
        unpack(ARGV, 9 * i - 8, 9 * i)
    limit = tonumber(limit)
    local last = call('get', record)
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
    else
        if is_over then
            since = ''  -- the client does not wait for this one any more
        end
        local open, kept_until = open_to(list, entry, since, available)
        if is_over or open < tonumber(wanted) or not (value or limit) then
            reply[i] =
                refuse_permits(semaphore, list, box, entry, since, available, -1, kept_until)
            add_limit(reply[i], value or limit, others)
        else
            -- Calls that can fail come before calls that take.
            call('set', record, number, 'px', life)
            if is_new then
                call('set', semaphore, digits(limit))
            end
            local left = call('decrby', semaphore, wanted)
            if is_new then
                publish(channel, digits(left))
            end
            if entry ~= '' or is_new then
                follow(semaphore, list, box, entry, left, is_new)
            end
            reply[i] = others and -others or 1
        end
    end
end
return reply
