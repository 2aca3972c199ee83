// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Clocks that jump, and answers that are true and already over.
#include "replay/replay.hpp"
#include "support/patience.hpp"

#include <atomic>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<std::time_t> wall_clock_is_off_by = 0;  // seconds

}  // namespace

/// In place of the C library's: the wall clock of this program, and no other, can be set.
extern "C" int clock_gettime(clockid_t which, timespec* now) noexcept
{
    auto const result = static_cast<int>(::syscall(SYS_clock_gettime, which, now));
    if (result == 0 && which == CLOCK_REALTIME)
        now->tv_sec += wall_clock_is_off_by.load();
    return result;
}

namespace colock::test {

/// Sets the wall clock of this process, until the end of a test.
struct wall_clock {
    ~wall_clock() { wall_clock_is_off_by = 0; }

    static void jump(std::chrono::seconds by)
    {
        using clock = std::chrono::system_clock;
        auto const before = clock::now();
        wall_clock_is_off_by += by.count();
        auto const jumped = std::chrono::abs(clock::now() - before - by);
        BOOST_TEST_REQUIRE((jumped < 1min));
    }
};

BOOST_AUTO_TEST_SUITE(clocks)

BOOST_DATA_TEST_CASE(wall_clock_jump, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.lease = 1'500ms;
    auto const seen = std::make_shared<counts>();
    settings.observer = seen;
    auto& c = at.connect(settings);
    auto& other = at.connect(calm(at.settings()));
    wall_clock of_this_process;
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("jump")};
        hold held = co_await mine.acquire();
        hold next;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            next = co_await lock{other.client, mine.name()}.acquire();
        });
        co_await eventually([&] { return is_waiting(other.client, mine.name()); });
        for (auto const by : {1h, -2h, 1h}) {
            of_this_process.jump(by);
            auto const left = at.server().ask("PTTL", mine.name()).number;
            BOOST_TEST(left <= 1'500);
            auto const until = held.valid_until();
            BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
            BOOST_TEST((until - hold::clock::now() < 1'500ms));
            BOOST_TEST(!next);
        }
        of_this_process.jump(1h);
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(!ec, ec.message());
        co_await all.join(3s);
        BOOST_TEST(bool{next});
        BOOST_TEST(next.fencing_token() > held.fencing_token());
        BOOST_TEST(seen->losses == 0U);
    });
}

BOOST_DATA_TEST_CASE(wall_clock_jump_in_a_fair_queue, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& holder = at.connect(calm(at.settings()));
    std::vector<running_client*> clients;
    for (int i = 0; i != 3; ++i)
        clients.push_back(&at.connect(calm(at.settings())));
    wall_clock of_this_process;
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("jump-fair");
        hold held = co_await fair_lock{holder.client, name}.acquire({.lease = 30s});
        std::vector<int> order;
        tasks all{at.context()};
        for (int i = 0; i != 3; ++i) {
            all.start([&, i]() -> asio::awaitable<void> {
                fair_lock const mine{clients.at(static_cast<std::size_t>(i))->client, name};
                hold next = co_await mine.acquire();
                order.push_back(i);
                co_await next.release();
            });
            bool const stands = co_await eventually([&] {
                return at.server().ask("LLEN", "redisson_lock_queue:{" + name + "}").number ==
                    i + 1;
            });
            BOOST_TEST(stands);
            of_this_process.jump(i == 0 ? 1h : -2h);  // each comes with another clock
        }
        stopwatch const watch;
        co_await held.release();
        co_await all.join(4s);
        BOOST_TEST(watch.ms() < 3'000);
        BOOST_TEST((order == std::vector{0, 1, 2}));
    });
}

BOOST_DATA_TEST_CASE(still_yours_is_true_and_already_over, each_server(), kind)
{
    far_lab at{kind};
    auto& c = at.connect(with_lease(at.patient(), 600ms));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("yes")};
        hold held = co_await mine.acquire();
        auto const promised = held.valid_until();
        auto const sent = at.network.seen(mine.name());
        at.network.hold_back(proxy::way::to_client);
        BOOST_TEST(co_await eventually([&] { return at.network.seen(mine.name()) > sent; }));
        // The server has said yes; what it says arrives when that is over.
        wait_until("the end of the lease", 5s, [&] { return !exists(at.server(), mine.name()); });
        at.network.let_through();
        BOOST_TEST(!held.valid_for(0ms));
        co_await held.lost();
        BOOST_TEST(!held);
        BOOST_TEST((held.valid_until() <= hold::clock::now()));
        BOOST_TEST((promised < hold::clock::now()));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
