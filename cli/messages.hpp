// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string>
#include <string_view>

namespace cli {

// colock has a lock to renew and a command to tell of its loss, so it never waits for a slow reader
// of standard error: a full pipe, a terminal that Ctrl-S holds.

/// To standard error as far as that takes it at once; the rest is dropped.
void put_at_once(std::string_view text);

/// The same with a line, without passwords.
void remark(std::string const& line);

}  // namespace cli
