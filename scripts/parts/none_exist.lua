-- Whether none of the keys exists: one call in place of one for each. For a few keys it would cost
-- more than it saves, so then, and if the server refuses, nothing is known.
local function none_exist(keys)
    return #keys >= 6 and redis.pcall('exists', unpack(keys)) == 0
end
