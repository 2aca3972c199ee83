-- Needs `publish`, wait_list.lua, `tell`, `stand`, `leave` and `is_foreign`.
-- The field was released if it had the lock (`held`); otherwise its entry leaves the list, where no
-- holder stands. Tells all that listen to the lock's channel, and the first of the list. Returns the
-- reply for the lock.
local function give_way(lock, held, field, channel, message, list, box, joining)
    if not held then
        local was_next = leave(list, entry_of(field))
        if was_next and (redis.call('exists', lock) == 0 or is_foreign(lock)) then
            tell(list, box, lock, 1, 0)
        end
        return false
    end
    local receivers = publish(channel, message)
    if not tell(list, box, lock, 1, receivers) then
        return receivers
    end
    return {receivers, joining ~= '' and stand(list, box, joining, '0') or 0}
end
