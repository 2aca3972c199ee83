-- traits: joins 1, confirms
-- Renews each ownership.
-- KEYS the locks
-- ARGV for each lock: field, lease in ms
-- Reply: a list: one 1 if all are renewed; else for each lock 1, or 0 if the field is gone, or an error.
-- Idempotent.
local pcall = redis.pcall

-- include absent.lua

local reply, renewed = {}, 0
for i = 1, #KEYS do
    local found = pcall('hexists', KEYS[i], ARGV[2 * i - 1])
    if found == 1 then
        reply[i] = pcall('pexpire', KEYS[i], ARGV[2 * i])
    else
        reply[i] = absent(found)
    end
    if reply[i] == 1 then
        renewed = renewed + 1
    end
end
return renewed == #KEYS and {1} or reply
