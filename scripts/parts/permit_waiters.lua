-- Needs `stand`, `wait_list`, `tell_first` and `tell_first_or_front`.
-- The entry of a client that wants so many permits.
local function entry_of(client, permits)
    return permits == '1' and client or client .. ':' .. permits
end

-- The answer to a client that has to wait for permits, as of `stand`. To the sum it adds 2, but not
-- for the first of the list: the client that gives permits back may not know the list, so the first
-- listens to the semaphore's channel, too. If too few are `available` for the first, it tells others,
-- because nobody else may have heard of these.
local function refuse_permits(left, available, entry, channel, place)
    local list = wait_list(channel)
    local answer = stand(left, 2, entry, channel, place)
    if answer[3] > 4 then
        answer[3] = answer[3] - 2
        tell_first(list, channel, 0, available, available)
    end
    return answer
end

-- After a client has got in, which leaves so many. If it stood in the list still, no release has told
-- it, so perhaps the client that gave the permits back does not know the list: then the next one has
-- to listen to the channel. `came`: permits have come of which nobody else has told.
local function follow(left, entry, channel, place, came)
    local list = wait_list(channel)
    if place == 'check' and redis.pcall('lrem', list, 1, entry) == 1 then
        tell_first_or_front(list, channel, left)
    elseif came then
        tell_first(list, channel, 0, left, left)
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
