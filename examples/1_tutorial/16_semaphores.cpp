// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A partner that takes two calls at a time, over all processes; and what becomes of a permit when
// the call throws, is cancelled, or dies with its process.
//
//     16_semaphores [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <cstdint>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

int inside = 0;
int most_inside = 0;

asio::awaitable<void> call_partner()
{
    most_inside = std::max(most_inside, ++inside);
    co_await tutorial::pause(20ms);
    --inside;
}

// Permits that are given back in the background are there a moment later.
asio::awaitable<std::int64_t> soon_available(colock::semaphore partner)
{
    std::int64_t left = co_await partner.available();
    for (int i = 0; left < 2 && i < 50; ++i) {
        co_await tutorial::pause(10ms);
        left = co_await partner.available();
    }
    co_return left;
}

// [limit
asio::awaitable<void> limited(colock::semaphore partner)
{
    co_await colock::with_permits(partner, 1, call_partner);  // waits while both permits are out
}
// limit]

asio::awaitable<void> six_requests(colock::semaphore here, colock::semaphore there)
{
    co_await (
        limited(here) && limited(there) && limited(here) && limited(there) && limited(here) &&
        limited(there)
    );
    std::printf("six requests in two processes: at most %d at once\n", most_inside);
    expect(most_inside == 2, "two permits");
}

// [wait
asio::awaitable<void> call_soon(colock::semaphore partner)
{
    bool const called = co_await colock::with_permits_for(partner, 100ms, 1, call_partner);
    std::printf("both permits are out: %s\n", called ? "called" : "busy, not called");
    expect(!called, "the wait runs out");
}
// wait]

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): a lambda
asio::awaitable<void> too_busy(colock::semaphore partner)
{
    auto const one_more = [partner] { return call_soon(partner); };
    co_await colock::with_permits(partner, 2, one_more);
}

// [throws
asio::awaitable<void> refused() { throw std::runtime_error{"the partner refuses"}; }

asio::awaitable<void> call_throws(colock::semaphore partner)
{
    try {
        co_await colock::with_permits(partner, 1, refused);
    } catch (std::runtime_error const& e) {
        std::puts(e.what());
    }
    auto const left = co_await soon_available(partner);
    std::printf("after the exception: %d permits left\n", static_cast<int>(left));
    expect(left == 2, "given back");
}
// throws]

asio::awaitable<void> call_is_cancelled(colock::semaphore partner)
{
    auto const for_ever = [] { return tutorial::pause(1min); };
    co_await (colock::with_permits(partner, 1, for_ever) || tutorial::pause(50ms));
    auto const left = co_await soon_available(partner);
    std::printf("after the cancellation: %d permits left\n", static_cast<int>(left));
    expect(left == 2, "given back");
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> process_dies(colock::semaphore partner, std::string url)
{
    colock::client process{co_await asio::this_coro::executor, colock::config::from_url(url)};
    colock::semaphore const same{process, "partner"};
    co_await same.acquire(1);
    process.stop();  // to the server as good as kill -9
    co_await tutorial::pause(100ms);
    auto const left = co_await partner.available();
    std::printf("after the death of a process: %d permit left, for good\n", static_cast<int>(left));
    expect(left == 1, "nobody knows whose it was");

    co_await partner.release(1);  // by hand, when you know that it is gone
    auto const again = co_await partner.available();
    std::printf("given back by hand: %d permits left\n", static_cast<int>(again));
    expect(again == 2, "by hand");
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, colock::config::from_url(url)};
    colock::client b{executor, colock::config::from_url(url)};
    a.run(asio::detached);
    b.run(asio::detached);

    // [make
    colock::semaphore const partner{a, "partner", 2};  // the first acquire sets the two permits
    // make]
    colock::semaphore const same{b, "partner", 2};
    co_await six_requests(partner, same);
    co_await too_busy(partner);
    co_await call_throws(partner);
    co_await call_is_cancelled(partner);
    co_await process_dies(partner, url);

    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
