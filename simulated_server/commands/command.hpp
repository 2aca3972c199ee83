// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "simulated_server/server.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace colock::simulation {

/// The number, if the text is what Redis itself writes for one: no sign plus, no leading zeros.
std::optional<std::int64_t> to_integer(std::string_view text) noexcept;

/// Refuses what is no integer.
std::int64_t integer(std::string_view text);

/// Refuses, too, the one integer that has no opposite.
std::int64_t signed_count(std::string_view text);

/// Refuses what is no floating-point number, or none of those that there are.
double floating(std::string_view text);

/// An end of a range of scores: the same, but for spaces in front, and of a number out of range
/// what is nearest to it.
double range_end(std::string_view text);

/// As Redis 7.2 and Valkey write it: a whole number below 2^62 with all its digits, others as short
/// as it goes. Redis 7.0 writes each with up to 17 digits.
std::string to_text(double);

/// As a machine of the x86 family makes an integer of it: what is out of range is the least one.
std::int64_t truncated(double) noexcept;

/// From start to stop, both included, negative from the end: the first and the one past the last.
std::pair<std::size_t, std::size_t> range(
    std::int64_t start, std::int64_t stop, std::size_t size
) noexcept;

using decide::reply;

/// A command's name and its arguments.
using words = std::span<std::string_view const>;

/// A reply, and whether it is a status such as OK, which Lua sees as a table.
struct outcome : reply {
    outcome() = default;
    outcome(reply r) : reply{std::move(r)} {}
    outcome(std::int64_t n) : reply{reply::of(n)} {}
    static outcome status(std::string_view text)
    {
        outcome made{reply::of(text)};
        made.is_status = true;
        return made;
    }

    bool is_status = false;
};

/// An error reply, thrown by the command that answers with it.
class refusal : public std::runtime_error {
public:
    using runtime_error::runtime_error;
};

/// What a command works on.
struct workspace {
    keyspace& keys;
    publisher const& publish;
    subscriber_count const& subscribers;
    std::int64_t now;          ///< in microseconds since the epoch
    std::int64_t started = 0;  ///< the same
    bool is_full = false;      ///< there is no memory left
    bool has_written = false;  ///< then the rest of a script is let through

    std::int64_t now_ms() const noexcept { return now / 1'000; }
    keyspace::entry* find(std::string_view key) { return keys.find(key, now_ms()); }

    /// What the key holds, none if it is not there; refuses if it is of another type.
    template <class T>
    T* read(std::string_view key)
    {
        auto* const found = find(key);
        return found ? &as<T>(*found) : nullptr;
    }

    /// The same, with an empty value where there was none.
    template <class T>
    T& write(std::string_view key)
    {
        auto* const found = find(key);
        return found ? as<T>(*found) : std::get<T>(keys.put(key, T{}).content);
    }

    /// A collection without elements is no key.
    template <class T>
    void drop_if_empty(std::string_view key, T const& collection)
    {
        if (collection.empty())
            keys.remove(key);
    }

private:
    template <class T>
    static T& as(keyspace::entry& e)
    {
        auto* const content = std::get_if<T>(&e.content);
        if (!content)
            throw refusal{"WRONGTYPE Operation against a key holding the wrong kind of value"};
        return *content;
    }
};

struct command {
    std::string_view name;
    std::ptrdiff_t arity;  ///< how many words, the name included; at least so many if negative
    outcome (*run)(workspace&, words);

    bool takes(std::size_t count) const noexcept
    {
        auto const given = static_cast<std::ptrdiff_t>(count);
        return arity < 0 ? given >= -arity : given == arity;
    }
};

std::span<command const> key_commands() noexcept;
std::span<command const> string_commands() noexcept;
std::span<command const> hash_commands() noexcept;
std::span<command const> list_commands() noexcept;
std::span<command const> sorted_set_commands() noexcept;

/// The command of this name, in any case; none if there is none.
command const* find_command(std::string_view name);

/// What a script calls is refused where memory is full, unless the script has written already, be
/// it nothing.
bool is_refused_for_memory(command const&, workspace const&) noexcept;
bool writes(command const&) noexcept;

/// Runs it; a refusal is an error reply.
outcome carry_out(command const&, workspace&, words);

/// Whether an option's word is this one, which is in upper case.
bool is_option(std::string_view word, std::string_view option) noexcept;

}  // namespace colock::simulation
