// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a guard does when it goes.
#include "replay/replay.hpp"

#include <type_traits>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(destructors)

BOOST_DATA_TEST_CASE(unlock_throws_in_a_destructor, each_server(), kind)
{
    static_assert(std::is_nothrow_destructible_v<hold>);
    static_assert(std::is_nothrow_move_assignable_v<hold>);
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect();
    at.run_only([&]() -> asio::awaitable<void> {
        {
            hold const by_scope = co_await lock{c.client, unique_name("scope")}.acquire();
            hold by_assignment = co_await lock{c.client, unique_name("assigned")}.acquire();
            server.kill();
            by_assignment = {};
        }
        // Owed until the leases are over, in which the server can't say yes.
        bool const settled = co_await eventually([&] { return c.client.stats().keys == 0; });
        BOOST_TEST(settled);
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
        bool const settled = co_await eventually([&] { return c.client.stats().keys == 0; });
        BOOST_TEST(settled);
        BOOST_TEST(server.ask("KEYS", "test:*").items.empty());
    });
}

BOOST_DATA_TEST_CASE(unlocked_by_hand_and_by_its_guard, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("twice")};
        hold next;
        {
            hold first = co_await mine.acquire();
            co_await first.release();
            next = co_await mine.acquire();
            auto const [again] = co_await first.release(tuple);
            BOOST_TEST(!again);
        }
        // Neither let anybody else in.
        auto const third = co_await mine.try_acquire_for(50ms);
        BOOST_TEST(!third.has_value());
        BOOST_TEST(bool{next});
        BOOST_TEST(at.server().ask("HLEN", mine.name()).number == 1);
    });
}

BOOST_DATA_TEST_CASE(leaving_the_block_after_expiry_throws, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("expired")};
        {
            hold const held = co_await mine.acquire({.lease = 50ms});
            bool const over =
                co_await eventually([&] { return !exists(at.server(), mine.name()); });
            BOOST_TEST(over);
        }
        // Who wants to know, asks.
        hold held = co_await mine.acquire({.lease = 50ms});
        co_await held.lost();
        auto const [late] = co_await held.release(tuple);
        BOOST_TEST(late == error::lost);
        // Work that returns when it has seen the loss has not been done under the lock.
        auto const thrown = co_await thrown_by([&]() -> asio::awaitable<void> {
            return with_lock(mine, {.lease = 50ms}, [](hold& h) -> asio::awaitable<void> {
                co_await h.lost(tuple);
            });
        });
        BOOST_TEST((thrown == error::lost), thrown.message());
    });
}

BOOST_DATA_TEST_CASE(what_a_destructor_could_not_do_is_told_to_nobody, each_server(), kind)
{
    redis_server server{kind, {"user app on >pw ~* &* +@all"}};
    lab at{server};
    auto settings = at.settings();
    settings.username = "app";
    settings.password = "pw";
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("told");
        {
            hold const held = co_await lock{c.client, name}.acquire({.lease = 1s});
            server.ask("ACL", "SETUSER", "app", "-hdel", "-del");
        }
        bool const settled = co_await eventually([&] { return c.client.stats().keys == 0; });
        BOOST_TEST(settled);
        BOOST_TEST(c.log->count("release") > 0U, c.log->all());
        server.ask("ACL", "SETUSER", "app", "+@all");
        bool const over = co_await eventually([&] { return !exists(server, name); });
        BOOST_TEST(over);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
