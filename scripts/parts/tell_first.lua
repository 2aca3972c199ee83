-- Needs `publish`.
-- Tells the first client of the list that it is its turn, and removes it. Clients that are not
-- connected are removed and passed over. Returns whether one was told.
local function tell_first(list, channel, message)
    for _ = 1, 256 do
        local client = redis.pcall('lpop', list)
        if type(client) ~= 'string' then
            return false
        end
        if publish(channel .. ':' .. client, message) > 0 then
            return true
        end
    end
    return false
end
