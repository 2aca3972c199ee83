-- Needs `call`, `pcall`, `depth_of` and `lease_key`.
-- The longest lease of any reader; the lock's TTL if not all leases can be read, or as soon as one
-- of them is as long.
local function longest(lock, prefix, ttl)
    local most, page = 0, {'0'}
    repeat
        page = call('hscan', lock, page[1])
        local fields = page[2]
        for f = 1, #fields, 2 do
            for n = 1, depth_of(fields[f + 1]) do
                local rest = pcall('pttl', lease_key(prefix, fields[f], n))
                most = math.max(most, type(rest) == 'number' and rest or ttl)
            end
            if most + 1 >= ttl then
                return ttl
            end
        end
    until page[1] == '0'
    return most
end
