local function lease_key(prefix, field, n)
    return prefix .. ':' .. field .. ':rwlock_timeout:' .. string.format('%d', n)
end
