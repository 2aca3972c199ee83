-- Takes permits of each semaphore that has as many, once for a request.
-- KEYS for each semaphore: semaphore, the client's last taking request there
-- ARGV for each semaphore: permits, number of the request, life of its record in ms
-- Reply: a list, for each semaphore 1 if they are taken; a list with the permits that there are if
--        those are too few; an error if the key is no semaphore.
-- Idempotent: the numbers of a client rise, and a request that is not above the last one has run.
local call = redis.call
local reply = {}
for i = 1, #KEYS / 2 do
    local semaphore, record = KEYS[2 * i - 1], KEYS[2 * i]
    local wanted, number = ARGV[3 * i - 2], ARGV[3 * i - 1]
    local value = redis.pcall('get', semaphore)
    local available = type(value) ~= 'table' and tonumber(value or 0)
    if type(value) == 'table' then
        reply[i] = value
    elseif not available then
        reply[i] = redis.error_reply('WRONGTYPE the key holds no number')
    elseif tonumber(call('get', record) or 0) >= tonumber(number) then
        reply[i] = 1
    elseif not value or available < tonumber(wanted) then
        reply[i] = {available}
    else
        -- What can fail comes before what takes.
        call('set', record, number, 'px', ARGV[3 * i])
        call('decrby', semaphore, wanted)
        reply[i] = 1
    end
end
return reply
