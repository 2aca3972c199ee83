-- Whether the holder is no client that tells the list when it releases: such a one has a UUID of
-- version 9 as its id. While several read, one of them may be.
local function is_foreign(lock)
    if redis.pcall('hget', lock, 'mode') == 'read' then
        return true
    end
    local fields = redis.pcall('hkeys', lock)
    local holder = fields[1] == 'mode' and fields[2] or fields[1]
    return type(holder) ~= 'string' or string.sub(holder, 15, 15) ~= '9'
end
