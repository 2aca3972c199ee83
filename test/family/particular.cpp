// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What some kinds of locks have and others have not.
#include "family/kinds.hpp"
#include "integration/suites.hpp"
#include "support/cancel_after.hpp"

#include <array>
#include <string>
#include <vector>

namespace colock::test {

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
            BOOST_TEST(co_await mine.token() == expected);
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
        co_await eventually([&] { return is_waiting(holder.client, name); });
        co_await next.release();
        co_await waiting.join(5s);
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
    auto& c = at.connect(brief(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("parts");
        multi_lock const mine{lock{c.client, name + "a"}, lock{c.client, name + "b"}};
        BOOST_TEST(mine.name() == name + "a," + name + "b");
        hold held = co_await mine.acquire();
        BOOST_TEST(held.fencing_token() == held.fencing_token(0));
        BOOST_TEST(held.fencing_token(1) != 0U);
        BOOST_TEST(held.fencing_token(2) == 0U);
        at.server().ask("DEL", name + "b");
        co_await held.lost(asio::cancel_after(10s));
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
        &at.connect(brief(first.by_socket())),
        &at.connect(brief(second.by_socket())),
        &at.connect(brief(third.by_socket()))};
    at.run_only([&]() -> asio::awaitable<void> {
        auto const name = unique_name("red");
        std::vector<lock> parts;
        for (auto* c : clients)
            parts.emplace_back(c->client, name);
        red_lock const mine{parts, 300ms};
        hold held = co_await mine.acquire();
        third.kill();
        co_await ever([&] { return !held; }, 1s);
        BOOST_TEST(bool{held});
        BOOST_TEST(held.valid_for(50ms));
        co_await held.release();
        hold again = co_await mine.acquire();
        BOOST_TEST(bool{again});
        second.kill();
        co_await again.lost(asio::cancel_after(10s));
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

// Names of every sort, for every object: what is made of them belongs together.

/// What the longest name leaves room for, where a test makes others of it.
constexpr std::size_t longest_made = 9'990;

static std::vector<std::string> odd_names()
{
    return {
        "{tag}:order",
        "a{b}c{d",
        "a{b",
        "a}b{",
        "x{}",
        "with spaces and %25",
        "line\nbreak",
        "\xc3\xa4\xe2\x82\xac",
        "\xff\xfe\x80",
        "n",
        std::string(longest_made, 'n')};
}

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE_TEMPLATE(of_locks, Kind, exclusive)
{
    lab at{shared_server(installed_servers().front())};
    auto& one = at.connect();
    auto& two = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : odd_names()) {
            BOOST_TEST_INFO_SCOPE("name: " << name.substr(0, 20));
            hold held = co_await Kind::of(one.client, name).acquire();
            tasks waiting{at.context()};
            waiting.start([&]() -> asio::awaitable<void> {
                hold next = co_await Kind::of(two.client, name).acquire();
                co_await next.release();
            });
            bool const waits = co_await eventually([&] { return two.client.stats().waiters != 0; });
            BOOST_TEST(waits);
            co_await held.release();
            co_await waiting.join(4s);  // the poll cap is more
            for (auto const& key : Kind::keys(name))
                BOOST_TEST(!exists(at.server(), key));
        }
    });
}

BOOST_AUTO_TEST_CASE(of_readers)
{
    lab at{shared_server(installed_servers().front())};
    auto& one = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : odd_names()) {
            BOOST_TEST_INFO_SCOPE("name: " << name.substr(0, 20));
            read_write_lock const mine{one.client, name};
            hold first = co_await mine.read().acquire();
            hold second = co_await mine.read().acquire();
            auto const none = co_await mine.write().try_acquire();
            BOOST_TEST(!none.has_value());
            co_await first.release();
            co_await second.release();
            BOOST_TEST(!exists(at.server(), name));
        }
    });
}

BOOST_AUTO_TEST_CASE(of_counters)
{
    lab at{shared_server(installed_servers().front())};
    auto& one = at.connect();
    auto& two = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : odd_names()) {
            BOOST_TEST_INFO_SCOPE("name: " << name.substr(0, 20));
            semaphore const mine{one.client, name}, other{two.client, name};
            co_await mine.try_set_permits(1);
            co_await mine.acquire();
            tasks waiting{at.context()};
            waiting.start([&]() -> asio::awaitable<void> { co_await other.acquire(); });
            co_await eventually([&] { return two.client.stats().waiters != 0; });
            co_await mine.release();
            co_await waiting.join(4s);
            at.server().ask("DEL", name);

            permit_semaphore const seats{one.client, name};
            co_await seats.try_set_permits(1);
            permit seat = co_await seats.acquire();
            auto const left = co_await seats.available();
            BOOST_TEST(left == 0);
            co_await seat.release();
            at.server().ask("FLUSHALL");

            countdown_latch const gate{one.client, name}, seen{two.client, name};
            co_await gate.try_set_count(1);
            waiting.start([&]() -> asio::awaitable<void> { co_await seen.wait(); });
            co_await eventually([&] { return two.client.stats().waiters != 0; });
            co_await gate.count_down();
            co_await waiting.join(4s);
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
