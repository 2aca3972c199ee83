-- The answer for an ownership that was looked for in vain: 0, because it is gone, also where the key
-- is of another type now; the error if the server refused to look.
local function absent(found)
    local refused = type(found) == 'table' and string.sub(found.err, 1, 9) ~= 'WRONGTYPE'
    return refused and found or 0
end
