// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"
#include "simulated_server/lua/engine.hpp"

#include <algorithm>
#include <lua.hpp>
#include <optional>

namespace colock::simulation {

void push_text(lua_State* lua, std::string_view text)
{
    lua_pushlstring(lua, text.data(), text.size());
}

std::string_view to_text(lua_State* lua, int index)
{
    std::size_t size = 0;
    auto const* const text = lua_tolstring(lua, index, &size);
    return {text, size};
}

namespace {

void push_field(lua_State* lua, char const* name, std::string_view text)
{
    lua_createtable(lua, 0, 1);
    push_text(lua, text);
    lua_setfield(lua, -2, name);
}

void push_plain(lua_State* lua, reply const& r)
{
    using kind = reply::kind;
    switch (r.what) {
    case kind::nil: lua_pushboolean(lua, 0); break;
    case kind::integer: lua_pushnumber(lua, static_cast<lua_Number>(r.number)); break;
    case kind::text: push_text(lua, r.text); break;
    case kind::error: push_error(lua, r.text); break;
    case kind::list:
        lua_createtable(lua, static_cast<int>(r.items.size()), 0);
        for (int place = 1; auto const& item : r.items) {
            push_plain(lua, item);
            lua_rawseti(lua, -2, place++);
        }
        break;
    }
}

/// The text in a field of the table on top of the stack, if it is one.
std::optional<std::string> text_in(lua_State* lua, char const* name)
{
    push_text(lua, name);
    lua_rawget(lua, -2);
    std::optional<std::string> found;
    if (lua_type(lua, -1) == LUA_TSTRING)
        found = to_text(lua, -1);
    lua_pop(lua, 1);
    return found;
}

reply read_table(lua_State* lua)
{
    if (auto const error = text_in(lua, "err"))
        return one_line(*error);
    if (auto const status = text_in(lua, "ok"))
        return reply::of(*status);
    std::vector<reply> items;
    luaL_checkstack(lua, 2, "the result is too deep");
    for (int place = 1;; ++place) {
        lua_rawgeti(lua, -1, place);
        bool const is_over = lua_isnil(lua, -1);
        if (!is_over)
            items.push_back(read_result(lua));
        lua_pop(lua, 1);
        if (is_over)
            return reply::of(std::move(items));
    }
}

}  // namespace

void push_error(lua_State* lua, std::string_view text) { push_field(lua, "err", text); }

void push_reply(lua_State* lua, outcome const& r)
{
    if (r.is_status)
        push_field(lua, "ok", r.text);
    else
        push_plain(lua, r);
}

reply read_result(lua_State* lua)
{
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING: return reply::of(to_text(lua, -1));
    case LUA_TNUMBER: return reply::of(truncated(lua_tonumber(lua, -1)));
    case LUA_TBOOLEAN: return lua_toboolean(lua, -1) ? reply::of(std::int64_t{1}) : reply{};
    case LUA_TTABLE: return read_table(lua);
    default: return {};
    }
}

reply one_line(std::string_view text)
{
    auto const end = text.find_last_not_of("\r\n");
    auto line = reply::error(text.substr(0, end == text.npos ? 0 : end + 1));
    std::ranges::replace_if(
        line.text, [](char c) { return c == '\r' || c == '\n'; }, ' '
    );
    return line;
}

}  // namespace colock::simulation
