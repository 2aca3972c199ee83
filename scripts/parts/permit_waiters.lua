-- Needs `tell`, `stand`, `leave` and `tell_next`.

-- How many of those that are left the client may have. All of them, if it was told or takes no place;
-- else what remains beside those that others were told of.
local function open_to(list, entry, since, left)
    if since == '' or left < 1 or redis.pcall('exists', list) == 0 then
        return left, 0
    end
    local score = score_of(list, entry)
    if score and score < 0 and is_kept(score) then
        return left, 0
    end
    local wanted, last = kept_for_others(list, entry)
    return left - wanted, last
end

-- The answer to a client that has to wait: the time in ms after which it may be worth asking, -1 if
-- only a message can tell; since when it stands in the list, else 0; and the sum of 1 if it stands
-- there and 2 if it is the first. If too few are left for the first, or for one that had the turn, it
-- tells others, because nobody else may have heard of these.
local function refuse_permits(semaphore, list, box, entry, since, left, ends_in, kept_until)
    if kept_until > 0 then
        local kept_for = math.ceil((kept_until - now_us()) / 1000)
        ends_in = ends_in < 0 and kept_for or math.min(ends_in, kept_for)
    end
    if since == '' or since == '-' then
        return {ends_in, 0, 0}
    end
    local had_turn = (score_of(list, entry) or 0) < 0
    local at, place = stand(list, box, entry, since)
    if left > 0 and (place == 3 or had_turn) then
        tell(list, box, semaphore, left, 0)
    end
    return {ends_in, at, place}
end

-- After a client has got in, which leaves so many. If it stood in the list still, it heard of them by
-- the semaphore's channel alone, so those behind it have to be told. `came`: permits have come of which
-- nobody has told.
local function follow(semaphore, list, box, entry, left, came)
    local score = score_of(list, entry)
    if score then
        redis.pcall('zrem', list, entry)
    end
    if score and score >= 0 then
        tell_next(semaphore, list, box, left)
    elseif came then
        tell(list, box, semaphore, left, 0)
    end
end

-- Adds to that answer what a client has to know of a semaphore that does not exist, or that has
-- `others` than its own number of permits.
local function add_limit(answer, exists, others)
    if not exists then
        answer[3] = answer[3] + 8
    elseif others then
        answer[3] = answer[3] + 16
        answer[4] = others
    end
end
