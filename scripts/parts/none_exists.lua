-- Whether none of the keys exists, each of which `key_of` names by its number: one call in place of
-- one for each. For a few keys it would cost more than it saves, so then, and if the server refuses,
-- nothing is known.
local function none_exists(count, key_of)
    if count < 6 then
        return false
    end
    local keys = {}
    for i = 1, count do
        keys[i] = key_of(i)
    end
    return redis.pcall('exists', unpack(keys)) == 0
end
