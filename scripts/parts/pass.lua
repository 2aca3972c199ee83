-- Needs `crowd`, `draw`, `find`, `publish` and `sub`.
-- Whether this key is a counter of the lock's tokens. A user who can write the list must not change any
-- other key through the client that releases.
local function counts_tokens(counter, lock)
    local own = 'redisson_lock_token:' .. (find(lock, '{', 1, true) and lock or '{' .. lock .. '}')
    return string.match(counter, 'colock_fence:{%d+}$') or sub(counter, -#own) == own
end

-- Gives the lock, if it is free, to the waiter of this entry, with a short lease, and tells
-- its client. The entry is 'field|lease in ms|secret|lock|floor and fencing counter': 'f' before a
-- counter that has a floor, '0' before another one, nothing without fencing. It names its lock,
-- because the locks `a` and `{a}` have the same list. Returns true if the lock is passed on, false if
-- its client is not connected, and nothing if the client has to ask for itself: it has no such entry,
-- or the server refuses. It asks for receivers before it takes the lock, because nothing that was told is
-- taken back: a client behind a replica may have heard it although this server counts no receiver. If
-- the server refuses the message alone, the lock stays taken for the short lease.
local function pass(lock, channel, entry)
    local field, lease, secret, rest = string.match(entry, '^([^|]*)|(%d+)|([^|]*)|(.*)$')
    if not field or sub(rest, 1, #lock + 1) ~= lock .. '|' or redis.pcall('exists', lock) ~= 0 then
        return
    end
    local client, number = string.match(field, '^([^:]*):(.*)$')
    local heard = crowd(channel .. ':' .. client)
    if not heard or heard == 0 then
        return heard and false
    end
    local token, floor, counter = 0, sub(rest, #lock + 2, #lock + 2), sub(rest, #lock + 3)
    if floor ~= '' and not counts_tokens(counter, lock) then
        return
    elseif floor ~= '' then
        -- The server's time is a floor above all tokens drawn before it.
        local time = floor == 'f' and redis.pcall('time') or {0, 0}
        token = time[1] and draw(counter, 1, time[1] * 1000000 + time[2])
    end
    -- The lock is taken before the client is told, and has its lease.
    if type(token) ~= 'number' or redis.pcall('hset', lock, field, '1') ~= 1 then
        return
    end
    if redis.pcall('pexpire', lock, lease) ~= 1 then
        redis.call('hdel', lock, field)
        return
    end
    publish(
        channel .. ':' .. client,
        '0:' .. number .. ':' .. string.format('%.0f', token) .. ':' .. secret
    )
    return true
end
