// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Texts that come from a server, for a terminal or a log: anybody who may write there has chosen
// them.
namespace colock {
inline namespace v0_3 {

/// The length of the well-formed UTF-8 sequence that the text begins with; 0 if there is none.
std::size_t sequence_length(std::string_view text) noexcept;

/// Whether a character of UTF-8 shows as itself and does nothing else to a terminal or a line:
/// none that steers, ends a line, has no width or turns text round.
bool is_shown(std::string_view character) noexcept;

/// Whether the whole text shows as itself, also where it is not UTF-8.
bool is_printable(std::string_view text) noexcept;

/// The text with `\x1b` and the like in place of what does not show as itself.
std::string printable(std::string_view text);

}  // namespace v0_3
}  // namespace colock
