// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "base/clock.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>

namespace colock::test {

/// The time of a test: it stands still while handlers run, and moves only when the test says so.
///
/// The timers are the real ones; under a fake clock those that are due fire at the next poll.
class virtual_time {
public:
    explicit virtual_time(boost::asio::io_context&);
    virtual_time(virtual_time const&) = delete;
    virtual_time& operator=(virtual_time const&) = delete;
    ~virtual_time();

    static time_point now() noexcept { return clock::now(); }

    /// Runs handlers until none is ready.
    void settle();

    /// Lets time pass, by whole milliseconds, and runs what becomes due in each.
    void advance(milliseconds);

    /// As `advance`, but only until `is_so`; false if it wasn't within the limit.
    bool advance_until(std::function<bool()> const& is_so, milliseconds limit);

    /// Moves the clock and runs nothing: the process was stopped for so long.
    void jump(milliseconds);

    /// Runs one handler that is ready; false if none is.
    bool step();

    /// Handlers run so far.
    std::size_t handlers() const noexcept { return handlers_; }

private:
    bool poll_one();
    static milliseconds until_next_timer(milliseconds limit);

    boost::asio::io_context& context_;
    std::size_t handlers_ = 0;
};

inline virtual_time::virtual_time(boost::asio::io_context& context) : context_{context}
{
    clock::fake(time_point{std::chrono::hours{1'000}});
}

inline virtual_time::~virtual_time() { clock::fake({}); }

inline bool virtual_time::poll_one()
{
    if (context_.stopped())
        context_.restart();
    if (context_.poll_one() == 0)
        return false;
    ++handlers_;
    return true;
}

// A due timer shows when the kernel has run the timerfd that Asio has set. That may be a moment
// after the call, so what has just been set is looked for twice.
inline bool virtual_time::step() { return poll_one() || poll_one(); }

inline void virtual_time::settle()
{
    while (step()) {}
}

inline void virtual_time::advance(milliseconds time)
{
    advance_until([] { return false; }, time);
}

inline bool virtual_time::advance_until(std::function<bool()> const& is_so, milliseconds limit)
{
    settle();
    for (auto left = limit; !is_so();) {
        if (left <= milliseconds{0})
            return false;
        auto const time = until_next_timer(left);
        left -= time;
        jump(time);
        if (poll_one())
            settle();
    }
    return true;
}

// While no timer is due no handler runs. One millisecond where it isn't known, which is so if the
// reactor has not looked at its timers since the time was set.
inline milliseconds virtual_time::until_next_timer(milliseconds limit)
{
    auto const expected = clock::expected();
    if (expected == never)
        return milliseconds{1};
    auto const time = std::chrono::ceil<milliseconds>(expected - now());
    return std::clamp(time, milliseconds{1}, limit);
}

inline void virtual_time::jump(milliseconds time) { clock::fake(clock::now() + time); }

}  // namespace colock::test
