// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "resp/message.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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
