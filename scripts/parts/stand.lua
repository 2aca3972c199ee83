-- Needs `crowd`, `who_wants`, `wait_list`, `keep` and `join`.

-- A release passes over entries of clients that have died. Where none comes, what joins a long list
-- takes out two of those that stand right behind the first, who has to know that it is the first.
local function drop_dead(list, channel)
    for _ = 1, 2 do
        local entry = redis.pcall('lindex', list, 1)
        if type(entry) ~= 'string' or crowd(channel .. ':' .. (who_wants(entry))) ~= 0 then
            return
        end
        redis.pcall('lrem', list, -1, entry)
    end
end

-- The answer to a client that has to wait: `left`; how many wait, as far as it is known; and the sum
-- of `wakes`, 1 if the client stands in the list now, and 4 if it is the first.
local function stand(left, wakes, entry, channel, place)
    if place == '' then
        return {left, crowd(channel) or 0, wakes}
    end
    local list = wait_list(channel)
    local before = place == 'check' and redis.pcall('lpos', list, entry)
    if type(before) == 'number' then
        keep(list)
        return {left, 0, wakes + (before == 0 and 5 or 1)}
    end
    if place == 'first' then  -- a late message may have told a client that stands there again
        redis.pcall('lrem', list, 1, entry)
    end
    local length = join(list, entry, place == 'first')
    if length and length > 64 then
        drop_dead(list, channel)
    end
    local is_first = length == 1 or place == 'first'
    return {left, length or crowd(channel) or 0, wakes + (not length and 0 or is_first and 5 or 1)}
end
