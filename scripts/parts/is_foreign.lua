-- Whether the holder is no client that tells the list when it releases: such a one has a UUID of
-- version 9 as its id. While several read, one of them may be. `has_no_mode`: the lock is none that
-- has readers, which saves a call.
local function is_foreign(lock, has_no_mode)
    if not has_no_mode and redis.pcall('hget', lock, 'mode') == 'read' then
        return true
    end
    local fields = redis.pcall('hkeys', lock)
    local holder = fields[1] == 'mode' and fields[2] or fields[1]
    return type(holder) ~= 'string' or string.sub(holder, 15, 15) ~= '9'
end
