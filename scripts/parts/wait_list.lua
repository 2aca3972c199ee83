-- Needs `find` and `sub`.
-- The list of the clients that wait for a lock, to write, or for permits, in the order of their
-- turns. It lies in the key's slot, and the key's channel says its name. It is no key of the call, so
-- that a lock can be taken and released where the server refuses the list or moves the slot.
local function wait_list(channel)
    local at, last = find(channel, 'redisson_lock__channel:', 1, true)
    if at ~= 1 then  -- the first one is the channel's own word: a later one is of the lock's name
        for _, word in ipairs({'redisson_rwlock:', 'redisson_sc:'}) do
            local first, final = find(channel, word, 1, true)
            if first and first < (at or first + 1) then
                at, last = first, final
            end
        end
    end
    local list = 'colock_wait:' .. sub(channel, (last or 0) + 1)
    return (at or 1) == 1 and list or sub(channel, 1, at - 1) .. list
end

-- The place and the lock's channel that 'place:channel' names; twice '' if it is empty.
local function place_and_channel(text)
    if text == '' then
        return '', ''
    end
    local colon = find(text, ':', 1, true) or 1
    return sub(text, 1, colon - 1), sub(text, colon + 1)
end
