#pragma once

#include "decide/number.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace colock::decide {

/// A message of a script to the mailbox of one client.
struct letter {
    enum class kind {
        turn,   ///< it is the turn of the request with this number
        forced  ///< somebody has taken the lock away from the ownership with this number
    };

    kind what = kind::turn;
    std::uint64_t number = 0;
    std::uint64_t listening = 0;  ///< of a turn: so many heard the release by the key's own channel
    std::string_view name{};      ///< of the key: the rest of the payload, any bytes

    /// Reads `turn <number> <listening> <name>` and `forced <number> <name>`. Nothing if it is
    /// something else, which this version does not know.
    static std::optional<letter> read(std::string_view payload) noexcept
    {
        auto const word = next_word(payload);
        if (word != "turn" && word != "forced")
            return {};
        letter made{word == "turn" ? kind::turn : kind::forced};
        auto const number = number_of<std::uint64_t>(next_word(payload));
        auto const listening = made.what == kind::turn
            ? number_of<std::uint64_t>(next_word(payload))
            : std::optional<std::uint64_t>{0};
        if (!number || !listening || payload.empty())
            return {};
        made.number = *number;
        made.listening = *listening;
        made.name = payload;
        return made;
    }

private:
    /// The part before the first space; nothing if there is none.
    static std::string_view next_word(std::string_view& from) noexcept
    {
        auto const end = from.find(' ');
        auto const word = from.substr(0, end == from.npos ? 0 : end);
        from.remove_prefix(end == from.npos ? 0 : end + 1);
        return word;
    }
};

}  // namespace colock::decide
