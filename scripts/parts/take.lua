-- Needs `call`, `pcall` and `draw`; `holder_of`, which names the holder's field, or nothing if its
-- release does not tell the first of the wait list; and `mode`, nothing but for a read-write lock.
-- Takes each lock, and returns the reply of the script.
local way = ARGV[1]
local width = way ~= '' and 2 or 1

-- Why the client cannot have a lock: the reply; and what is left to do in the wait list if it has
-- taken it. Both are for locks that somebody holds or waits for. Most calls have none, and making
-- these functions costs as much as taking a lock, so they are made when they are needed.
local function contended()
    -- include crowd.lua
    -- include wait_list_entries.lua
    -- include wait_list.lua
    -- include stand.lua
    -- include refuse.lua
    local function refusal(lock, left, mine, field, text)
        local place, channel = place_and_channel(text)
        local client = client_of(field)
        if left == -2 then
            local behind = place == 'behind' and join(wait_list(channel), client, false)
            return behind and {-1, behind, 3}
        elseif mine == 0 then
            return refuse(left, holder_of(lock), client, channel, place)
        end
    end
    local function after_taking(field, text)
        local place, channel = place_and_channel(text)
        if place == 'check' then
            pcall('lrem', wait_list(channel), 1, client_of(field))
        end
    end
    return refusal, after_taking
end
local refusal, after_taking

local reply, count = {}, #KEYS / width
local taken  -- of locks that were all free, those taken since: one call in place of one for each
if count >= 6 then
    local locks = {}
    for i = 1, count do
        locks[i] = KEYS[width * i - width + 1]
    end
    taken = pcall('exists', unpack(locks)) == 0 and {}
end
for i = 1, count do
    local lock = KEYS[width * i - width + 1]
    local field, lease, place = ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i + 1]
    local mine, left = 1, -2
    if not taken or taken[lock] then
        left = call('pttl', lock)
    end
    if left ~= -2 then
        mine = pcall('hexists', lock, field)
    end
    if not refusal and (mine == 0 or place ~= '') then
        refusal, after_taking = contended()
    end
    local refused = refusal and refusal(lock, left, mine, field, place)
    if refused then
        reply[i] = refused
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if way ~= '' then
            token = draw(KEYS[2 * i], ARGV[4 * i], way)
        end
        if type(token) == 'number' then
            if mode then
                call('hset', lock, 'mode', mode, field, '1')
            else
                call('hset', lock, field, '1')
            end
            if taken then
                taken[lock] = true
            end
            local set = pcall('pexpire', lock, lease)
            if set ~= 1 then  -- refused: a lock without a lease must not stay
                pcall('hdel', lock, field, mode and 'mode' or field)
                token = set
            elseif place ~= '' then
                after_taking(field, place)
            end
        end
        reply[i] = token
    end
end
return reply
