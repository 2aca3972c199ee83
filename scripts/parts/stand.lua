-- Needs `crowd` and wait_list.lua.

-- A release takes out clients that have died. Where none comes, who joins a long list takes out two
-- of those that stand behind the first, who has to know that it is the first.
local function drop_dead(list, box)
    local behind = redis.pcall('zrangebyscore', list, '0', '+inf', 'limit', '1', '2')
    for _, entry in ipairs(behind) do
        if crowd(string.sub(box, 2) .. string.match(entry, '^[^:]*')) == 0 then
            redis.pcall('zrem', list, entry)
        end
    end
end

-- The entry stands in the list, where it stood before if that is known (`since`, else '0'), or behind
-- all others; one that was told in vain, too. The list lives for ten minutes more. Returns since when
-- it stands, 0 if it does not because the server refuses; the sum of 1 if it stands there and 2 if
-- it is the first, as does each that stands since the same microsecond; and whether it stood there
-- before.
local function stand(list, box, entry, since)
    local score, stood = tonumber(since) or 0, false
    if score <= 0 then
        score = now_us()
    end
    local added = redis.pcall('zadd', list, 'nx', digits(score), entry)
    if added ~= 1 then  -- it is there, or the server refuses
        local before = score_of(list, entry)
        stood = before and before >= 0
        if stood then
            score, added = before, 0
        elseif added == 0 then
            added = redis.pcall('zadd', list, digits(score), entry)
        end
    end
    if type(added) ~= 'number' then
        return 0, 0, false
    end
    redis.pcall('pexpire', list, '600000')
    local ahead = redis.pcall('zcount', list, '0', '(' .. digits(score))
    if not stood and type(ahead) == 'number' and ahead >= 64 and string.sub(box, 1, 1) == '+' then
        drop_dead(list, box)
    end
    return score, ahead == 0 and 3 or 1, stood
end
