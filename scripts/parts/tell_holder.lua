-- Whether the owner of a field may keep a lock after its release. The id of such a client is a UUID
-- of version 8 and of variant b.
local function may_keep(field)
    return string.byte(field, 20) == 98 and string.byte(field, 15) == 56
end

-- Needs `publish` and `client_of`.
-- Tells the holder that somebody waits, if it may keep the lock.
local function tell_holder(holder, channel)
    if type(holder) == 'string' and may_keep(holder) then
        publish(channel .. ':' .. client_of(holder) .. ':wanted', '')
    end
end
