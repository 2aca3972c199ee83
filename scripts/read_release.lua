-- Takes each ownership's read side back, and tells those who wait when the lock is free.
-- KEYS the locks
-- ARGV for each lock: field, channel, prefix of the lease keys
-- Reply: a list, for each lock the number of receivers, or -1 if the server refuses to publish; 0
--        if others hold it still; false if the field is gone; an error if the key is no lock.
-- Idempotent: a repeat finds no field and does nothing.
local call, pcall = redis.call, redis.pcall

local function lease_key(prefix, field, n)
    return prefix .. ':' .. field .. ':rwlock_timeout:' .. string.format('%d', n)
end

-- As in read_extend.lua.
local function longest(lock, prefix, ttl)
    local most, page = 0, {'0'}
    repeat
        page = call('hscan', lock, page[1])
        local fields = page[2]
        for f = 1, #fields, 2 do
            for n = 1, tonumber(fields[f + 1]) or 0 do
                local rest = pcall('pttl', lease_key(prefix, fields[f], n))
                most = math.max(most, type(rest) == 'number' and rest or ttl)
            end
            if most + 1 >= ttl then
                return ttl
            end
        end
    until page[1] == '0'
    return most
end

local reply = {}
for i = 1, #KEYS do
    local lock, field, prefix = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i]
    local depth = pcall('hget', lock, field)
    if type(depth) ~= 'string' then
        reply[i] = depth
    else
        local mode, ttl = call('hget', lock, 'mode'), call('pttl', lock)
        local had = pcall('pttl', lease_key(prefix, field, 1))
        call('hdel', lock, field)
        for n = 1, tonumber(depth) do
            pcall('del', lease_key(prefix, field, n))
        end
        local free = call('hlen', lock) < 2
        -- A lock that lives longer than this lease did has its time from somebody else.
        if not free and mode == 'read' and (type(had) ~= 'number' or had + 1 >= ttl) then
            local rest = longest(lock, prefix, ttl)
            free = rest <= 0
            if not free then
                call('pexpire', lock, rest)
            end
        end
        reply[i] = 0
        if free then
            call('del', lock)
            local receivers = pcall('publish', ARGV[3 * i - 1], '0')
            reply[i] = type(receivers) == 'number' and receivers or -1
        end
    end
end
return reply
