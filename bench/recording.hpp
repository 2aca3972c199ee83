#pragma once

#include "plan.hpp"

#include <string>
#include <vector>

namespace bench {

/// The commands of one worker, each as it goes over the wire.
using script_calls = std::vector<std::string>;

/// Lets colock acquire and release the key of each worker once, and returns what it sent for that:
/// for each worker the two script calls. The server's MONITOR tells.
std::vector<script_calls> record_pairs(plan const&);

/// A command as Redis reads it.
std::string encode(std::vector<std::string> const& words);

/// The words of a line of MONITOR; empty if a script has called the command.
std::vector<std::string> words_of_monitor_line(std::string_view line);

}  // namespace bench
