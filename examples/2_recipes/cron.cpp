// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A job that three nodes have on their timetables, and that is run once for each time on it. Their
// clocks differ by a whole period, and one node dies in the middle of a run.
//
//     cron [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

enum class promise { at_most_once, at_least_once };

/// The row of the job, in a database say: which time on the timetable was begun and which is done.
struct record {
    // [begin
    /// One statement in a database, `UPDATE … WHERE token <= ? AND …`.
    bool begin(std::uint64_t token, int time, promise kept)
    {
        bool const first = time > begun;
        bool const again = time == begun && time > done && kept == promise::at_least_once;
        if (!(first || again) || !seen.admit(token))
            return false;
        begun = time;
        return true;
    }
    // begin]

    bool finish(std::uint64_t token, int time)
    {
        if (!seen.admit(token))
            return false;
        done = time;
        return true;
    }

    colock::fence seen;
    int begun = 0;
    int done = 0;
};

constexpr auto period = 400ms;
constexpr int times = 3;

struct death {};

struct fleet {
    promise kept;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now() + 2 * period;
    record row{};
    std::array<int, times + 1> runs{};
    bool one_has_died = false;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> report(colock::client& redis, fleet& all, int time)
{
    asio::steady_timer work{co_await asio::this_coro::executor, 20ms};
    co_await work.async_wait(asio::deferred);
    ++all.runs.at(time);
    if (time == 2 && !std::exchange(all.one_has_died, true)) {
        redis.stop();  // as if the power failed: nothing is released
        throw death{};
    }
}

// [due
/// The first node runs the job; the others find that it was run. A node that finds the lock taken
/// waits, because its holder may die.
asio::awaitable<void> due(colock::client& redis, fleet& all, int time)
{
    colock::lock const job{redis, "cron:report"};
    auto run_once = [&](colock::hold& held) -> asio::awaitable<void> {
        auto const token = held.fencing_token();
        if (all.row.begin(token, time, all.kept)) {
            co_await report(redis, all, time);
            all.row.finish(token, time);
        }
    };
    for (bool interrupted = true; interrupted;) {
        try {
            co_await colock::with_lock(job, run_once);
            interrupted = false;
        } catch (boost::system::system_error const& e) {
            if (e.code() != colock::error::lost)
                throw;  // lost: the row says whether to run it again
        }
    }
}
// due]

asio::awaitable<void> node(std::string url, fleet& all, std::chrono::milliseconds fast_by)
{
    auto const executor = co_await asio::this_coro::executor;
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // how long a node that dies holds the others up
    colock::client redis{executor, settings};
    redis.run(asio::detached);
    asio::steady_timer timetable{executor};
    try {
        for (int time = 1; time <= times; ++time) {
            timetable.expires_at(all.start + time * period - fast_by);
            co_await timetable.async_wait(asio::deferred);
            co_await due(redis, all, time);
        }
        co_await redis.close();
    } catch (death const&) {}
}

asio::awaitable<void> show(std::string url, promise kept, std::string what, int runs_of_second)
{
    fleet all{.kept = kept};
    co_await (node(url, all, 0ms) && node(url, all, period) && node(url, all, -period));
    std::printf("%s\n", what.c_str());
    for (int time = 1; time <= times; ++time) {
        std::printf("    runs begun for time %d: %d\n", time, all.runs.at(time));
        if (all.runs.at(time) != (time == 2 ? runs_of_second : 1))
            throw std::logic_error{"run too often, or too seldom"};
    }
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    co_await show(url, promise::at_most_once, "at most once; one dies in the middle of time 2", 1);
    co_await show(
        url, promise::at_least_once, "at least once; one dies in the middle of time 2", 2
    );
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
