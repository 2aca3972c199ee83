-- Takes permits of each semaphore that has enough, once for each request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms, channel
-- Reply: a list, for each semaphore 1 if they are taken; if they are not, a list with the permits
--        that are left and, if the server counts them, the number of the channel's subscribers; an
--        error if the key does not hold a semaphore.
-- Idempotent: a repeat finds its number. The numbers of a client grow. A request with a lower
--             number than the last one was given up or undone, so it takes nothing.
local call = redis.call

-- include crowd.lua

local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local wanted, number = ARGV[4 * i - 3], ARGV[4 * i - 2]
    local value = redis.pcall('get', semaphore)
    local available = type(value) ~= 'table' and tonumber(value or 0)
    local last = call('get', record)
    if type(value) == 'table' then
        reply[i] = value
    elseif not available then
        reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
    elseif last == number then
        reply[i] = 1
    elseif not value or available < tonumber(wanted) or tonumber(last or 0) > tonumber(number) then
        reply[i] = {available, crowd(ARGV[4 * i])}
    else
        -- Calls that can fail come before calls that take.
        call('set', record, number, 'px', ARGV[4 * i - 1])
        call('decrby', semaphore, wanted)
        reply[i] = 1
    end
end
return reply
