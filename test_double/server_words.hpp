// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// One word of a line of a server's configuration, or of a command in a line, whatever is in it.
std::string in_quotes(std::string_view);

/// The words of such a line, without their quotes; none of a line that a server refuses.
std::vector<std::string> words_of(std::string_view line);

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
