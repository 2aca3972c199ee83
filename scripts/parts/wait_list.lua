-- Needs `clock`, the server's time in microseconds, or nothing if the script has not asked yet.
-- The list of those who wait for a key is a sorted set. An entry is `client:number`, and
-- `client:number:permits` if it wants several permits. Its score is the time in microseconds since
-- which it stands there; of one that was told its turn, the time until which the turn is kept for
-- it, with a minus sign. It lies in the key's slot, but is no key of the call, so that a lock can be
-- taken and released where the server refuses the list or moves the slot.
local grace = 100000

local function digits(number)
    return string.format('%.0f', number)
end

-- The server's time in microseconds.
local function now_us()
    if not clock then
        local time = redis.call('time')
        clock = time[1] * 1000000 + time[2]
    end
    return clock
end

-- The entry of an ownership with this field.
local function entry_of(field)
    return string.match(field, '^[^:]*:[^:]*') or field
end

local function wanted_by(entry)
    return tonumber(string.match(entry, '^[^:]*:[^:]*:(%d+)$')) or 1
end

-- When the entry has joined, or its turn ends, with a minus sign; nothing if it is not there.
local function score_of(list, entry)
    return tonumber((redis.pcall('zscore', list, entry)))
end

-- A time that lies further ahead was set by a clock that was.
local function is_kept(score)
    return -score > now_us() and -score <= now_us() + grace
end

-- The first of those who were not told.
local function first_of(list)
    return redis.pcall('zrangebyscore', list, '0', '+inf', 'limit', '0', '1')[1]
end

-- How many the others want whose turn is kept, and until when the last of these is.
local function kept_for_others(list, entry)
    local least, most = digits(-now_us() - grace), '(' .. digits(-now_us())
    local found = redis.pcall('zrangebyscore', list, least, most, 'withscores')
    local wanted, last = 0, 0
    for i = 1, #found, 2 do
        if found[i] ~= entry then
            wanted = wanted + wanted_by(found[i])
            last = math.max(last, -found[i + 1])
        end
    end
    return wanted, last
end
