// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that belongs to a thread.
#include "replay/replay.hpp"

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(ownership)

BOOST_DATA_TEST_CASE(only_the_thread_that_locked_may_unlock, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("thread")};
        hold held = co_await mine.acquire();
        std::atomic<bool> done = false;
        error_code result = error::not_held;
        std::thread other{[&, given = std::move(held)]() mutable {
            auto const [ec] = given.release(asio::as_tuple(asio::use_future)).get();
            result = ec;
            done = true;
        }};
        bool const released = co_await eventually([&] { return done.load(); });
        BOOST_TEST(released);
        other.join();
        BOOST_TEST(!result, result.message());
        BOOST_TEST(!exists(at.server(), mine.name()));
    });
}

BOOST_DATA_TEST_CASE(two_tasks_of_a_thread_mix_up_their_tokens, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("tasks")};
        section critical;
        std::vector<std::string> fields;
        tasks all{at.context()};
        for (int i = 0; i != 4; ++i)
            all.start([&]() -> asio::awaitable<void> {
                hold held = co_await shared.acquire({.lease = 5s});
                fields.push_back(at.server().ask("HKEYS", shared.name()).items.at(0).text);
                co_await critical.stay(5ms);
                auto const [ec] = co_await held.release(tuple);
                BOOST_TEST(!ec, ec.message());
            });
        co_await all.join(5s);
        BOOST_TEST(critical.visits() == 4);
        BOOST_TEST(fields.size() == 4U);
    });
}

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
        auto const third = co_await shared.try_acquire();
        BOOST_TEST(!third.has_value());
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

BOOST_DATA_TEST_CASE(reentry_shortens_the_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("shortens")};
        owner const me;
        auto const left = [&] { return at.server().ask("PTTL", mine.name()).number; };
        hold outer = co_await mine.acquire({.lease = 30s, .as = me});
        hold inner = co_await mine.acquire({.lease = 200ms, .as = me});
        BOOST_TEST(left() > 20'000);
        co_await inner.lost();  // alone
        BOOST_TEST(bool{outer});
        co_await inner.release(tuple);
        BOOST_TEST(left() > 20'000);
        BOOST_TEST(outer.valid_for(20s));
        co_await outer.release();
        BOOST_TEST(!exists(at.server(), mine.name()));
    });
}

BOOST_DATA_TEST_CASE(reentry_ends_the_renewal_of_the_outer_hold, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 900ms));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("outer")};
        owner const me;
        hold outer = co_await mine.acquire({.as = me});
        hold inner = co_await mine.acquire({.lease = 100ms, .as = me});
        co_await inner.release();
        for (int i = 0; i != 4; ++i) {  // more than the lease
            auto const until = outer.valid_until();
            bool const renewed = co_await eventually([&] { return outer.valid_until() > until; });
            BOOST_TEST(renewed);
        }
        BOOST_TEST(bool{outer});
    });
}

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
        bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
        BOOST_TEST(renewed);
        BOOST_TEST(left() <= 1'000);
    });
}

template <class Lock>
asio::awaitable<void> enter_twice(running_client& c)  // NOLINT(*-reference-coroutine-*)
{
    Lock const mine{c.client, unique_name("token")};
    owner const me;
    fence resource;
    hold outer = co_await mine.acquire({.as = me});
    hold inner = co_await mine.acquire({.as = me});
    BOOST_TEST(inner.fencing_token() == outer.fencing_token());
    BOOST_TEST(resource.admit(inner.fencing_token()));
    BOOST_TEST(resource.admit(outer.fencing_token()));
    co_await inner.release();
    co_await outer.release();
    hold next = co_await mine.acquire();
    BOOST_TEST(next.fencing_token() > outer.fencing_token());
    BOOST_TEST(resource.admit(next.fencing_token()));
    BOOST_TEST(!resource.admit(outer.fencing_token()));
    co_await next.release();
}

BOOST_DATA_TEST_CASE(the_outer_hold_is_refused_after_the_inner_has_written, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        co_await enter_twice<lock>(c);
        co_await enter_twice<fenced_lock>(c);
        co_await enter_twice<fair_lock>(c);
    });
}

BOOST_DATA_TEST_CASE(a_lease_that_is_asked_for_is_ignored, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        fenced_lock const mine{c.client, unique_name("ignored")};
        hold held = co_await mine.acquire({.lease = 20s});
        auto const left = at.server().ask("PTTL", mine.name()).number;
        BOOST_TEST(left > 10'000);
        BOOST_TEST(left <= 20'000);
        BOOST_TEST(!held.valid_for(20s));
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
