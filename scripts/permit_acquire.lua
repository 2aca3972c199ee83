-- Takes permits of each semaphore that has enough left, all of them or none. Ids that have their
-- permits already keep them.
-- KEYS for each semaphore: semaphore, its leases
-- ARGV for each semaphore: ids, one for each permit, lease in ms, 'place:channel' as in acquire.lua,
--      client ('' without a place), how many permits a semaphore gets that does not exist, those that
--      are out still among them ('': it is not made)
-- Reply: a list, for each semaphore 1 if they are taken, or how many permits it has, with a minus
--        sign, if it has others than these; if there are too few, a list with the time in ms until
--        the next lease ends, -1 if none does, and more numbers as of semaphore_acquire.lua; an error
--        if the keys do not hold a semaphore.
-- Idempotent: a repeat finds its ids, and gives them at least this lease.
local call = redis.call

-- include crowd.lua
-- include ids.lua
-- include publish.lua
-- include wait_list_entries.lua
-- include wait_list.lua
-- include tell_first.lua
-- include stand.lua
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

local time = call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(number) return string.format('%.0f', number) end
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, leases = KEYS[2 * i - 1], KEYS[2 * i]
    local ids, ends = ids_in(ARGV[5 * i - 4]), text(now + ARGV[5 * i - 3])
    local place, channel = place_and_channel(ARGV[5 * i - 2])
    local entry = entry_of(ARGV[5 * i - 1], tostring(#ids))
    local limit = tonumber(ARGV[5 * i])
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
            call('set', semaphore, text(value))
        end
        local others = limit and value + out ~= limit and value + out
        -- Permits whose lease has ended come back, but only as many as unpack and a short script
        -- allow. If some of these ids are still out after that, the call is late: the others were
        -- given back, or others have them, so it takes nothing.
        local ended = call('zrangebyscore', leases, 0, text(now), 'limit', 0, 1000)
        if #ended > 0 then
            value = call('incrby', semaphore, call('zrem', leases, unpack(ended)))
        end
        local came = is_new or #ended > 0
        if came and value > 0 then
            publish(channel, text(value))
        end
        local is_late = mine > 0 and count_taken(leases, ids) > 0
        if value and tonumber(value) >= #ids and not is_late then
            call('zadd', leases, unpack(scores))
            value = call('decrby', semaphore, #ids)
            local lasts = call('pttl', semaphore)
            if lasts > 0 then
                call('pexpire', leases, lasts)
            end
            follow(value, entry, channel, place, came)
            reply[i] = others and -others or 1
        else
            if came then
                tell_first(wait_list(channel), channel, 0, value, value)
            end
            local first = call('zrange', leases, 0, 0, 'withscores')
            local never = not first[2] or tonumber(first[2]) >= 922337203685477
            local ends_in = never and -1 or math.max(first[2] - now, 0)
            reply[i] = refuse_permits(ends_in, tonumber(value or 0), entry, channel, place)
            add_limit(reply[i], value, others)
        end
    end
end
return reply
