// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"
#include "simulated_server/lua/engine.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <lua.hpp>
#include <new>
#include <optional>
#include <string>

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

namespace {

// An error of Lua leaves C++ functions by longjmp, as if they had no destructors: what raises one
// has no objects that need theirs.

lua_State* new_state()
{
    if (auto* const made = luaL_newstate())
        return made;
    throw std::bad_alloc{};
}

/// Makes a table of any error, with the line of the script at which it was raised.
int locate(lua_State* lua)
{
    if (!lua_istable(lua, 1)) {
        lua_createtable(lua, 0, 2);
        lua_getglobal(lua, "tostring");
        lua_pushvalue(lua, 1);
        lua_call(lua, 1, 1);
        lua_pushfstring(lua, "ERR %s", lua_tostring(lua, -1));
        lua_remove(lua, -2);
        lua_setfield(lua, -2, "err");
    }
    lua_Debug at{};
    for (int level = 1; lua_getstack(lua, level, &at) != 0; ++level) {
        lua_getinfo(lua, "Sl", &at);
        if (at.currentline < 0)  // a function of ours or of Lua's library
            continue;
        lua_pushinteger(lua, at.currentline);
        lua_setfield(lua, -2, "line");
        break;
    }
    return 1;
}

std::string sha1(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    EVP_Digest(text.data(), text.size(), sum.data(), &size, EVP_sha1(), nullptr);
    std::string digits;
    for (unsigned i = 0; i != size; ++i) {
        std::array<char, 3> two{};
        std::snprintf(two.data(), two.size(), "%02x", sum.at(i));
        digits += two.data();
    }
    return digits;
}

/// Of a script that tools/mutants has broken: the file in COLOCK_SCRIPTS with its sum as a name. So
/// nothing is compiled for it.
std::optional<std::string> instead_of(std::string_view text)
{
    static auto const* const folder = std::getenv("COLOCK_SCRIPTS");
    if (!folder)
        return std::nullopt;
    std::ifstream file{std::string{folder} + "/" + sha1(text) + ".lua"};
    if (!file)
        return std::nullopt;
    return std::string{std::istreambuf_iterator<char>{file}, {}};
}

engine& owner(lua_State* lua)
{
    return *static_cast<engine*>(lua_touserdata(lua, lua_upvalueindex(1)));
}

}  // namespace

void engine::closer::operator()(lua_State* lua) const { lua_close(lua); }

engine::engine() : lua_{new_state()}, sandbox_{lua_.get(), &call, &pcall, this}
{
    lua_settop(lua_.get(), 0);
}

engine::~engine() = default;

// ---- Scripts -----------------------------------------------------------------------------------

reply engine::run(std::string_view text, words keys, words arguments, workspace& on)
{
    auto* const lua = lua_.get();
    on_ = &on;
    lua_settop(lua, 0);
    lua_pushcfunction(lua, &locate);
    if (!push_script(text))
        return one_line(
            "ERR Error compiling script (new function): " + std::string{to_text(lua, -1)}
        );
    set_words("KEYS", keys);
    set_words("ARGV", arguments);
    bool const is_done = lua_pcall(lua, 0, 1, 1) == 0;
    return is_done ? read_result(lua) : read_error(text);
}

// Pushes the complaint of the compiler if it has one.
bool engine::push_script(std::string_view text)
{
    auto* const lua = lua_.get();
    if (auto const known = compiled_.find(text); known != compiled_.end()) {
        lua_rawgeti(lua, LUA_REGISTRYINDEX, known->second);
        return true;
    }
    auto const broken = instead_of(text);
    auto const taken = broken ? std::string_view{*broken} : text;
    if (luaL_loadbuffer(lua, taken.data(), taken.size(), "@user_script") != 0)
        return false;
    sandbox_.enclose();
    lua_pushvalue(lua, -1);
    compiled_.emplace(text, luaL_ref(lua, LUA_REGISTRYINDEX));
    return true;
}

void engine::set_words(char const* name, words given)
{
    auto* const lua = lua_.get();
    lua_createtable(lua, static_cast<int>(given.size()), 0);
    for (int place = 1; auto const word : given) {
        push_text(lua, word);
        lua_rawseti(lua, -2, place++);
    }
    sandbox_.set_global(name);
}

reply engine::read_error(std::string_view text)
{
    auto* const lua = lua_.get();
    if (!lua_istable(lua, -1))  // Lua's own, as "not enough memory"
        return one_line("ERR " + std::string{to_text(lua, -1)});
    auto error = read_result(lua);
    if (error.what != reply::kind::error)
        error = reply::error("ERR unknown error");
    lua_getfield(lua, -1, "line");
    if (lua_isnumber(lua, -1))
        error.text += " script: " + sha1(text) +
            ", on @user_script:" + std::to_string(lua_tointeger(lua, -1)) + '.';
    return error;
}

// ---- What a script calls -----------------------------------------------------------------------

int engine::call(lua_State* lua) { return owner(lua).run_command() ? 1 : lua_error(lua); }

int engine::pcall(lua_State* lua)
{
    owner(lua).run_command();
    return 1;
}

bool engine::run_command() noexcept
{
    auto const got = run_words();
    push_reply(lua_.get(), got);
    return got.what != reply::kind::error;
}

outcome engine::run_words()
{
    auto* const lua = lua_.get();
    auto const count = static_cast<std::size_t>(lua_gettop(lua));
    if (count == 0)
        return outcome{
            reply::error("ERR Please specify at least one argument for this redis lib call")};
    words_.clear();
    if (numbers_.size() < count)
        numbers_.resize(count);
    for (std::size_t i = 0; i != count; ++i) {
        auto const place = static_cast<int>(i) + 1;
        auto const type = lua_type(lua, place);
        if (type == LUA_TNUMBER)
            words_.push_back(numbers_[i] = to_text(lua_tonumber(lua, place)));
        else if (type == LUA_TSTRING)
            words_.push_back(to_text(lua, place));
        else
            return outcome{
                reply::error("ERR Lua redis lib command arguments must be strings or integers")};
    }
    auto const* const what = find_command(words_.front());
    if (!what)
        return outcome{reply::error("ERR Unknown Redis command called from script")};
    if (!what->takes(count))
        return outcome{reply::error("ERR Wrong number of args calling Redis command from script")};
    if (is_refused_for_memory(*what, *on_))
        return outcome{reply::error("OOM command not allowed when used memory > 'maxmemory'.")};
    on_->has_written = on_->has_written || writes(*what);
    return carry_out(*what, *on_, words_);
}

}  // namespace colock::simulation
