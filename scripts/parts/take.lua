-- Needs `call`, `pcall`, `clock` and `draw`; and `mode`, nothing but for a read-write lock.
-- Takes each lock, and returns the reply of the script.
local way = ARGV[1]
local width = way ~= '' and 2 or 1

-- Why the client can't have a lock that it has not taken yet: the reply; nothing if it can. For locks
-- that somebody holds or waits for. Most calls have none, and making these functions costs as much as
-- taking a lock, so they are made when they are needed.
local function contended()
    -- include crowd.lua
    -- include publish.lua
    -- include wait_list.lua
    -- include tell.lua
    -- include stand.lua
    -- include is_foreign.lua
    local function refusal(lock, left, field, list, box, since)
        local is_free, foreign = left == -2, 0
        if is_free and since ~= '' then
            local wanted, last = kept_for_others(list, entry_of(field))
            is_free = wanted == 0
            left = math.max(math.ceil((last - now_us()) / 1000), 0)
        elseif not is_free and since ~= '' and since ~= '-' then
            foreign = is_foreign(lock) and 4 or 0
        end
        if is_free then
            return nil
        elseif since == '' or since == '-' then
            return {left, 0, 0}
        end
        local at, place, stood = stand(list, box, entry_of(field), since)
        if stood and foreign == 4 and place == 1 then
            tell(list, box, lock, 1, 0)  -- the first may be dead, and hears nothing then
        end
        return {left, at, place + foreign}
    end
    return refusal
end
local refusal

local reply, count = {}, #KEYS / width
local taken  -- of locks that were all free, those taken since: one call in place of one for each
if count >= 6 then
    local keys = {}
    for i = 1, count do
        keys[#keys + 1] = KEYS[width * i - width + 1]
        if ARGV[6 * i - 1] ~= '' then
            keys[#keys + 1] = ARGV[6 * i - 1]
        end
    end
    taken = pcall('exists', unpack(keys)) == 0 and {}
end
for i = 1, count do
    local lock = KEYS[width * i - width + 1]
    local field, lease, tokens, list, box, since = unpack(ARGV, 6 * i - 4, 6 * i + 1)
    -- 1 unless the lock is held by others or waited for, or an error; 0 if there is neither lock
    -- nor list; and the rest of the lock's lease.
    local mine, there, left, refused = 1, 0, nil, nil
    if not taken or taken[lock] then
        if (tonumber(since) or 0) > 0 then
            there = 1  -- it stands in the list, as a rule
        elseif list ~= '' then
            there = pcall('exists', lock, list)
        end
        if list == '' or type(there) == 'table' then
            there = call('exists', lock)
        end
        if there ~= 0 then
            left = call('pttl', lock)
            mine = left == -2 and 0 or pcall('hexists', lock, field)
        end
    end
    if mine == 0 then
        refusal = refusal or contended()
        refused = refusal(lock, left, field, list, box, since)
        mine = 1
    end
    if refused then
        reply[i] = refused
    elseif mine ~= 1 then
        reply[i] = mine
    else
        -- Calls that can fail come before calls that take: the counter first.
        local token = 0
        if way ~= '' then
            token = draw(KEYS[2 * i], tokens, way)
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
            elseif there ~= 0 and list ~= '' then
                pcall('zrem', list, string.match(field, '^[^:]*:[^:]*') or field)
            end
        end
        reply[i] = token
    end
end
return reply
