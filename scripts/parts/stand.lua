-- Needs `crowd`, `wait_list`, `keep` and `join`.
-- The answer to a client that has to wait: `left`; how many wait, as far as it is known; and the sum
-- of 1 if the client stands in the list now, and `wakes`. Also whether it is the first of the list.
local function stand(left, wakes, entry, channel, place)
    if place == '' then
        return {left, crowd(channel) or 0, wakes}, false
    end
    local list = wait_list(channel)
    local ahead = place == 'check' and redis.pcall('lpos', list, entry)
    if type(ahead) == 'number' then
        keep(list)
        return {left, 0, wakes + 1}, ahead == 0
    end
    local length = join(list, entry, place == 'first')
    return {left, length or crowd(channel) or 0, wakes + (length and 1 or 0)},
        length and (length == 1 or place == 'first')
end
