// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What some kinds of locks have and others have not.
#include "family/kinds.hpp"
#include "integration/suites.hpp"

#include <string>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(family_particular)

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
            auto held = co_await Kind::of(one.client, name).acquire();
            tasks waiting{at.context()};
            waiting.start([&]() -> asio::awaitable<void> {
                auto next = co_await Kind::of(two.client, name).acquire();
                co_await next.release();
            });
            BOOST_TEST(co_await eventually([&] { return two.client.stats().waiters != 0; }));
            co_await held.release();
            co_await waiting.join(4s);  // the poll cap is more
            for (auto const& key : Kind::keys(name))
                BOOST_TEST(!exists(at.server(), key));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
