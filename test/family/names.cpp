// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Names of every sort, for every object: what is made of them belongs together.
#include "family/kinds.hpp"
#include "integration/suites.hpp"

#include <string>
#include <vector>

namespace colock::test {

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
