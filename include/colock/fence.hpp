// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>

namespace colock {
inline namespace v0_3 {

/// The check of fencing tokens that the protected resource makes.
///
/// A lease is not a mutex. A holder that was paused past its lease can't be told in time, and its
/// next write comes after those of its successor. A resource that remembers the highest token it
/// has seen, and refuses lower ones, accepts no such write. Equal tokens pass, because one holder
/// may write often.
///
/// In a database the same check is one condition: `UPDATE account SET balance = ?, token = ? WHERE
/// id = ? AND token <= ?`. If no row was updated, the write was refused. In Redis it is a script
/// that compares before it writes.
///
/// \par Thread-safety
///   Distinct objects are safe, shared ones are not: protect it with the resource's mutex.
class fence {
public:
    constexpr fence() noexcept = default;

    /// Begins with the highest token that the resource has stored.
    explicit constexpr fence(std::uint64_t highest) noexcept : highest_{highest} {}

    /// True if `token` is at least as high as every token before it. False if a newer holder was
    /// here, or `token` is 0, which no fenced hold has.
    [[nodiscard]] constexpr bool admit(std::uint64_t token) noexcept
    {
        if (token == 0 || token < highest_)
            return false;
        highest_ = token;
        return true;
    }

    /// The highest token so far; 0 before the first one.
    constexpr std::uint64_t highest() const noexcept { return highest_; }

private:
    std::uint64_t highest_ = 0;
};

}  // namespace v0_3
}  // namespace colock
