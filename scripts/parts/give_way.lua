-- Needs `publish`, wait_list.lua, `tell`, `stand`, `leave` and `is_foreign`.
-- The field was released, if it had the lock (`held`); its entry leaves the list in any case. Tells
-- all that listen to the lock's channel, and the first of the list. Returns the reply for the lock.
local function give_way(lock, held, field, channel, message, list, box, joining)
    local was_next = leave(list, entry_of(field))
    local receivers = held and publish(channel, message)
    if not held then
        if was_next and (redis.call('exists', lock) == 0 or is_foreign(lock)) then
            tell(list, box, lock, 1, 0)
        end
        return false
    elseif not tell(list, box, lock, 1, receivers) then
        return receivers
    end
    return {receivers, joining ~= '' and stand(list, box, joining, '0') or 0}
end
