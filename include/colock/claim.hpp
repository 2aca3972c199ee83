// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock {
inline namespace v0_3 {

/// A lock that its holder has given away with `hold::give()` and that nobody has adopted yet. It is
/// a plain value: send its text to another process or machine, and `client::adopt` it there.
///
/// \par Guarantees
///   The lock stays taken in between, so nobody else gets in, and nobody has a hold on it: the
///   giver's ends before the claim exists, and at most one `adopt` succeeds. Nobody renews it
///   either. If nobody adopts it within `valid_for`, or a little more, the lock is free.
/// \par Security
///   Anybody who has the text can take the lock over. It contains no password.
struct [[nodiscard]] claim {
    std::string kind;         ///< `lock`, `spin` or `fenced`
    std::string name;         ///< of the lock, without `config::key_prefix`
    std::string field;        ///< in Redis: the ownership that moves
    std::uint64_t token = 0;  ///< the giver's fencing token. The adopter's is higher; 0 if
                              ///< `config::fencing` is off

    /// How long the lock stayed taken at least, when it was given.
    std::chrono::milliseconds valid_for{0};

    /// A text for `parse`. The name comes last, as it is: a name with a newline makes it more than
    /// one line.
    std::string to_string() const;

    /// Nothing if the text is not one that `to_string` makes.
    static std::optional<claim> parse(std::string_view text);

    friend bool operator==(claim const&, claim const&) = default;
};

}  // namespace v0_3
}  // namespace colock
