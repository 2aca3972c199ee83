-- Lists the locks that are free, or will be free soon if nobody renews them, and keeps the wait
-- lists alive in which the client stands.
-- KEYS the locks
-- ARGV 1 limit in ms; then for each lock 'client:list' if the client stands in that wait list, else ''
-- Reply: a list, for each lock whose lease ends within the limit its place in KEYS and its PTTL,
--        -2 if nobody holds it, -1 if its lease never ends; for each lock whose wait list is gone,
--        or has not that entry, its place and -3; nothing for the others.
-- Idempotent.
local call, limit = redis.call, tonumber(ARGV[1])

-- include wait_list_entries.lua
-- include wait_list.lua

local reply = {}
for i = 1, #KEYS do
    local pttl, client, list = call('pttl', KEYS[i]), place_and_channel(ARGV[i + 1])
    if list ~= '' and not keep(list, client) then
        pttl = -3
    end
    if pttl < limit then
        reply[#reply + 1] = i
        reply[#reply + 1] = pttl
    end
end
return reply
