// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/courtesy.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using namespace std::chrono_literals;
using colock::decide::courtesy;
using colock::decide::time_point;

constexpr time_point begin{1h};

BOOST_AUTO_TEST_SUITE(decide_courtesy)

BOOST_AUTO_TEST_CASE(where_nobody_listens_there_is_nothing_to_wait_for)
{
    courtesy with;
    BOOST_TEST((with.ask_at(begin, false, 10ms) == begin));
}

BOOST_AUTO_TEST_CASE(it_waits_for_four_round_trips_or_a_millisecond)
{
    courtesy distant, close;
    BOOST_TEST((distant.ask_at(begin, true, 2ms) == begin + 8ms));
    BOOST_TEST((close.ask_at(begin, true, 20us) == begin + 1ms));
}

// A mere watcher listens for ever.
BOOST_AUTO_TEST_CASE(in_vain_it_waits_more_and_more_seldom)
{
    courtesy with;
    auto now = begin;
    int pauses = 0;
    for (auto gap = 2ms; gap < 1s; gap *= 2) {
        now = with.ask_at(now, true, 0ms);
        BOOST_TEST((with.ask_at(now + gap - 1us, true, 0ms) == now + gap - 1us));
        now += gap;
        ++pauses;
    }
    BOOST_TEST(pauses == 9);
    now = with.ask_at(now, true, 0ms);
    for (int i = 0; i != 3; ++i) {  // it stays at a second
        BOOST_TEST((with.ask_at(now + 999ms, true, 0ms) == now + 999ms));
        now = with.ask_at(now + 1s, true, 0ms);
    }
}

BOOST_AUTO_TEST_CASE(who_has_met_a_foreigner_waits_soon_again)
{
    courtesy with;
    auto now = begin;
    for (int i = 0; i != 20; ++i)
        now = with.ask_at(now, true, 0ms) + 1s;
    now = with.ask_at(now, true, 0ms);
    with.met_foreigner(now);
    BOOST_TEST((with.ask_at(now + 1ms, true, 0ms) == now + 1ms));
    BOOST_TEST((with.ask_at(now + 2ms, true, 0ms) == now + 3ms));
    BOOST_TEST((with.ask_at(now + 6ms, true, 0ms) == now + 7ms));
}

BOOST_AUTO_TEST_CASE(a_pause_ends_before_the_turn_does)
{
    BOOST_TEST((courtesy::pause(0ms) == 1ms));
    BOOST_TEST((courtesy::pause(1ms) == 4ms));
    BOOST_TEST((courtesy::pause(1s) == 50ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
