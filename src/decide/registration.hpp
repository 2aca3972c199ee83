#pragma once

#include "decide/time.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// How a release gives the lock to a waiter; see `config::passing`.
namespace colock::decide {

/// For how long a release gives the lock to a waiter. The waiter's client confirms its place once a
/// poll cap, so at least half of that lease is left when the message comes.
constexpr milliseconds first_lease(milliseconds poll_cap) noexcept { return 3 * poll_cap; }

/// The entry of a waiter in the wait list: the field that it will have, and what a release needs to
/// give it this lock. `floor` is `f` before a fencing counter that has a floor, `0` before another
/// one, and empty without fencing.
inline std::string passing_entry(
    std::string_view field,
    milliseconds lease,
    std::string_view secret,
    std::string_view lock,
    std::string_view floor,
    std::string_view counter
)
{
    std::string made{field};
    return made.append("|")
        .append(std::to_string(lease.count()))
        .append("|")
        .append(secret)
        .append("|")
        .append(lock)
        .append("|")
        .append(floor)
        .append(counter);
}

/// The message of a release that has given the lock to a number: `0:number:token:secret`.
struct passed_message {
    std::uint64_t number = 0;
    std::uint64_t token = 0;
    std::string_view secret;
};

inline std::optional<passed_message> read_passed(std::string_view payload) noexcept
{
    passed_message read;
    auto const take = [&payload](std::uint64_t& number) {
        auto const end = payload.data() + payload.size();
        auto const [at, ec] = std::from_chars(payload.data(), end, number);
        bool const is_good = ec == std::errc{} && at != end && *at == ':';
        if (is_good)
            payload.remove_prefix(static_cast<std::size_t>(at - payload.data()) + 1);
        return is_good;
    };
    std::uint64_t listening = 0;
    if (!take(listening) || !take(read.number) || !take(read.token))
        return {};
    read.secret = payload;
    return read;
}

/// The message that only says whose turn it is: `listening`, or `listening:number` about an entry
/// with that number.
struct turn_message {
    unsigned listening = 0;
    std::uint64_t number = 0;
};

inline turn_message read_turn(std::string_view payload) noexcept
{
    turn_message read;
    auto const end = payload.data() + payload.size();
    auto const at = std::from_chars(payload.data(), end, read.listening).ptr;
    if (at != end && *at == ':')
        std::from_chars(at + 1, end, read.number);
    return read;
}

/// The number under which this client's head waits in the list, and what proves that its first
/// lease still runs.
///
/// A number is put into the list once, so a release takes it once, and there is one message about
/// it at most. The lease began after the last step that has found the entry in the list, and was
/// therefore sent before: it counts from then, and never from the message.
class registration {
public:
    /// A step is about to be sent that puts it into the list.
    void begin(std::uint64_t number, std::string entry)
    {
        *this = {};
        number_ = number;
        entry_ = std::move(entry);
    }

    bool is(std::uint64_t number) const noexcept { return number_ != 0 && number_ == number; }
    bool exists() const noexcept { return number_ != 0; }
    std::uint64_t number() const noexcept { return number_; }
    std::string const& entry() const noexcept { return entry_; }

    /// A step of this number is about to be sent now, and can set another lease: what older steps
    /// have found proves nothing any more.
    void asks(time_point now) noexcept
    {
        found_.reset();
        asked_ = now;
    }

    /// A step that was sent then has found the entry of this number.
    void found(std::uint64_t number, time_point sent) noexcept
    {
        if (is(number) && sent >= asked_ && (!found_ || *found_ < sent))
            found_ = sent;
    }

    /// The message has come: false if it is about another number.
    bool passed(std::uint64_t number, std::uint64_t token) noexcept
    {
        if (!is(number))
            return false;
        token_ = token;
        return true;
    }
    bool was_told() const noexcept { return token_.has_value(); }

    /// It has the lock, as far as is proven: by a lease that was set after `since`.
    bool is_passed() const noexcept { return token_ && found_; }
    time_point since() const noexcept { return *found_; }
    std::uint64_t token() const noexcept { return *token_; }

    /// The number is over, or is asked for as any other.
    void end() noexcept { *this = {}; }

private:
    std::uint64_t number_ = 0;  ///< 0: none
    std::string entry_;
    time_point asked_{};
    std::optional<time_point> found_;
    std::optional<std::uint64_t> token_;
};

}  // namespace colock::decide
