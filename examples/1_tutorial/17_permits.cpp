// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two seats of a licence, as permits with a lease: they are renewed, and come back when the work
// throws or the process dies; and their holder is told when one is taken away.
//
//     17_permits [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

asio::awaitable<long long> free_after(colock::permit_semaphore seats)
{
    tutorial::stopwatch const time;
    while (co_await seats.available() < 2)
        co_await tutorial::pause(10ms);
    co_return time.ms();
}

// [seat
asio::awaitable<bool> simulate(colock::permit_semaphore seats, std::chrono::milliseconds work)
{
    std::optional<colock::permit> seat = co_await seats.try_acquire_for(100ms);
    if (!seat)
        co_return false;             // all are taken
    co_await tutorial::pause(work);  // the permit is renewed meanwhile
    expect(bool{*seat}, "renewed");
    co_await seat->release();
    co_return true;
}
// seat]

asio::awaitable<void> three_users(colock::permit_semaphore here, colock::permit_semaphore there)
{
    auto const [one, two, three] =
        co_await (simulate(here, 1500ms) && simulate(there, 1500ms) && simulate(there, 1500ms));
    std::printf(
        "three users, two seats: %d worked, %d found none\n",
        one + two + three,
        3 - one - two - three
    );
    expect(one + two + three == 2, "two seats");
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> work_throws(colock::permit_semaphore seats)
{
    try {
        co_await colock::with_lock(seats, [](colock::permit&) -> asio::awaitable<void> {
            throw std::runtime_error{"the simulation fails"};
        });
    } catch (std::runtime_error const& e) {
        std::puts(e.what());
    }
    auto const time = co_await free_after(seats);
    std::printf("after the exception both seats are free within ~%lld ms\n", time);
}

asio::awaitable<void> process_dies(colock::permit_semaphore seats, std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;
    colock::client process{co_await asio::this_coro::executor, settings};
    colock::permit const seat = co_await colock::permit_semaphore{process, "seats"}.acquire();
    process.stop();  // to the server as good as kill -9
    auto const time = co_await free_after(seats);
    std::printf("its process gone: both seats are free after ~%lld ms, within a lease\n", time);
    expect(time > 100 && time < 3000, "the lease ends it");
}

// [lost
asio::awaitable<void> work(colock::permit& /*seat*/)
{
    std::puts("working on a seat");
    co_await tutorial::pause(1min);  // cancelled long before
    std::puts("never printed");
}

asio::awaitable<void> until_lost(colock::permit_semaphore seats)
{
    try {
        co_await colock::with_lock(seats, work);
    } catch (boost::system::system_error const& e) {
        expect(e.code() == colock::error::lost, "lost");
        std::puts("the seat was taken away: the work was cancelled");
    }
}
// lost]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// As a server that restarts empty, or an operator.
asio::awaitable<void> take_away(std::string url)
{
    co_await tutorial::pause(100ms);
    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("DEL", "seats", "{seats}:timeout");
}

asio::awaitable<void> lesson(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // 30 s unless set
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, settings};
    colock::client b{executor, settings};
    a.run(asio::detached);
    b.run(asio::detached);

    // [make
    colock::permit_semaphore const seats{a, "seats", 2};  // the first acquire sets the two permits
    // make]
    colock::permit_semaphore const same{b, "seats", 2};
    co_await three_users(seats, same);
    co_await work_throws(seats);
    co_await process_dies(seats, url);
    co_await (until_lost(seats) && take_away(url));

    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
