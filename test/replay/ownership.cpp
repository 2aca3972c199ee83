// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that belongs to a thread.
#include "replay/replay.hpp"

#include <type_traits>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(ownership)

// One task's release with the other's token would be the way to let a third one in.
BOOST_DATA_TEST_CASE(a_late_release_removes_the_lock_of_the_next_one, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("late")};
        hold old = co_await shared.acquire({.lease = 100ms});
        co_await old.lost();
        hold next = co_await shared.acquire();
        auto const [ec] = co_await old.release(tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(bool{next});
        BOOST_TEST(exists(at.server(), shared.name()));
        BOOST_TEST(is_refused(co_await shared.try_acquire()));
    });
}

BOOST_DATA_TEST_CASE(a_failed_release_blocks_the_name_in_its_process, each_server(), kind)
{
    far_lab at{kind};
    auto settings = with_lease(at.by_network(), brief_lease);
    settings.timeout = 100ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("blocked")};
        hold held = co_await mine.acquire();
        at.network.hold_back_all(proxy::way::both);
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(bool{ec});
        at.network.let_through();
        auto const again = co_await mine.try_acquire_for(5s);
        BOOST_TEST(again.has_value());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Re-entry, leases that stay in shared objects, and tokens.

BOOST_AUTO_TEST_SUITE(reentrancy)

BOOST_DATA_TEST_CASE(the_lease_of_an_earlier_hold_is_used_again, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 1s));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("earlier")};
        auto const left = [&] { return at.server().ask("PTTL", shared.name()).number; };
        hold held = co_await shared.acquire({.lease = 30s});
        BOOST_TEST(left() > 20'000);
        co_await held.release();
        held = co_await shared.acquire();
        BOOST_TEST(left() <= 1'000);
        auto const until = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
        BOOST_TEST(left() <= 1'000);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// What a guard does when it goes.

BOOST_AUTO_TEST_SUITE(destructors)

BOOST_DATA_TEST_CASE(unlock_throws_in_a_destructor, each_server(), kind)
{
    static_assert(std::is_nothrow_destructible_v<hold>);
    static_assert(std::is_nothrow_move_assignable_v<hold>);
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect(brief(at.settings()));
    at.run_only([&]() -> asio::awaitable<void> {
        {
            hold const by_scope = co_await lock{c.client, unique_name("scope")}.acquire();
            hold by_assignment = co_await lock{c.client, unique_name("assigned")}.acquire();
            server.kill();
            by_assignment = {};
        }
        // Owed until the leases are over, in which the server can't say yes.
        BOOST_TEST(co_await eventually([&] { return c.client.stats().keys == 0; }));
        BOOST_TEST(c.client.stats().holds == 0U);
        BOOST_TEST(c.client.stats().owed_releases == 0U);
        co_await c.client.close(tuple);
    });
}

BOOST_DATA_TEST_CASE(a_destructor_waits_for_the_network, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect(with_lease(at.settings(), 30s));
    at.run([&]() -> asio::awaitable<void> {
        std::vector<hold> held;
        for (int i = 0; i != 100; ++i)
            held.push_back(co_await lock{c.client, unique_name("dropped")}.acquire());
        server.pause();
        stopwatch const watch;
        held.clear();
        BOOST_TEST(watch.ms() < 1'000);
        server.resume();
        BOOST_TEST(co_await eventually([&] { return c.client.stats().keys == 0; }));
        BOOST_TEST(server.ask("KEYS", "test:*").items.empty());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
