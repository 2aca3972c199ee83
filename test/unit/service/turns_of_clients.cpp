// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Turns between the clients that want a lock.
#include "unit/service/served_crowd.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_turns, served_crowd)

BOOST_AUTO_TEST_CASE(where_others_wait_the_releaser_stands_back)
{
    redis.others = 3;
    inside().round_trip().note(800us);
    fill(1);
    time.advance(10ms);
    release_of(0);
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(!got[1].is_done());
    time.advance(10ms);
    BOOST_TEST(got[1].succeeded());
}

BOOST_AUTO_TEST_CASE(its_own_message_does_not_end_that)
{
    redis.others = 3;
    inside().round_trip().note(1ms);
    fill(1);
    time.advance(10ms);
    release_of(0);  // the fake publishes to us as well
    BOOST_TEST(!got[1].is_done());
    publish(channel());  // somebody came, and has released
    BOOST_TEST(got[1].is_done() == false);
    time.advance(5ms);  // two places ahead of us
    BOOST_TEST(got[1].succeeded());
}

// What the process slept through, or waited for replicas, is no round trip.
BOOST_AUTO_TEST_CASE(a_pause_does_not_make_all_delays_long)
{
    inside().round_trip().note(100us);
    for (int i = 0; i != 24; ++i)
        inside().round_trip().note(3s);
    BOOST_TEST((inside().round_trip().usual() < 2ms));
    for (int i = 0; i != 24; ++i)
        inside().round_trip().note(100us);
    BOOST_TEST((inside().round_trip().usual() < 250us));
}

BOOST_AUTO_TEST_CASE(waiting_for_replicas_is_no_part_of_a_round_trip)
{
    inside().round_trip().note(100us);
    auto const serve = server->serve;
    server->serve = {};
    auto& slow = server->expect(scripts::acquire);
    auto waits = acquire({.sync_replicas = 1});
    time.advance(150ms);
    respond(slow, granted(1));
    BOOST_TEST(waits.succeeded());
    BOOST_TEST((inside().round_trip().usual() == 100us));
    server->serve = serve;
}

BOOST_AUTO_TEST_CASE(who_comes_back_at_once_stands_back_too)
{
    redis.others = 3;
    inside().round_trip().note(1ms);
    fill(1);
    release_of(0);
    release_of(1);
    auto again = acquire();
    BOOST_TEST(!again.is_done());
    time.advance(10ms);
    BOOST_TEST(again.succeeded());
}

BOOST_AUTO_TEST_CASE(who_tries_once_does_not_stand_back)
{
    redis.others = 3;
    inside().round_trip().note(1ms);
    fill(0);
    release_of(0);
    auto once = try_acquire();
    BOOST_TEST_REQUIRE(once.gave_something());
}

BOOST_AUTO_TEST_CASE(a_short_wait_is_not_spent_standing_back)
{
    redis.others = 7;
    inside().round_trip().note(1ms);
    fill(0);
    release_of(0);
    auto soon = try_for(2ms);
    BOOST_TEST_REQUIRE(soon.gave_something());
}

BOOST_AUTO_TEST_CASE(alone_the_next_tenure_begins_at_once)
{
    inside().round_trip().note(1ms);
    fill(1);
    time.advance(10ms);
    release_of(0);
    BOOST_TEST(got[1].succeeded());
}

// A subscription that nobody needs any more is heard for a while: by us.
BOOST_AUTO_TEST_CASE(what_lingers_is_nobody_else)
{
    inside().round_trip().note(1ms);
    redis.occupy("k", 5ms);
    auto first = acquire();
    time.advance(10ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST(server->subscribed().contains(channel()));
    release(first.value());
    BOOST_TEST(acquire().succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
