// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An error of Lua leaves C++ functions by longjmp, as if they had no destructors: what raises one
// has no objects that need theirs.
#include "simulation/commands/numbers.hpp"
#include "simulation/lua/engine.hpp"
#include "simulation/lua/values.hpp"

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
