-- Needs `stand`.
-- The answer to a client that has to wait for a lock, as of `stand`. To the sum it adds 2 if the
-- holder's release tells the first of the list. The id of a client that does so is a UUID of
-- version 9.
local function refuse(left, holder, entry, channel, place)
    local wakes = type(holder) == 'string' and string.sub(holder, 15, 15) == '9' and 2 or 0
    return stand(left, wakes, entry, channel, place)
end
