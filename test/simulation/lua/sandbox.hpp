// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string_view>

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
