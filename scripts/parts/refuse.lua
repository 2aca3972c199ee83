-- Needs `crowd`, `wait_list`, `client_of` and `join`.
-- The answer to a client that has to wait: the lock's PTTL; how many wait, as far as it is
-- known; and the sum of 1 if the client stands in the list now, 2 if the holder's release tells
-- the first of the list, and 4 if the client is the first. The id of a client that does so is a
-- UUID of version 8.
local function refuse(left, holder, field, channel, place)
    local wakes = type(holder) == 'string' and string.sub(holder, 15, 15) == '8' and 2 or 0
    if place == '' then
        return {left, crowd(channel) or 0, wakes}
    end
    local list, client = wait_list(channel), client_of(field)
    local before = place == 'check' and redis.pcall('lpos', list, client)
    if type(before) == 'number' then
        return {left, 0, wakes + (before == 0 and 5 or 1)}
    end
    local length = join(list, client, place == 'first')
    local is_first = length == 1 or place == 'first'
    return {left, length or crowd(channel) or 0, wakes + (not length and 0 or is_first and 5 or 1)}
end
