// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What every lock with one owner at a time can do, tried with each of them.
#include "family/kinds.hpp"
#include "integration/suites.hpp"
#include "support/child_process.hpp"

#include <boost/asio/cancel_after.hpp>

#include <array>
#include <string>
#include <vector>

namespace colock::test {

/// Two clients at one server, and a lock of this kind that no other test has.
template <class Kind>
struct family_lab : lab {
    family_lab() : lab{shared_server(installed_servers().front())} {}

    auto lock_of(running_client& at) const { return Kind::of(at.client, key); }
    bool is_any_left()
    {
        return std::ranges::any_of(Kind::keys(key), [this](auto const& name) {
            return exists(server(), name);
        });
    }
    void take_away()
    {
        for (auto const& name : Kind::keys(key))
            server().ask("DEL", name);
    }

    std::string key = unique_name(Kind::name);
    running_client& one = connect();
    running_client& two = connect();
};

BOOST_AUTO_TEST_SUITE(family)

BOOST_AUTO_TEST_CASE_TEMPLATE(one_at_a_time_of_64_tasks, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run(
        [&]() -> asio::awaitable<void> {
            section critical;
            tasks all{at.context()};
            for (int i = 0; i != 64; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    auto const mine = at.lock_of(i % 2 ? at.one : at.two);
                    for (int round = 0; round != 3; ++round) {
                        hold held = co_await mine.acquire();
                        co_await critical.stay(0ms);
                        BOOST_TEST(bool{held});
                        co_await held.release();
                    }
                });
            co_await all.join(40s);
            BOOST_TEST(critical.visits() == 64 * 3);
            BOOST_TEST(!at.is_any_left());
        },
        50s
    );
}

