-- The ids of permits that stand one after the other in a text, 16 bytes each.
local function ids_in(text)
    local ids = {}
    for at = 1, #text, 16 do
        ids[#ids + 1] = string.sub(text, at, at + 15)
    end
    return ids
end
