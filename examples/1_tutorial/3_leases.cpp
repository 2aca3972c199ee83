// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Three experiments with leases: a lock that nobody releases, a lease that is shorter than the
// work, and the watchdog.
//
//     3_leases [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/system/system_error.hpp>

#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

/// Waits until the lock is free, by asking.
asio::awaitable<long long> free_after(colock::lock lock)
{
    tutorial::stopwatch const time;
    for (bool locked = true; locked;) {
        co_await tutorial::pause(10ms);
        locked = co_await lock.is_locked();
    }
    co_return time.ms();
}

// [never
asio::awaitable<void> nobody_releases(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // 30 s unless set
    colock::client process{co_await asio::this_coro::executor, settings};
    colock::client elsewhere{co_await asio::this_coro::executor, settings};
    process.run(asio::detached);
    colock::lock const lock{process, "experiment:1"};
    colock::lock const same{elsewhere, "experiment:1"};

    colock::hold held = co_await lock.acquire();
    auto const rival = co_await same.try_acquire_for(2500ms);  // two and a half leases
    std::printf("1: after 2.5 leases it is %s\n", held ? "held: it is renewed" : "lost");
    std::printf("1: somebody else is %s\n", rival ? "in" : "not in");
    expect(held && !rival, "the watchdog renews");

    held = {};  // forgotten, or thrown past: a hold releases in its destructor
    auto const time = co_await free_after(lock);
    std::printf("1: forgotten, it is free after ~%lld ms\n", time);
    co_await elsewhere.close();
    co_await process.close();
}
// never]

// [dies
asio::awaitable<void> process_dies(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;
    auto const executor = co_await asio::this_coro::executor;
    colock::client other{executor, settings};
    other.run(asio::detached);
    colock::client process{executor, settings};
    process.run(asio::detached);

    colock::hold held = co_await colock::lock{process, "experiment:1"}.acquire();
    process.stop();  // to the server as good as kill -9: nothing is released
    colock::lock const same{other, "experiment:1"};
    auto const time = co_await free_after(same);
    std::printf("1: its process gone, it is free after ~%lld ms, within a lease\n", time);
    expect(time > 100 && time < 3000, "the lease ends it");
    co_await other.close();
}
// dies]

// [short
asio::awaitable<void> lease_too_short(colock::lock lock, char name)
{
    auto held = co_await lock.try_acquire_for(5s, {.lease = 300ms});
    if (!held)
        co_return;  // somebody else had it for all of the 5 s
    std::printf("2: %c is in\n", name);
    co_await tutorial::pause(500ms);  // the work takes longer
    std::printf("2: %c ends its work, %s\n", name, *held ? "holding" : "not holding");
    auto const [failure] = co_await held->release(asio::as_tuple(asio::deferred));
    std::printf("2: %c releases: %s\n", name, failure.message().c_str());
    expect(failure == colock::error::lost, "the lease is over");
}
// short]

asio::awaitable<void> watchdog(colock::lock lock, char name)
{
    auto held = co_await lock.try_acquire_for(5s);  // no lease of its own: config::lease, renewed
    if (!held)
        co_return;
    std::printf("3: %c is in\n", name);
    co_await tutorial::pause(1500ms);  // one and a half leases of work
    std::printf("3: %c ends its work, %s\n", name, *held ? "holding" : "not holding");
    co_await held->release();
}

asio::awaitable<void> lesson(std::string url)
{
    co_await nobody_releases(url);
    co_await process_dies(url);

    auto settings = colock::config::from_url(url);
    settings.lease = 1s;
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, settings};
    colock::client b{executor, settings};
    a.run(asio::detached);
    b.run(asio::detached);
    auto const later = [](asio::awaitable<void> task) -> asio::awaitable<void> {
        co_await tutorial::pause(50ms);
        co_await std::move(task);
    };
    colock::lock const second_of_a{a, "experiment:2"};
    colock::lock const second_of_b{b, "experiment:2"};
    co_await (lease_too_short(second_of_a, 'A') && later(lease_too_short(second_of_b, 'B')));
    colock::lock const third_of_a{a, "experiment:3"};
    colock::lock const third_of_b{b, "experiment:3"};
    co_await (watchdog(third_of_a, 'A') && later(watchdog(third_of_b, 'B')));
    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
