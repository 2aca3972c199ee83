// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/commands/command.hpp"

#include <string_view>

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
