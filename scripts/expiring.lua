-- Lists the locks that are free, or will be free soon if nobody renews them.
-- KEYS the locks
-- ARGV limit in ms
-- Reply: a list, for each lock whose lease ends within the limit its place in KEYS and its PTTL,
--        -2 if nobody holds it, -1 if its lease never ends; nothing for the others.
-- Idempotent; writes nothing.
local call, limit = redis.call, tonumber(ARGV[1])
local reply = {}
for i = 1, #KEYS do
    local pttl = call('pttl', KEYS[i])
    if pttl < limit then
        reply[#reply + 1] = i
        reply[#reply + 1] = pttl
    end
end
return reply
