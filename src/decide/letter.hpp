#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace colock::decide {

/// A message of a script to the mailbox of one client: somebody has taken a lock away from the
/// ownership with this number.
struct letter {
    std::uint64_t number = 0;
    std::string_view name;  ///< the key of the lock: the rest of the payload, any bytes

    /// Reads `forced <number> <name>`. Nothing if it is something else, which this version does not
    /// know.
    static std::optional<letter> read(std::string_view payload) noexcept
    {
        constexpr std::string_view word = "forced ";
        if (!payload.starts_with(word))
            return {};
        payload.remove_prefix(word.size());
        letter made;
        auto const* const end = payload.data() + payload.size();
        auto const number = std::from_chars(payload.data(), end, made.number);
        if (number.ec != std::errc{} || number.ptr == end || *number.ptr != ' ')
            return {};
        made.name = {number.ptr + 1, end};
        return made.name.empty() ? std::optional<letter>{} : made;
    }
};

}  // namespace colock::decide
