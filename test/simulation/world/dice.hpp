// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "resp/message.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// True time since the world began: no clock in the world shows it.
using moment = std::chrono::nanoseconds;

inline constexpr moment never_again = moment::max();

/// Random numbers from a seed (splitmix64). Whoever draws has dice of its own, so that what one
/// leaves out does not change what the others draw.
class dice {
public:
    explicit constexpr dice(std::uint64_t seed) noexcept : state_{seed} {}

    /// Dice of somebody's own, for one purpose.
    constexpr dice apart(std::uint64_t purpose) const noexcept
    {
        dice d{state_ ^ (purpose + 1) * 0xd1342543de82ef95U};
        d.next();
        return d;
    }

    constexpr std::uint64_t next() noexcept
    {
        state_ += 0x9e3779b97f4a7c15U;
        auto z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /// From 0 to `limit` - 1.
    constexpr std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

    constexpr bool percent(unsigned p) noexcept { return below(100) < p; }
    constexpr bool per_million(std::uint64_t p) noexcept { return below(1'000'000) < p; }

    /// From `least` to `most`.
    constexpr moment between(moment least, moment most) noexcept
    {
        auto const width = static_cast<std::uint64_t>((most - least).count()) + 1;
        return least + moment{static_cast<moment::rep>(below(width))};
    }

private:
    std::uint64_t state_;
};

}  // namespace colock::simulation

// Both ends of the wire, without a parser that has to be afraid of its input.
namespace colock::simulation {

/// Calls `act(words)` for each of the commands in these bytes. The words are views into them.
template <class Act>
void for_each_command(std::string_view bytes, Act const& act)
{
    auto const number = [&bytes] {
        std::size_t n = 0;
        auto const end = std::from_chars(bytes.data() + 1, bytes.data() + bytes.size(), n).ptr;
        bytes.remove_prefix(static_cast<std::size_t>(end - bytes.data()) + 2);
        return n;
    };
    std::vector<std::string_view> words;
    while (!bytes.empty()) {
        words.clear();
        for (auto left = number(); left != 0; --left) {
            auto const size = number();
            words.push_back(bytes.substr(0, size));
            bytes.remove_prefix(size + 2);
        }
        act(std::span<std::string_view const>{words});
    }
}

/// A reply as the nodes of a message, which refer to it.
inline void flatten(decide::reply const& r, std::vector<resp::node>& to)
{
    using reply_kind = decide::reply::kind;
    using node_kind = resp::node::kind;
    switch (r.what) {
    case reply_kind::nil: to.push_back({node_kind::nil}); break;
    case reply_kind::integer: to.push_back({node_kind::integer, r.number}); break;
    case reply_kind::text: to.push_back({node_kind::text, 0, r.text}); break;
    case reply_kind::error: to.push_back({node_kind::error, 0, r.text}); break;
    case reply_kind::list:
        to.push_back({node_kind::list, static_cast<std::int64_t>(r.items.size())});
        for (auto const& each : r.items)
            flatten(each, to);
    }
}

}  // namespace colock::simulation
