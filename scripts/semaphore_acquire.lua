-- Takes permits of each semaphore that has as many, once for a request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms, channel
-- Reply: a list, for each semaphore 1 if they are taken; a list with the permits that there are if
--        they are not, and the number of the channel's subscribers if the server allows to count
--        them; an error if the key is no semaphore.
-- Idempotent: a repeat finds its number. The numbers of a client rise, and a request that is below
--             the last one was given up or undone: it takes nothing.
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
        -- What can fail comes before what takes.
        call('set', record, number, 'px', ARGV[4 * i - 1])
        call('decrby', semaphore, wanted)
        reply[i] = 1
    end
end
return reply
