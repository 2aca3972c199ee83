#pragma once

#include "decide/reply.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace colock::resp {

/// One value of a message. An aggregate is followed by its elements.
struct node {
    enum class kind : std::uint8_t { nil, integer, text, error, list };

    kind what = kind::nil;
    std::int64_t number = 0;  ///< an integer, or how many elements a list has
    std::string_view text{};  ///< of a text or an error
};

/// One whole reply or push, as a flat list of its values in the order of the wire.
///
/// The nodes and their texts belong to the parser: they are valid until it reads on.
class message {
public:
    message(std::span<node const> nodes, bool is_push) noexcept : nodes_{nodes}, is_push_{is_push}
    {}

    bool is_push() const noexcept { return is_push_; }
    bool is_error() const noexcept { return first().what == node::kind::error; }
    node const& first() const noexcept { return nodes_.front(); }
    std::span<node const> nodes() const noexcept { return nodes_; }

private:
    std::span<node const> nodes_;
    bool is_push_;
};

/// Copies values out of a message, one after the other.
class value_reader {
public:
    explicit value_reader(message const& from) noexcept : rest_{from.nodes()} {}

    /// Takes the next value with all its elements; nil at the end.
    decide::reply next();

    /// Takes the next node alone: of a list, its elements come next.
    node const* next_node() noexcept;

private:
    std::span<node const> rest_;
};

/// The whole message as a value of its own.
decide::reply to_reply(message const&);

}  // namespace colock::resp
