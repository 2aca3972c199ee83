-- Takes permits of each semaphore that has enough left, all of them or none. Ids that have their
-- permits already keep them.
-- KEYS for each semaphore: semaphore, its leases
-- ARGV for each semaphore: ids, one for each permit, lease in ms, channel; wait list, how the names
--      of the mailboxes begin and since when the client stands there, as in acquire.lua; its entry, ''
--      if it has never stood there; how many permits a semaphore gets that does not exist, those that are out still among them ('': it
--      is not made)
-- Reply: a list, for each semaphore 1 if they are taken, or how many permits it has, with a minus
--        sign, if it has others than these; if there are too few, a list with the time in ms until
--        the next lease ends or the turn of others does, -1 if none does, and more numbers as of
--        semaphore_acquire.lua; an error if the keys do not hold a semaphore.
-- Idempotent: a repeat finds its ids, and gives them at least this lease, or its entry.
local call = redis.call
local time = call('time')
local clock = time[1] * 1000000 + time[2]

-- include crowd.lua
-- include ids.lua
-- include publish.lua
-- include wait_list.lua
-- include tell.lua
-- include stand.lua
-- include leave.lua
-- include tell_next.lua
-- include permit_waiters.lua

-- How many of the ids have their permits, or an error.
local function count_taken(leases, ids)
    local taken = 0
    for _, id in ipairs(ids) do
        local score = redis.pcall('zscore', leases, id)
        if type(score) == 'table' then
            return score
        end
        taken = taken + (score and 1 or 0)
    end
    return taken
end

local now = math.floor(clock / 1000)
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, leases = KEYS[2 * i - 1], KEYS[2 * i]
    local ids, ends = ids_in(ARGV[8 * i - 7]), digits(now + ARGV[8 * i - 6])
    local channel, list, box, since, entry, limit = unpack(ARGV, 8 * i - 5, 8 * i)
    limit = tonumber(limit)
    local value, mine = redis.pcall('get', semaphore), count_taken(leases, ids)
    local scores = {}
    for _, id in ipairs(ids) do
        scores[#scores + 1] = ends
        scores[#scores + 1] = id
    end
    if type(value) == 'table' or type(mine) == 'table' then
        reply[i] = type(value) == 'table' and value or mine
    elseif not tonumber(value or 0) then
        reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
    elseif mine == #ids then
        -- A late one must not shorten what was extended since. Redis before 6.2 has no ZADD GT.
        for _, id in ipairs(ids) do
            if call('zscore', leases, id) + 0 < tonumber(ends) then
                call('zadd', leases, 'xx', ends, id)
            end
        end
        reply[i] = 1
    else
        local out = limit and call('zcount', leases, '-inf', '+inf')
        local is_new = limit and not value
        if is_new then
            value = limit - out
            call('set', semaphore, digits(value))
        end
        local others = limit and value + out ~= limit and value + out
        -- Permits whose lease has ended come back, but only as many as unpack and a short script
        -- allow. If some of these ids are still out after that, the call is late: the others were
        -- given back, or others have them, so it takes nothing.
        local ended = call('zrangebyscore', leases, 0, digits(now), 'limit', 0, 1000)
        if #ended > 0 then
            value = call('incrby', semaphore, call('zrem', leases, unpack(ended)))
        end
        local came = is_new or #ended > 0
        if came and value > 0 then
            publish(channel, digits(value))
        end
        local is_late = mine > 0 and count_taken(leases, ids) > 0
        local open, kept_until = open_to(list, entry, since, tonumber(value or 0))
        if value and open >= #ids and not is_late then
            call('zadd', leases, unpack(scores))
            value = call('decrby', semaphore, #ids)
            local lasts = call('pttl', semaphore)
            if lasts > 0 then
                call('pexpire', leases, lasts)
            end
            if entry ~= '' or came then
                follow(semaphore, list, box, entry, value, came)
            end
            reply[i] = others and -others or 1
        else
            if came then
                tell(list, box, semaphore, value, 0)
            end
            local first = call('zrange', leases, 0, 0, 'withscores')
            local never = not first[2] or tonumber(first[2]) >= 922337203685477
            local ends_in = never and -1 or math.max(first[2] - now, 0)
            reply[i] = refuse_permits(semaphore, list, box, entry, since, tonumber(value or 0),
                ends_in, kept_until)
            add_limit(reply[i], value, others)
        end
    end
end
return reply