BOOST_AUTO_TEST_CASE_TEMPLATE(tries_once, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        if (auto const none = co_await at.lock_of(at.one).try_acquire())
            BOOST_ERROR("granted");
        if (auto const none = co_await at.lock_of(at.two).try_acquire())
            BOOST_ERROR("granted");
        co_await held.release();
        auto second = co_await at.lock_of(at.two).try_acquire();
        BOOST_TEST_REQUIRE(second.has_value());
        co_await second->release();
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_wait_that_runs_out_leaves_nothing, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        stopwatch const watch;
        if (auto const none = co_await at.lock_of(at.two).try_acquire_for(100ms))
            BOOST_ERROR("granted");
        BOOST_TEST(watch.ms() >= 99);
        co_await held.release();
        co_await eventually([&] { return !at.is_any_left(); });
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_wait_leaves_nothing, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        auto const waiting = at.lock_of(at.two);
        auto const [ec, none] = co_await waiting.acquire(asio::cancel_after(50ms, tuple));
        BOOST_TEST(ec == asio::error::operation_aborted);
        BOOST_TEST(!none);
        co_await held.release();
        co_await eventually([&] { return !at.is_any_left(); });
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_waits_gets_in, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        tasks waiting{at.context()};
        bool got = false;
        waiting.start([&]() -> asio::awaitable<void> {
            auto other = co_await at.lock_of(at.two).try_acquire_for(5s);
            got = other.has_value();
            if (other)
                co_await other->release();
        });
        co_await eventually([&] { return at.two.client.stats().waiters != 0; }, 200ms);
        BOOST_TEST(!got);
        co_await held.release();
        co_await waiting.join(5s);
        BOOST_TEST(got);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_owner_enters_again, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        owner const me;
        hold outer = co_await mine.acquire({.as = me});
        hold inner = co_await mine.acquire({.as = me});
        if (auto const count = co_await mine.hold_count(me); count != 2)
            BOOST_ERROR("counts " << count);
        BOOST_TEST(inner.fencing_token() == outer.fencing_token());
        co_await outer.release();
        BOOST_TEST(bool{inner});
        if (auto const none = co_await at.lock_of(at.two).try_acquire())
            BOOST_ERROR("granted");
        co_await inner.release();
        if (auto const count = co_await mine.hold_count(me); count != 0)
            BOOST_ERROR("counts " << count);
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_is_renewed_and_its_lease_can_be_seen, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        if (bool const flag = co_await mine.is_locked())
            BOOST_ERROR("it is");
        if (auto const none = co_await mine.remaining_lease())
            BOOST_ERROR("granted");
        hold held = co_await mine.acquire();
        auto const first = held.valid_until();
        if (bool const flag = co_await mine.is_locked(); !flag)
            BOOST_ERROR("it is not");
        auto const left = co_await mine.remaining_lease();
        BOOST_TEST_REQUIRE(left.has_value());
        BOOST_TEST((*left <= 400ms && *left > 100ms));
        co_await eventually([&] { return held.valid_until() > first + 300ms; }, 3s);
        BOOST_TEST((held.valid_until() > first + 300ms));
        BOOST_TEST(bool{held});
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_loss_is_told, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        auto const stop = held.stop_token();
        at.take_away();
        co_await held.lost(asio::cancel_after(2s));
        BOOST_TEST(!held);
        BOOST_TEST((held.valid_until() == hold::clock::time_point{}));
        co_await eventually([&] { return stop.stop_requested(); });
        BOOST_TEST(stop.stop_requested());
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(ec == error::lost);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_can_be_forced, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        if (bool const flag = co_await mine.force_release())
            BOOST_ERROR("it is");
        hold held = co_await mine.acquire();
        if (bool const flag = co_await at.lock_of(at.two).force_release(); !flag)
            BOOST_ERROR("it is not");
        if (bool const flag = co_await mine.is_locked())
            BOOST_ERROR("it is");
        co_await held.lost(asio::cancel_after(2s));
        BOOST_TEST(!held);
        auto next = co_await at.lock_of(at.two).try_acquire();
        BOOST_TEST_REQUIRE(next.has_value());
        co_await next->release();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_hold_of_a_client_that_stops_ends_with_its_lease, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire();
        at.one.client.stop();
        stopwatch const watch;
        hold next = co_await at.lock_of(at.two).acquire();
        BOOST_TEST(watch.ms() < 400 + 1'000);
        co_await next.release();
        at.one.run();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_killed_process_held_ends_with_its_lease, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        child_process doomed{
            {COLOCK_WORKER_HOLDER, "unix://" + at.server().unix_socket(), Kind::name, at.key},
            "/dev/stderr"};
        auto const wanted = at.lock_of(at.two);
        bool held = false;
        for (stopwatch watch; !held && watch.ms() < 10'000;)
            held = co_await wanted.is_locked();
        BOOST_TEST_REQUIRE(held);
        stopwatch const watch;
        doomed.kill();
        hold next = co_await wanted.acquire();
        BOOST_TEST(watch.ms() < 1'000 + 1'000);  // its lease, and what this machine needs
        co_await next.release();
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_that_is_no_lock_is_an_error, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : Kind::keys(at.key))
            at.server().ask("SET", name, "text");
        auto const [ec, none] = co_await at.lock_of(at.one).acquire(tuple);
        BOOST_TEST(ec == error::wrong_type);
        at.take_away();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_lease_of_its_own_can_be_made_longer, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await at.lock_of(at.one).acquire({.lease = 300ms});
        BOOST_TEST(!held.valid_for(1s));
        co_await held.extend(5s);
        BOOST_TEST(held.valid_for(4s));
        co_await held.release();
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// ---- What is particular ------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(family_particular)

BOOST_AUTO_TEST_CASE(tokens_of_a_fenced_lock_are_redissons)
{
    lab at{shared_server(installed_servers().front())};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        fenced_lock const mine{c.client, unique_name("fenced")};
        auto const counter = "redisson_lock_token:{" + mine.name() + "}";
        at.server().ask("SET", counter, "41");
        for (std::uint64_t expected = 42; expected != 45; ++expected) {
            hold held = co_await mine.acquire();
            BOOST_TEST(held.fencing_token() == expected);
            co_await held.release();
        }
        // Waiters of one client too: none is drawn before its time.
        hold first = co_await mine.acquire();
        tasks all{at.context()};
        std::uint64_t last = first.fencing_token();
        for (int i = 0; i != 20; ++i)
            all.start([&]() -> asio::awaitable<void> {
                hold next = co_await mine.acquire();
                BOOST_TEST(next.fencing_token() == ++last);
                BOOST_TEST(at.server().ask("GET", counter).text == std::to_string(last));
                co_await next.release();
            });
        co_await eventually([&] { return c.client.stats().waiters == 20; });
        co_await first.release();
        co_await all.join(10s);
        at.server().ask("DEL", counter);
    });
}

BOOST_AUTO_TEST_CASE(who_waits_with_a_spin_lock_subscribes_to_nothing)
{
    lab at{shared_server(installed_servers().front())};
    auto& holder = at.connect();
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("spin");
        hold held = co_await lock{holder.client, name}.acquire();
        spin_lock const mine{c.client, name};
        if (auto const none = co_await mine.try_acquire_for(300ms))
            BOOST_ERROR("granted");
        BOOST_TEST(c.client.stats().subscriptions == 0U);
        co_await held.release();
        hold next = co_await mine.acquire();
        // One that is released tells those who subscribe.
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            hold other = co_await lock{holder.client, name}.acquire();
            co_await other.release();
        });
        co_await eventually([&] { return holder.client.stats().subscriptions == 1; });
        stopwatch const watch;
        co_await next.release();
        co_await waiting.join(5s);
        BOOST_TEST(watch.ms() < 300);
    });
}

