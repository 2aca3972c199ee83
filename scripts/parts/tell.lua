-- Needs `publish` and wait_list.lua.
-- Tells those who stand in the list that it is their turn, from its front on, until what they want
-- is all that is left, `room`; or just one, however much that wants. One that was told before and may
-- still come counts as well; one that did not come, or is not connected, is taken out. Behind 64
-- that want more than is left it looks no further, because each costs the server a call. Returns
-- whether somebody has the turn. `listening`: so many have heard by the key's own channel. `box`
-- is how the names of the mailboxes begin, behind a + if the server counts all receivers; else behind a
-- *, and then everybody counts as connected.
local function tell(list, box, key, room, listening, just_one)
    local counts = string.sub(box, 1, 1) == '+'
    local seen, passed_over, has_turn = '0', 0, false
    for _ = 1, 4096 do  -- a bound for a list of clients that are all dead
        if room < 1 or passed_over == 64 then
            return has_turn
        end
        local front = redis.pcall('zrange', list, seen, seen, 'withscores')
        local entry, score = front[1], tonumber(front[2])
        if not entry then
            return has_turn
        end
        local wanted, heard = just_one and 1 or wanted_by(entry), 0
        local stands = score >= 0
        if stands and wanted > room then
            seen, passed_over = seen + 1, passed_over + 1
        else
            if stands then
                local client, number = string.match(entry, '^([^:]*):(%d+)')
                heard = number and publish(string.sub(box, 2) .. client,
                    'turn ' .. number .. ' ' .. math.max(listening, 0) .. ' ' .. key) or 0
                if heard == 0 and number and not counts then
                    heard = 1
                end
            elseif is_kept(score) then
                heard = 1
            end
            local done
            if heard < 0 then
                return has_turn
            elseif heard == 0 then
                done = redis.pcall('zrem', list, entry)
            else
                done = not stands or
                    redis.pcall('zadd', list, 'xx', digits(-now_us() - grace), entry)
                seen, room, has_turn = seen + 1, room - wanted, true
            end
            if type(done) == 'table' then  -- refused
                return has_turn
            end
        end
    end
    return has_turn
end
