-- Needs `publish`.
-- Tells the first client of the list that it is its turn, and removes it; or calls `pass` with its
-- entry first. Clients that are not connected are removed and passed over. Returns whether one was
-- told.
local function tell_first(list, channel, message, pass)
    for _ = 1, 256 do
        local entry = redis.pcall('lpop', list)
        if type(entry) ~= 'string' then
            return false
        end
        local passed = pass and pass(entry)
        if passed or
            passed == nil and publish(channel .. ':' .. client_of(entry), message) > 0 then
            return true
        end
    end
    return false
end
