// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// RESP3 values as they stand on the wire.
namespace wire {

std::string text(std::string_view);
std::string number(std::int64_t);
std::string list(std::vector<std::string> const& values);
std::string push(std::vector<std::string> const& values);
std::string failure(std::string_view words);  ///< a simple error
inline std::string ok() { return "+OK\r\n"; }

/// A range of slots and the port of 127.0.0.1 that serves it.
struct slots {
    unsigned first = 0, last = 0;
    std::uint16_t port = 0;
};
/// The answer to CLUSTER SLOTS.
std::string slot_map(std::vector<slots> const&);

}  // namespace wire

/// The number of a script, in hexadecimal digits.
std::string sha1_of(std::string const& script);

/// Whether this is the sum of the plain lock's acquire script, in any of its forms.
bool is_sum_of_acquire(std::string_view sha1) noexcept;

/// What a healthy server answers. Each lock is free and each hold is there, so the server needs no
/// memory of them.
class usual_answers {
public:
    using words = std::vector<std::string>;

    std::string to(words const& command, std::size_t connection);

    std::string cluster_slots;  ///< the answer to CLUSTER SLOTS; empty: this is no cluster
    std::uint16_t primary = 0;  ///< what this Sentinel names; 0: this is no Sentinel

private:
    std::string to_client(words const&, std::size_t connection) const;
    std::string to_sentinel(words const&) const;
    std::string to_script(words const&);
    std::string to_subscriber(words const&) const;
    std::string info() const;

    std::int64_t last_token_ = std::int64_t{1} << 51;
};

}  // namespace colock::test
