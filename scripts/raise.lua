-- Raises the fencing counter of each lock to a token of the other servers of a red lock, while the
-- lock is the caller's, and says how long the server has been up.
-- KEYS for each lock: lock, fencing counter
-- ARGV for each lock: field, token; 0 leaves the counter as it is
-- Reply: a list, for each lock a list: the counter, at least 1; 0 if the field is gone; or with a
--        minus sign by how many microseconds the server's clock is behind the token, and then the
--        counter stays. And for how many seconds the server has been up; -1 if it does not tell. An
--        error if the server refuses to look.
-- Idempotent: a counter never falls. It never passes the server's clock either, so that a counter
-- that is lost begins above all that it ever gave.

-- include absent.lua

local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local reply = {}
for i = 1, #KEYS / 2 do
    local counter, token = KEYS[2 * i], tonumber(ARGV[2 * i])
    local found = redis.pcall('hexists', KEYS[2 * i - 1], ARGV[2 * i - 1])
    reply[i] = absent(found)
    if found == 1 then
        local reached = tonumber(redis.call('get', counter) or 0)
        if reached < token and token <= now then
            redis.call('set', counter, string.format('%.0f', token))
            reached = token
        end
        reply[i] = reached < token and now - token or math.max(reached, 1)
    end
end
local info = redis.pcall('info', 'server')
local up = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(%d+)')
for i = 1, #reply do
    if type(reply[i]) == 'number' then
        reply[i] = {reply[i], tonumber(up or -1)}
    end
end
return reply
