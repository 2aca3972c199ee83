// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/subscription_table.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using decide::subscription_table;
using state = subscription_table::state;
using names = std::vector<std::string>;
using decide::time_point;

constexpr auto linger = 1s;
time_point const start{1'000s};

/// The server's side, and what the manager would do: one change at a time, confirmed or refused.
struct link_of_table {
    subscription_table table{linger};
    time_point now = start;
    std::set<std::string> bad;
    std::set<std::string> subscribed;
    std::multiset<std::string> waiting;
    subscription_table::change under_way;
    names refused;
    int changes = 0;
    bool up = false;

    state add(std::string const& channel)
    {
        waiting.insert(channel);
        return table.add(channel, now);
    }
    void remove(std::string const& channel)
    {
        waiting.erase(waiting.find(channel));
        table.remove(channel, now);
    }
    void connect()
    {
        up = true;
        table.link_up();
    }
    void disconnect()
    {
        up = false;
        under_way = {};
        subscribed.clear();
        table.link_down();
    }

    /// Takes the next change; true if there is one.
    bool ask()
    {
        auto next = table.next_change(now);
        if (next.empty())
            return false;
        BOOST_TEST_REQUIRE(up);
        BOOST_TEST_REQUIRE(under_way.empty());
        ++changes;
        for (auto const& channel : next.subscribe)
            BOOST_TEST_REQUIRE(!subscribed.contains(channel), channel << " is subscribed twice");
        for (auto const& channel : next.unsubscribe)
            BOOST_TEST_REQUIRE(!waiting.contains(channel), channel << " is waited for");
        under_way = std::move(next);
        return true;
    }

    /// The server's answer to the change under way.
    void answer()
    {
        auto const asked = std::exchange(under_way, {});
        for (auto const& channel : asked.subscribe) {
            if (bad.contains(channel)) {
                table.refuse(channel, now + subscription_table::refusal_memory);
                refused.push_back(channel);
                continue;
            }
            subscribed.insert(channel);
            BOOST_TEST_REQUIRE(table.confirm(channel) == waiting.contains(channel));
        }
        for (auto const& channel : asked.unsubscribe)
            subscribed.erase(channel);
        table.change_done();
    }

    /// The server ends a subscription by itself.
    void end(std::string channel)
    {
        bool const was_live = subscribed.erase(channel) == 1;
        BOOST_TEST_REQUIRE(table.end_by_server(channel) == was_live);
    }

    void settle()
    {
        for (int turns = 0; ask(); ++turns) {
            BOOST_TEST_REQUIRE(turns < 200);
            answer();
        }
    }
};

BOOST_AUTO_TEST_SUITE(decide_subscription_table)

BOOST_AUTO_TEST_CASE(nothing_is_asked_while_the_link_is_down)
{
    link_of_table link;
    BOOST_TEST((link.add("a") == state::wanted));
    BOOST_TEST(!link.ask());
    link.connect();
    BOOST_TEST(link.ask());
    BOOST_TEST((link.under_way.subscribe == names{"a"}));
    BOOST_TEST((link.add("a") == state::asked));
    link.answer();
    BOOST_TEST((link.add("a") == state::live));
    BOOST_TEST(!link.ask());
}

BOOST_AUTO_TEST_CASE(what_comes_while_a_change_is_under_way_goes_with_the_next)
{
    link_of_table link;
    link.connect();
    link.add("a");
    link.ask();
    link.add("b");
    link.add("c");
    BOOST_TEST(!link.ask());
    link.answer();
    BOOST_TEST(link.ask());
    BOOST_TEST((link.under_way.subscribe == names{"b", "c"}));
}

BOOST_AUTO_TEST_CASE(the_last_waiter_leaves_the_channel_to_linger)
{
    link_of_table link;
    link.connect();
    link.add("a");
    link.add("a");
    link.settle();
    link.remove("a");
    BOOST_TEST((link.table.next_expiry() == time_point::max()));
    link.remove("a");
    BOOST_TEST((link.table.next_expiry() == start + linger));
    link.now += linger - 1ms;
    BOOST_TEST(!link.ask());
    BOOST_TEST(link.table.in_use() == 1U);
    link.now += 1ms;
    BOOST_TEST(link.ask());
    BOOST_TEST((link.under_way.unsubscribe == names{"a"}));
    BOOST_TEST(link.table.in_use() == 0U);
}

BOOST_AUTO_TEST_CASE(who_comes_back_within_the_linger_finds_it_live)
{
    link_of_table link;
    link.connect();
    link.add("a");
    link.settle();
    link.remove("a");
    link.now += linger / 2;
    BOOST_TEST((link.add("a") == state::live));
    link.now += linger;
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
    link.remove("a");
    link.now += linger / 2;  // the first expiry is past, the second is not
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
}

BOOST_AUTO_TEST_CASE(a_channel_dropped_before_it_was_asked_for_is_not_asked_for)
{
    link_of_table link;
    link.add("a");
    link.remove("a");
    link.now += linger;
    link.connect();
    BOOST_TEST(!link.ask());
    BOOST_TEST(link.table.in_use() == 0U);
}

BOOST_AUTO_TEST_CASE(a_new_link_restores_all_even_what_lingers)
{
    link_of_table link;
    link.connect();
    for (auto const* channel : {"a", "b", "c"})
        link.add(channel);
    link.settle();
    link.remove("c");
    link.disconnect();
    BOOST_TEST(!link.ask());
    link.connect();
    link.settle();
    BOOST_TEST((link.subscribed == std::set<std::string>{"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_bad_channel_stops_no_other)
{
    link_of_table link;
    link.connect();
    link.bad = {"ch13"};
    for (int i = 0; i != 64; ++i)
        link.add("ch" + std::to_string(i));
    link.settle();
    BOOST_TEST((link.refused == names{"ch13"}));
    BOOST_TEST(link.subscribed.size() == 63U);
    BOOST_TEST(link.changes == 1);
    BOOST_TEST((link.add("ch13") == state::refused));
    BOOST_TEST(!link.ask());
}

BOOST_AUTO_TEST_CASE(what_the_server_ends_is_asked_for_again)
{
    link_of_table link;
    link.connect();
    link.add("a");
    link.settle();
    BOOST_TEST(link.table.is_live("a"));
    link.end("a");
    BOOST_TEST(!link.table.is_live("a"));
    BOOST_TEST((link.add("a") == state::wanted));
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
    BOOST_TEST(link.changes == 2);
    BOOST_TEST(!link.table.end_by_server("never heard of"));
    // One that only lingers is not, until somebody comes.
    link.remove("a");
    link.remove("a");
    link.end("a");
    BOOST_TEST(!link.ask());
    BOOST_TEST((link.add("a") == state::wanted));
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_remembered_for_half_a_minute)
{
    link_of_table link;
    link.connect();
    link.bad = {"a"};
    link.add("a");
    link.settle();
    BOOST_TEST(link.changes == 1);
    link.remove("a");
    link.now += subscription_table::refusal_memory - 1ms;
    BOOST_TEST((link.add("a") == state::refused));
    link.settle();
    BOOST_TEST(link.changes == 1);
    link.bad.clear();
    link.now += 1ms;
    BOOST_TEST((link.add("a") == state::wanted));
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
}

BOOST_AUTO_TEST_CASE(a_refused_channel_that_is_waited_for_is_tried_again)
{
    link_of_table link;
    link.connect();
    link.bad = {"a"};
    link.add("a");
    link.settle();
    link.bad.clear();
    BOOST_TEST((link.table.next_expiry() == link.now + subscription_table::refusal_memory));
    link.now += subscription_table::refusal_memory;
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));
}

BOOST_AUTO_TEST_CASE(a_channel_that_comes_and_goes_is_listed_once)
{
    link_of_table link;
    link.connect();
    for (int i = 0; i != 100; ++i) {
        link.add("a");
        link.settle();
        link.remove("a");
        link.now += 1ms;
    }
    link.now = start + linger;
    link.settle();
    BOOST_TEST(link.subscribed.contains("a"));  // its last waiter went 901 ms ago
    BOOST_TEST((link.table.next_expiry() == start + 99ms + linger));
    link.now = start + 99ms + linger;
    link.settle();
    BOOST_TEST(link.subscribed.empty());
}

BOOST_AUTO_TEST_CASE(a_refused_channel_that_nobody_wants_is_forgotten)
{
    link_of_table link;
    link.connect();
    link.bad = {"a"};
    link.add("a");
    link.settle();
    BOOST_TEST(link.table.in_use() == 1U);
    link.remove("a");
    BOOST_TEST(link.table.in_use() == 0U);  // it is only remembered
    BOOST_TEST((link.add("a") == state::refused));
    BOOST_TEST(link.table.in_use() == 1U);
    link.remove("a");
    link.now += subscription_table::refusal_memory;
    link.settle();
    BOOST_TEST(link.table.in_use() == 0U);
    BOOST_TEST((link.add("a") == state::wanted));
    BOOST_TEST(link.table.in_use() == 1U);
}

BOOST_AUTO_TEST_CASE(whatever_happens_what_is_wanted_is_subscribed_in_the_end)
{
    random_numbers random;
    for (int round = 0; round != 150; ++round)
        BOOST_TEST_CONTEXT("seed " << random.seed() << " round " << round)
        {
            link_of_table link;
            auto const channel = [&] { return "ch" + std::to_string(random.below(20)); };
            for (int turn = 0; turn != 300; ++turn)
                switch (random.below(10)) {
                case 0:
                case 1:
                case 2: link.add(channel()); break;
                case 3:
                case 4:
                    if (auto const name = channel(); link.waiting.contains(name))
                        link.remove(name);
                    break;
                case 5:
                case 6:
                    if (link.up && link.under_way.empty())
                        link.ask();
                    break;
                case 7:
                    if (!link.under_way.empty())
                        link.answer();
                    break;
                case 8:
                    if (link.under_way.empty() && !link.subscribed.empty() && random.one_in(3))
                        link.end(*link.subscribed.begin());
                    link.now += std::chrono::milliseconds{random.below(700)};
                    break;
                default:
                    if (random.one_in(3))
                        link.up ? link.disconnect() : link.connect();
                    else if (random.one_in(4))
                        random.one_in(2) ? link.bad.clear()
                                         : static_cast<void>(link.bad.insert(channel()));
                }

            // Quiet: nothing is bad any more, and what was is tried again.
            link.bad.clear();
            if (!link.up)
                link.connect();
            auto const before = link.changes;
            if (!link.under_way.empty())
                link.answer();
            link.settle();
            BOOST_TEST(link.changes - before < 80);
            while (link.table.next_expiry() != time_point::max()) {
                BOOST_TEST_REQUIRE((link.table.next_expiry() <= link.now + 31s));
                link.now = std::max(link.now, link.table.next_expiry());
                link.settle();
            }
            std::set<std::string> const wanted(link.waiting.begin(), link.waiting.end());
            BOOST_TEST_REQUIRE(link.subscribed == wanted);
            BOOST_TEST_REQUIRE(link.table.in_use() == wanted.size());
            BOOST_TEST_REQUIRE(!link.ask());
        }
}

BOOST_AUTO_TEST_CASE(a_confirmation_before_the_channel_is_asked_for_is_of_an_earlier_subscription)
{
    subscription_table table{linger};
    table.link_up();
    BOOST_TEST((table.add("c", start) != state::live));
    BOOST_TEST(!table.confirm("c"));
    BOOST_TEST((table.add("c", start) != state::live));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
