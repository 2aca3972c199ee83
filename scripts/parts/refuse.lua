-- Needs `crowd`, `wait_list`, `client_of` and `join`.
-- The answer to a client that has to wait: the lock's PTTL; how many wait, as far as it is known;
-- and the sum of 1 if the client stands in the list now, and 2 if the holder's release tells the
-- first of the list. The id of a client that does so is a UUID of version 8.
local function refuse(left, holder, field, channel, place, entry)
    local wakes = type(holder) == 'string' and string.sub(holder, 15, 15) == '8' and 2 or 0
    if place == '' then
        return {left, crowd(channel) or 0, wakes}
    end
    local list, mine = wait_list(channel), entry or client_of(field)
    if place == 'check' then
        if type(redis.pcall('lpos', list, mine)) == 'number' then
            return {left, 0, wakes + 1}
        elseif entry then  -- a release has taken it, so its number is over
            return {left, 0, wakes}
        end
    end
    local length = join(list, mine, place == 'first')
    return {left, length or crowd(channel) or 0, wakes + (length and 1 or 0)}
end
