// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What callers can do wrong, and how they can leave: nothing may stay behind.
#include "integration/suites.hpp"
#include "support/patience.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(holds)

BOOST_AUTO_TEST_CASE(an_empty_hold_or_one_moved_from)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        hold empty;
        hold from = co_await lock{c.client, unique_name("moved")}.acquire();
        hold const to = std::move(from);
        auto const calls = server.script_calls();
        for (hold* each : {&empty, &from}) {
            auto const [released] = co_await each->release(tuple);
            BOOST_TEST(released == error::not_held);
            auto const [extended] = co_await each->extend(1s, tuple);
            BOOST_TEST(extended == error::not_held);
            auto const [lost] = co_await each->lost(tuple);
            BOOST_TEST(lost == error::not_held);
            BOOST_TEST(!*each);
            BOOST_TEST(!each->valid_for(0ms));
            BOOST_TEST(each->fencing_token() == 0U);
            BOOST_TEST(!each->stop_token().stop_possible());
        }
        BOOST_TEST(server.script_calls() == calls);
        BOOST_TEST(bool{to});
    });
}

BOOST_AUTO_TEST_CASE(released_twice)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, unique_name("second")}.acquire();
        auto const until = held.stop_token();
        co_await held.release();
        auto const calls = server.script_calls();
        auto const [again] = co_await held.release(tuple);
        BOOST_TEST(!again);
        auto const [extended] = co_await held.extend(1s, tuple);
        BOOST_TEST(extended == error::not_held);
        auto const [lost] = co_await held.lost(tuple);
        BOOST_TEST(lost == asio::error::operation_aborted);
        BOOST_TEST(server.script_calls() == calls);
        BOOST_TEST(!until.stop_requested());
        BOOST_TEST(!held);
    });
}

BOOST_DATA_TEST_CASE(released_when_gone_at_the_server, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 30s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("gone")};
        hold held = co_await mine.acquire();
        server.ask("DEL", mine.name());
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
        hold extended = co_await mine.acquire();
        server.ask("DEL", mine.name());
        auto const [ec] = co_await extended.extend(10s, tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(!extended);
        BOOST_TEST(!exists(server, mine.name()));
    });
}

BOOST_DATA_TEST_CASE(re_entry_on_a_key_that_has_vanished, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 30s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("vanished")};
        owner const me;
        hold held = co_await mine.acquire({.as = me});
        server.ask("DEL", mine.name());
        auto const [ec, inner] = co_await mine.acquire({.as = me}, tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(!inner);
        BOOST_TEST(!held);
        BOOST_TEST(!exists(server, mine.name()));
        auto const count = co_await mine.hold_count(me);
        BOOST_TEST(count == 0);
    });
}

// The margin of the lease that is asked for is more than what is left of the one that runs.
BOOST_DATA_TEST_CASE(extended_from_short_to_long_and_back, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("extend")};
        hold renewed = co_await mine.acquire();
        hold leased = co_await lock{c.client, unique_name("extend")}.acquire({.lease = 300ms});
        for (hold* each : {&renewed, &leased}) {
            co_await each->extend(20s);
            BOOST_TEST(bool{*each});
            BOOST_TEST(each->valid_for(19s));
        }
        BOOST_TEST(server.ask("PTTL", mine.name()).number > 19'000);
        co_await renewed.extend(200ms);
        BOOST_TEST(server.ask("PTTL", mine.name()).number <= 200);
        auto const until = renewed.valid_until();
        bool const goes_on = co_await eventually([&] { return renewed.valid_until() > until; });
        BOOST_TEST(goes_on);
        co_await leased.extend(200ms);
        auto const [lost] = co_await leased.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!lost);
        BOOST_TEST(bool{renewed});
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_acquire_leaves_nothing, each_server(), kind)
{
    auto& server = shared_server(kind);
    proxy network{server.port()};
    lab at{server};
    auto& a = at.connect();
    auto settings = quick(server.by_port());
    settings.addresses.front().port = network.port();
    settings.lease = 3s;
    auto& b = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const of_a{a.client, unique_name("cancel")}, of_b{b.client, of_a.name()};
        auto const left = [&] {
            auto const s = b.client.stats();
            return s.waiters + s.keys + s.holds + s.subscriptions + s.owed_releases;
        };
        // While it waits for somebody else.
        hold held = co_await of_a.acquire();
        auto const [waited, none] = co_await of_b.acquire(asio::cancel_after(50ms, tuple));
        BOOST_TEST(waited == asio::error::operation_aborted);
        BOOST_TEST(b.client.stats().waiters == 0U);
        bool const clean = co_await eventually([&] { return left() == 0; });
        BOOST_TEST(clean);
        bool const unsubscribed =
            co_await eventually([&] { return server.ask("PUBSUB", "CHANNELS").items.empty(); });
        BOOST_TEST(unsubscribed);
        co_await held.release();
        // While its script is under way: it ends before the answer comes, and the release follows.
        network.hold_back(proxy::way::to_client);
        auto const [sent, nothing] = co_await of_b.acquire(asio::cancel_after(20ms, tuple));
        BOOST_TEST(sent == asio::error::operation_aborted);
        bool const taken = co_await eventually([&] { return exists(server, of_b.name()); });
        BOOST_TEST(taken);  // it was too late to take it back
        network.let_through();
        bool const undone =
            co_await eventually([&] { return left() == 0 && !exists(server, of_b.name()); });
        BOOST_TEST(undone);
    });
}

