// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/lua/sandbox.hpp"
#include "simulation/lua/values.hpp"

#include <lua.hpp>

namespace colock::simulation {

namespace {

int refuse_change(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

int refuse_name(lua_State* lua)
{
    return luaL_error(
        lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2)
    );
}

/// Puts an empty table that shows the one on top of the stack, and refuses changes, in its place.
void make_read_only(lua_State* lua)
{
    lua_createtable(lua, 0, 0);
    lua_createtable(lua, 0, 2);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, &refuse_change);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    lua_remove(lua, -2);
}

// ---- Redis's functions -------------------------------------------------------------------------

/// The one argument, if it is a text; else pushes the error.
char const* only_text(lua_State* lua)
{
    if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING)
        return lua_tostring(lua, 1);
    push_error(lua, "ERR wrong number or type of arguments");
    return nullptr;
}

// A text of one word is no code; then the code is ERR.
int error_reply(lua_State* lua)
{
    auto const* text = only_text(lua);
    if (!text)
        return 1;
    text += *text == '-' ? 1 : 0;
    bool const has_code = std::string_view{text}.find(' ') != std::string_view::npos;
    lua_createtable(lua, 0, 1);
    lua_pushfstring(lua, has_code ? "%s" : "ERR %s", text);
    lua_setfield(lua, -2, "err");
    return 1;
}

int status_reply(lua_State* lua)
{
    if (auto const* const text = only_text(lua))
        push_reply(lua, outcome::status(text));
    return 1;
}

void push_redis(lua_State* lua, lua_CFunction call, lua_CFunction pcall, void* owner)
{
    lua_createtable(lua, 0, 4);
    lua_pushlightuserdata(lua, owner);
    lua_pushcclosure(lua, call, 1);
    lua_setfield(lua, -2, "call");
    lua_pushlightuserdata(lua, owner);
    lua_pushcclosure(lua, pcall, 1);
    lua_setfield(lua, -2, "pcall");
    lua_pushcfunction(lua, &error_reply);
    lua_setfield(lua, -2, "error_reply");
    lua_pushcfunction(lua, &status_reply);
    lua_setfield(lua, -2, "status_reply");
}

// Redis's `pcall` gives the text of an error that is a table.
int careful_call(lua_State* lua)
{
    luaL_checkany(lua, 1);
    bool const is_done = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == 0;
    if (!is_done && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1) != 0)
            lua_remove(lua, -2);
        else
            lua_pop(lua, 1);
    }
    lua_pushboolean(lua, is_done);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

// ---- Lua's own ---------------------------------------------------------------------------------

void open(lua_State* lua, lua_CFunction library, char const* name)
{
    lua_pushcfunction(lua, library);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
}

/// Opens the libraries, where all Lua programs have them, and takes out what is no function of its
/// arguments.
void open_libraries(lua_State* lua)
{
    open(lua, &luaopen_base, "");
    open(lua, &luaopen_string, LUA_STRLIBNAME);
    open(lua, &luaopen_table, LUA_TABLIBNAME);
    open(lua, &luaopen_math, LUA_MATHLIBNAME);
    lua_getglobal(lua, LUA_MATHLIBNAME);
    for (auto const* const name : {"random", "randomseed"}) {
        lua_pushnil(lua);
        lua_setfield(lua, -2, name);
    }
    lua_pop(lua, 1);
}

constexpr char const* functions[] = {
    "assert",
    "error",
    "ipairs",
    "next",
    "pairs",
    "rawequal",
    "rawget",
    "select",
    "tonumber",
    "tostring",
    "type",
    "unpack"};

constexpr char const* libraries[] = {LUA_STRLIBNAME, LUA_TABLIBNAME, LUA_MATHLIBNAME};

}  // namespace

sandbox::sandbox(lua_State* lua, lua_CFunction call, lua_CFunction pcall, void* owner) : lua_{lua}
{
    open_libraries(lua);
    lua_createtable(lua, 0, 32);
    for (auto const* const name : functions) {
        lua_getglobal(lua, name);
        lua_setfield(lua, -2, name);
    }
    lua_pushcfunction(lua, &careful_call);
    lua_setfield(lua, -2, "pcall");
    for (auto const* const name : libraries) {
        lua_getglobal(lua, name);
        make_read_only(lua);
        lua_setfield(lua, -2, name);
    }
    push_redis(lua, call, pcall, owner);
    make_read_only(lua);
    lua_setfield(lua, -2, "redis");

    lua_createtable(lua, 0, 1);
    lua_pushcfunction(lua, &refuse_name);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    globals_ = luaL_ref(lua, LUA_REGISTRYINDEX);
    make_read_only(lua);
    environment_ = luaL_ref(lua, LUA_REGISTRYINDEX);
}

void sandbox::enclose() const
{
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, environment_);
    lua_setfenv(lua_, -2);
}

void sandbox::set_global(char const* name) const
{
    lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
    lua_insert(lua_, -2);
    lua_setfield(lua_, -2, name);
    lua_pop(lua_, 1);
}

}  // namespace colock::simulation
