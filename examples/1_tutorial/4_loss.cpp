// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A hold is lost, and its owner is told in four ways.
//
//     4_loss [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <stop_token>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

/// An operator takes the lock away, as `force_release` and DEL do.
asio::awaitable<void> take_away(colock::lock lock)
{
    co_await tutorial::pause(100ms);
    bool const taken = co_await lock.force_release();
    expect(taken, "there was a lock to take");
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): the hold outlives it
// [with_lock
asio::awaitable<void> work(colock::hold& /*held*/)
{
    std::puts("with_lock: working");
    co_await tutorial::pause(1min);  // cancelled long before
    std::puts("never printed");
}

asio::awaitable<void> under_the_lock(colock::lock lock)
{
    try {
        co_await colock::with_lock(lock, work);
    } catch (boost::system::system_error const& e) {
        expect(e.code() == colock::error::lost, "lost");
        std::puts("with_lock: the work was cancelled, error::lost is thrown");
    }
}
// with_lock]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [lost
asio::awaitable<void> by_hand(colock::lock lock)
{
    colock::hold held = co_await lock.acquire();
    auto const [failure] = co_await held.lost(asio::as_tuple(asio::deferred));
    std::printf("lost(): %s\n", failure ? failure.message().c_str() : "the hold is lost");
    expect(!held, "a lost hold is false");
}

asio::awaitable<void> under_my_own_hold(colock::lock lock)
{
    colock::hold held = co_await lock.acquire();
    try {
        co_await colock::guard(held, [](colock::hold&) { return tutorial::pause(1min); });
    } catch (boost::system::system_error const& e) {
        expect(e.code() == colock::error::lost, "lost");
        std::puts("guard: the work was cancelled, error::lost is thrown");
    }
}
// lost]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [token
/// Computes for a minute; knows nothing of coroutines. False: it was stopped before the end.
bool compute(std::stop_token const& stop)
{
    for (int step = 0; step != 60'000 && !stop.stop_requested(); ++step)
        std::this_thread::sleep_for(1ms);
    return !stop.stop_requested();
}

asio::awaitable<bool> computing(std::stop_token stop) { co_return compute(stop); }

asio::awaitable<void> for_other_libraries(colock::lock lock)
{
    colock::hold held = co_await lock.acquire();
    asio::thread_pool threads{1};
    auto running = asio::co_spawn(threads, computing(held.stop_token()), asio::use_awaitable);
    if (co_await std::move(running))
        co_await held.release();  // throws error::lost if the lock was lost at the very end
    else
        std::puts("stop_token(): the thread stops");
}
// token]

// [paused
asio::awaitable<void> paused(colock::lock lock)
{
    colock::hold held = co_await lock.acquire({.lease = 300ms});
    std::printf("before a pause: %s\n", held.valid_for(100ms) ? "valid" : "not valid");
    std::this_thread::sleep_for(400ms);  // the whole process stands still: nobody can be told
    std::printf("after it: %s\n", held.valid_for(100ms) ? "valid" : "not valid");
    expect(!held, "by the clock, before any message");
}
// paused]

asio::awaitable<void> lesson(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // so that renewals, which find it out here, come each third of a second
    auto const executor = co_await asio::this_coro::executor;
    colock::client redis{executor, settings};
    colock::client other{executor, settings};
    redis.run(asio::detached);
    other.run(asio::detached);

    colock::lock const lock{redis, "report"};
    colock::lock const same{other, "report"};
    co_await (under_the_lock(lock) && take_away(same));
    co_await (by_hand(lock) && take_away(same));
    co_await (under_my_own_hold(lock) && take_away(same));
    co_await (for_other_libraries(lock) && take_away(same));
    co_await paused(lock);

    co_await other.close();
    co_await redis.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
