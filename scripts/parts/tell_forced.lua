-- Needs `publish`.
-- Tells each holder that the lock was taken away from it, by the mailbox of its client. Only clients
-- whose id is a UUID of version 9 have one. `box` as in tell.lua.
local function tell_forced(lock, fields, box)
    for _, field in ipairs(fields) do
        local client, number = string.match(field, '^([^:]*):(%d+)')
        if number and string.sub(client, 15, 15) == '9' then
            publish(string.sub(box, 2) .. client, 'forced ' .. number .. ' ' .. lock)
        end
    end
end
