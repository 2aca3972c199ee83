-- traits: joins 3
-- Gives each ownership back, and tells the waiters: by the lock's channel all that listen there,
-- and of the wait list the first client alone, by a channel of its own. If nobody listens to the
-- lock's channel, and the first has said how, it gets the lock by this script; see `pass`.
-- KEYS the locks
-- ARGV for each lock: field, and 'place:channel' with the place 'last' if the client goes to the end
--      of the wait list when another client was told, else ''; its entry there may follow
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish; if
--        a client of the wait list was told, a list of that number and of 1 if the releasing client
--        stands in the wait list now, else 0; false if the field is gone; an error if the key does
--        not hold a lock.
-- Idempotent: a repeat finds no field and does nothing.
local pcall = redis.pcall

-- include draw.lua
-- include none_exist.lua
-- include publish.lua
-- include wait_list.lua
-- include pass.lua
-- include tell_first.lua

local reply, places, channels, entries, lists = {}, {}, {}, {}, {}
for i = 1, #KEYS do
    places[i], channels[i], entries[i] = place_and_channel(ARGV[2 * i])
    lists[i] = wait_list(channels[i])
end
local nobody_waits = none_exist(lists)
for i = 1, #KEYS do
    local field, channel = ARGV[2 * i - 1], channels[i]
    local removed = pcall('hdel', KEYS[i], field)
    if removed == 1 then
        local receivers = publish(channel, '0')
        local may_pass = receivers == 0 and pass or nil
        if not nobody_waits and
            tell_first(lists[i], channel, receivers, 1, 1, may_pass, KEYS[i]) then
            local stands = places[i] == 'last' and
                join(lists[i], entries[i] or client_of(field), false)
            reply[i] = {receivers, stands and 1 or 0}
        else
            reply[i] = receivers
        end
    else
        reply[i] = removed ~= 0 and removed
    end
end
return reply