// The queue behind a hold of the same client: who leaves must not keep the channel subscribed.
BOOST_AUTO_TEST_CASE(a_cancelled_acquire_behind_a_hold_of_its_own_client)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const of_a{a.client, unique_name("behind")}, of_b{b.client, of_a.name()};
        hold first = co_await of_a.acquire();
        hold second;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { second = co_await of_b.acquire(); });
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] = co_await of_b.acquire(asio::cancel_after(100ms, tuple));
            BOOST_TEST(ec == asio::error::operation_aborted);
        });
        co_await eventually([&] { return is_waiting(b.client, of_b.name()); });
        co_await first.release();
        co_await all.join(2s);
        BOOST_TEST(bool{second});
        bool const unsubscribed =
            co_await eventually([&] { return b.client.stats().subscriptions == 0; });
        BOOST_TEST(unsubscribed);
    });
}

BOOST_DATA_TEST_CASE(destroyed_without_a_release, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("dropped")};
        {
            hold const held = co_await mine.acquire();
            BOOST_TEST(exists(server, mine.name()));
        }
        bool const freed = co_await eventually([&] { return !exists(server, mine.name()); });
        BOOST_TEST(freed);
        bool const forgotten = co_await eventually([&] { return c.client.stats().keys == 0; });
        BOOST_TEST(forgotten);
        BOOST_TEST(c.client.stats().holds == 0U);
        // A hold that takes the place of another releases that one.
        hold held = co_await mine.acquire();
        lock const other{c.client, unique_name("dropped")};
        held = co_await other.acquire();
        bool const also = co_await eventually([&] { return !exists(server, mine.name()); });
        BOOST_TEST(also);
        BOOST_TEST(exists(server, other.name()));
    });
}

BOOST_DATA_TEST_CASE(forced_by_another, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = at.settings();
    settings.lease = 3s;
    auto& a = at.connect(settings);
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const of_a{a.client, unique_name("forced")}, of_b{b.client, of_a.name()};
        hold of_own = co_await of_a.acquire();
        bool const forced = co_await of_a.force_release();
        BOOST_TEST(forced);
        BOOST_TEST(!of_own);  // at once: its own client did it
        hold held = co_await of_a.acquire();
        hold next;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { next = co_await of_b.acquire(); });
        co_await eventually([&] { return is_waiting(b.client, of_b.name()); });
        auto const until = held.valid_until();
        bool const again = co_await of_b.force_release();
        BOOST_TEST(again);
        auto const [lost] = co_await held.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!lost);
        BOOST_TEST((hold::clock::now() < until));  // at its next renewal
        co_await all.join(2s);
        BOOST_TEST(bool{next});
        BOOST_TEST(next.fencing_token() > held.fencing_token());
        bool const free = co_await lock{a.client, unique_name("forced")}.force_release();
        BOOST_TEST(!free);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
