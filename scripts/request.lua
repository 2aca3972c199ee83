-- Tells those who listen that somebody would like to have the lock.
-- KEYS the locks
-- ARGV for each lock: channel of its requests
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish.
-- Writes nothing. A repeat tells them again.

-- include publish.lua

local reply = {}
for i = 1, #KEYS do
    reply[i] = publish(ARGV[i], '')
end
return reply
