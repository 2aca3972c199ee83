// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/outage.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace colock::test {

namespace {

using decide::outage;
using namespace std::chrono_literals;

struct away {
    decide::time_point const start = decide::time_point{} + 1h;
    outage of;
};

BOOST_FIXTURE_TEST_SUITE(decide_outage, away)

BOOST_AUTO_TEST_CASE(the_first_connection_is_no_news)
{
    of.link_up(0, start);
    BOOST_TEST(!of.is_to_be_told());
}

BOOST_AUTO_TEST_CASE(it_waits_for_the_answers)
{
    of.link_down(0, start, 4);
    BOOST_TEST(!of.is_to_be_told());
    of.link_up(0, start + 1'600ms);
    BOOST_TEST_REQUIRE(of.is_to_be_told());
    auto const look = of.next_look();
    BOOST_TEST(!of.tell(look, {.confirmed = 1, .open = 2}, 4));
    BOOST_TEST((of.next_look() > look));
    BOOST_TEST(
        of.tell(of.next_look(), {.confirmed = 3}, 5).value() ==
        "connected again after 1.6 s; 3 holds confirmed, 1 lost"
    );
    BOOST_TEST(!of.is_to_be_told());
}

BOOST_AUTO_TEST_CASE(it_does_not_wait_for_ever)
{
    of.link_down(0, start, 0);
    of.link_up(0, start + 1s);
    int looks = 0;
    auto told = of.tell(of.next_look(), {.confirmed = 1, .open = 2}, 0);
    for (; !told; ++looks)
        told = of.tell(of.next_look(), {.confirmed = 1, .open = 2}, 0);
    BOOST_TEST(looks < 10);
    BOOST_TEST(
        *told == "connected again after 1.0 s; 1 hold confirmed, 0 lost, 2 not answered yet"
    );
}

BOOST_AUTO_TEST_CASE(a_client_without_holds_has_only_the_time)
{
    of.link_down(0, start, 7);
    of.link_up(0, start + 1'100ms);
    BOOST_TEST(of.tell(of.next_look(), {}, 7).value() == "connected again after 1.1 s");
}

BOOST_AUTO_TEST_CASE(a_short_one_is_told_if_it_has_cost_a_hold)
{
    of.link_down(0, start, 7);
    of.link_up(0, start + 100ms);
    BOOST_TEST(!of.tell(of.next_look(), {.confirmed = 1}, 7));
    BOOST_TEST(!of.is_to_be_told());
    of.link_down(0, start + 5s, 7);
    of.link_up(0, start + 5'100ms);
    BOOST_TEST(!!of.tell(of.next_look(), {.confirmed = 1}, 8));
}

BOOST_AUTO_TEST_CASE(a_connection_that_ends_at_once_does_not_end_it)
{
    of.link_down(0, start, 0);
    of.link_up(0, start + 1s);
    of.link_down(0, start + 1'010ms, 0);
    BOOST_TEST(!of.is_to_be_told());
    of.link_up(0, start + 2s);
    BOOST_TEST(of.tell(of.next_look(), {}, 0).value() == "connected again after 2.0 s");
}

BOOST_AUTO_TEST_CASE(links_that_come_together_have_one_line)
{
    of.link_down(0, start, 0);
    of.link_down(1, start + 300ms, 0);
    of.link_up(1, start + 1s);
    of.link_up(0, start + 1'010ms);
    BOOST_TEST(of.tell(of.next_look(), {}, 0).value() == "connected again after 1.0 s");
    BOOST_TEST(!of.is_to_be_told());
}

BOOST_AUTO_TEST_CASE(a_stop_ends_it)
{
    of.link_down(0, start, 0);
    of.link_up(0, start + 1s);
    of.link_down(1, start + 1s, 0);
    of.clear();
    BOOST_TEST(!of.is_to_be_told());
    of.link_up(1, start + 2s);
    BOOST_TEST(!of.is_to_be_told());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
