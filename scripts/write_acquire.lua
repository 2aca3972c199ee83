-- traits: joins 10, draws_tokens
-- Takes the write side of each read-write lock that is free, or that this same ownership has taken
-- already.
-- KEYS for each lock: lock, fencing counter; without fencing the lock alone
-- ARGV 1 floor of the counters in microseconds, '' without fencing;
--      then for each lock: field with ':write', lease in ms, number of tokens, and
--      'place:channel' or '', as in acquire.lua
-- Reply: a list as of acquire.lua. Only writers stand in the wait list. While somebody reads, the
--        reply never says that the first is told, because a reader that does not know the list may
--        be the last to leave.
-- Idempotent: as acquire.lua.
local call, pcall = redis.call, redis.pcall
local floor = tonumber(ARGV[1])
local width = floor and 2 or 1

-- include crowd.lua
-- include draw.lua
-- include none_exist.lua
-- include wait_list.lua
-- include stand.lua
-- include refuse.lua

-- The field of the writer; nothing if somebody reads.
local function writer_of(lock)
    for _, field in ipairs(call('hget', lock, 'mode') == 'write' and call('hkeys', lock) or {}) do
        if string.sub(field, -6) == ':write' then
            return field
        end
    end
end

local reply, locks = {}, {}
for i = 1, #KEYS / width do
    locks[i] = KEYS[width * i - width + 1]
end
local taken = none_exist(locks) and {}  -- of locks that were all free, those taken since
for i, lock in ipairs(locks) do
    local field, lease = ARGV[4 * i - 2], ARGV[4 * i - 1]
    local place, channel = place_and_channel(ARGV[4 * i + 1])
    local mine, left = 1, -2
    if not taken or taken[lock] then
        left = call('pttl', lock)
    end
    if left ~= -2 then
        mine = pcall('hexists', lock, field)
    end
    local behind = left == -2 and place == 'behind' and
        join(wait_list(channel), client_of(field), false)
    if behind then
        reply[i] = {-1, behind, 3}
    elseif mine == 0 then
        reply[i] = refuse(left, writer_of(lock), client_of(field), channel, place)
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if floor then
            token = draw(KEYS[2 * i], ARGV[4 * i], floor)
        end
        if type(token) == 'number' then
            call('hset', lock, 'mode', 'write', field, '1')
            if taken then
                taken[lock] = true
            end
            local set = pcall('pexpire', lock, lease)
            if set ~= 1 then  -- refused: a lock without a lease must not stay
                pcall('hdel', lock, field, 'mode')
                token = set
            elseif place == 'check' then
                pcall('lrem', wait_list(channel), 1, client_of(field))
            end
        end
        reply[i] = token
    end
end
return reply
