// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulated_server/commands/command.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_State;

namespace colock::simulation {

/// Pushes a command's reply as Redis gives it to a script: nil as false, a status or an error as a
/// table with the field ok or err.
void push_reply(lua_State*, outcome const&);

/// Pushes the table of an error.
void push_error(lua_State*, std::string_view text);

void push_text(lua_State*, std::string_view);

/// The text at this place, which is one.
std::string_view to_text(lua_State*, int index);

/// What a script's result, on top of the stack, is for the client: a number loses its fraction,
/// true is 1, false nil, and a list ends before its first nil.
reply read_result(lua_State*);

/// What an error's text is on the wire, where a line ends a reply.
reply one_line(std::string_view text);

}  // namespace colock::simulation

struct lua_State;

namespace colock::simulation {

/// What a script sees: a part of Lua's libraries, `redis`, KEYS and ARGV. It can change none of it,
/// and a name that is not there is an error, so nothing goes from one script to the next.
///
/// Left out of what Redis has: cjson, cmsgpack, struct, bit, os, coroutine, metatables, xpcall,
/// loadstring, math.random, and of `redis` all but call, pcall, error_reply and status_reply.
class sandbox {
public:
    /// `call` and `pcall` are the functions of `redis` of these names, with `owner` as upvalue.
    sandbox(lua_State*, int (*call)(lua_State*), int (*pcall)(lua_State*), void* owner);

    /// Gives the function on top of the stack this environment.
    void enclose() const;

    /// Makes the table on top of the stack a global variable, and pops it.
    void set_global(char const* name) const;

private:
    lua_State* lua_;
    int globals_ = 0;      ///< what there is, by its reference in the registry
    int environment_ = 0;  ///< a view of it that refuses changes
};

}  // namespace colock::simulation

struct lua_State;

namespace colock::simulation {

/// Runs scripts in one Lua state, each compiled when it is first seen.
class engine {
public:
    engine();
    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;
    ~engine();

    reply run(std::string_view text, words keys, words arguments, workspace& on);

private:
    struct closer {
        void operator()(lua_State*) const;
    };

    /// A script's end and its length tell scripts apart well enough, and are quick to look at.
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept
        {
            auto const end = text.substr(text.size() - std::min<std::size_t>(text.size(), 64));
            return std::hash<std::string_view>{}(end) ^ text.size();
        }
    };

    static int call(lua_State*);
    static int pcall(lua_State*);

    /// Pushes the reply to what the script calls; false if it is an error.
    bool run_command() noexcept;
    outcome run_words();

    bool push_script(std::string_view text);
    void set_words(char const* name, words);
    reply read_error(std::string_view text);

    std::unique_ptr<lua_State, closer> lua_;
    sandbox sandbox_;
    std::unordered_map<std::string, int, hasher, std::equal_to<>> compiled_;
    workspace* on_ = nullptr;
    std::vector<std::string_view> words_;
    std::vector<std::string> numbers_;  ///< of words that the script gives as numbers
};

}  // namespace colock::simulation
