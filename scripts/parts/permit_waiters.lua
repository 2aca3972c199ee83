-- Needs `stand`, `wait_list`, `keep` and `tell_first`.
-- The entry of a client that wants so many permits.
local function entry_of(client, permits)
    return permits == '1' and client or client .. ':' .. permits
end

-- The answer to a client that has to wait for permits, as of `stand`. To the sum it adds 2, but not
-- for the first of the list: the client that gives permits back may not know the list, so the first
-- listens to the semaphore's channel, too. The client asks here until it gets in, so this keeps the
-- list alive.
local function refuse_permits(left, entry, channel, place)
    if place == 'check' then
        keep(wait_list(channel))
    end
    local answer = stand(left, 2, entry, channel, place)
    if answer[3] > 4 then
        answer[3] = answer[3] - 2
    end
    return answer
end

-- After a client has got in. If it stood in the list still, no release has told it, so perhaps the
-- client that gave the permits back does not know the list. Then the next one is told, even if none
-- is left, so that it listens to the channel in its turn. `came`: permits have come of which nobody
-- else has told.
local function follow(left, entry, channel, place, came)
    if place == 'check' and redis.pcall('lrem', wait_list(channel), 1, entry) == 1 then
        left, came = math.max(left, 1), true
    end
    if came then
        tell_first(wait_list(channel), channel, 0, left, left)
    end
end