BOOST_AUTO_TEST_CASE(bad_backoffs_and_empty_groups_are_refused)
{
    lab at{shared_server(installed_servers().front())};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& bad :
             {backoff{0ms, 10ms, 2}, backoff{10ms, 9ms, 2}, backoff{1ms, 1ms, 0}}) {
            auto const [ec, none] = co_await spin_lock{c.client, "k", bad}.acquire(tuple);
            BOOST_TEST(ec == error::invalid_argument);
        }
        multi_lock const nothing{std::vector<lock>{}};
        auto const [ec, none] = co_await nothing.acquire(tuple);
        BOOST_TEST(ec == error::invalid_argument);
        auto const [also, flag] = co_await nothing.is_locked(tuple);
        BOOST_TEST(also == error::invalid_argument);
    });
}

BOOST_AUTO_TEST_CASE(multi_locks_in_opposite_orders)
{
    lab at{shared_server(installed_servers().front())};
    std::array clients{&at.connect(), &at.connect()};
    at.run(
        [&]() -> asio::awaitable<void> {
            auto const name = unique_name("opposite");
            section critical;
            tasks all{at.context()};
            for (int i = 0; i != 16; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    auto const& c = clients.at(static_cast<std::size_t>(i) % 2)->client;
                    std::vector<lock> parts{{c, name + "a"}, {c, name + "b"}, {c, name + "c"}};
                    if (i % 4 < 2)
                        std::ranges::reverse(parts);
                    multi_lock const mine{parts};
                    for (int round = 0; round != 5; ++round) {
                        hold held = co_await mine.acquire();
                        co_await critical.stay(0ms);
                        co_await held.release();
                    }
                });
            co_await all.join(30s);
            BOOST_TEST(critical.visits() == 16 * 5);
        },
        40s
    );
}

BOOST_AUTO_TEST_CASE(a_multi_lock_has_the_tokens_of_its_parts_and_is_lost_with_any)
{
    lab at{shared_server(installed_servers().front())};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("parts");
        multi_lock const mine{lock{c.client, name + "a"}, lock{c.client, name + "b"}};
        BOOST_TEST(mine.name() == name + "a," + name + "b");
        hold held = co_await mine.acquire();
        BOOST_TEST(held.fencing_token() == held.fencing_token(0));
        BOOST_TEST(held.fencing_token(1) != 0U);
        BOOST_TEST(held.fencing_token(2) == 0U);
        at.server().ask("DEL", name + "b");
        co_await held.lost(asio::cancel_after(2s));
        BOOST_TEST(!held);
        co_await held.release(tuple);
        co_await eventually([&] { return !exists(at.server(), name + "a"); });
        BOOST_TEST(!exists(at.server(), name + "a"));
    });
}

BOOST_AUTO_TEST_CASE(a_lock_may_be_named_twice)
{
    lab at{shared_server(installed_servers().front())};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("twice");
        multi_lock const mine{lock{c.client, name}, lock{c.client, name}};
        hold held = co_await mine.acquire();
        BOOST_TEST(at.server().ask("HVALS", name).items.front().text == "2");
        co_await held.release();
        BOOST_TEST(!exists(at.server(), name));
    });
}

BOOST_AUTO_TEST_CASE(both_sides_of_a_read_write_lock)
{
    lab at{shared_server(installed_servers().front())};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("sides");
        read_write_lock const sides{c.client, name};
        multi_lock const mine{sides.read(), sides.write()};
        hold held = co_await mine.acquire({.lease = 2s}, asio::cancel_after(2s));
        BOOST_TEST(held.valid_for(1'500ms));
        BOOST_TEST(at.server().ask("HGET", name, "mode").text == "write");
        co_await held.release();
        BOOST_TEST(!exists(at.server(), name));
    });
}

BOOST_AUTO_TEST_CASE(a_red_lock_outlives_a_minority_and_no_more)
{
    redis_server first{installed_servers().front()}, second{installed_servers().front()},
        third{installed_servers().front()};
    lab at{first};
    std::array clients{
        &at.connect(quick(first.by_socket())),
        &at.connect(quick(second.by_socket())),
        &at.connect(quick(third.by_socket()))};
    at.run_only([&]() -> asio::awaitable<void> {
        auto const name = unique_name("red");
        std::vector<lock> parts;
        for (auto* c : clients)
            parts.emplace_back(c->client, name);
        red_lock const mine{parts, 300ms};
        hold held = co_await mine.acquire();
        third.kill();
        co_await eventually([&] { return !held; }, 1s);
        BOOST_TEST(bool{held});
        BOOST_TEST(held.valid_for(50ms));
        co_await held.release();
        hold again = co_await mine.acquire();
        BOOST_TEST(bool{again});
        second.kill();
        co_await again.lost(asio::cancel_after(3s));
        BOOST_TEST(!again);
        auto const [ec, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST(ec == error::no_quorum);
        BOOST_TEST(!none.has_value());
        if (auto const nothing_yet = co_await mine.try_acquire_for(500ms))
            BOOST_ERROR("granted");
        co_await again.release(tuple);
        co_await eventually([&] { return !exists(first, name); }, 2s);
        BOOST_TEST(!exists(first, name));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
