// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that others force, and what the client hears of it.
#include "locks/exclusive_lock.hpp"
#include "unit/service/group.hpp"

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_forced, served)

// The answer to force_release may be overtaken, on another link, by that of a later acquire.
BOOST_AUTO_TEST_CASE(what_was_granted_after_it_was_forced_is_kept)
{
    auto const before = acquire();
    be_silent();
    auto& forcing = server->expect(scripts::force);
    auto forced = mutex().force_release(settled());
    time.advance(1ms);
    BOOST_TEST_REQUIRE(forcing.has_come());
    redis.clear();
    serve_again();
    exclusive_lock::find(inside(), detail::lock_kind::plain, "k")->held()->suspect();
    time.advance(1ms);
    BOOST_TEST(!before.value());
    auto const after = acquire();
    BOOST_TEST_REQUIRE(after.succeeded());
    auto const renewals = server->count(scripts::renew);
    respond(forcing, reply::of(1));
    BOOST_TEST(forced.succeeded());
    BOOST_TEST(bool{after.value()});
    BOOST_TEST(server->count(scripts::renew) == renewals + 1);  // the server is asked
    BOOST_TEST(client.stats().holds == 1U);
}

/// Two wait, and a letter comes between the attempt for the first and its grant.
struct disturbed : served {
    disturbed()
    {
        redis.occupy("k", 10s);
        first = acquire();
        second = acquire();
        redis.clear();
        inside().round_trip().note(8ms);
        be_silent();
        auto& asked = server->expect(scripts::acquire);
        server->publish(channel());
        time.advance(10ms);
        BOOST_TEST_REQUIRE(asked.has_come());
        redis.occupy("k", asked.seen().field(), 3s);
        publish(mailbox(), letter());
        serve_again();
        respond(asked, granted(64));
        BOOST_TEST_REQUIRE(first.succeeded());
        BOOST_TEST(server->count(scripts::renew) == 0U);
    }

    pending_hold first, second;
};

BOOST_FIXTURE_TEST_CASE(a_letter_with_the_grant_is_not_asked_about_at_once, disturbed)
{
    time.advance(10ms);
    BOOST_TEST(server->count(scripts::renew) == 0U);
    time.advance(20ms);
    BOOST_TEST(server->count(scripts::renew) == 1U);
    server->publish(mailbox(), letter());  // and of one that comes later it is asked at once
    time.settle();
    BOOST_TEST(server->count(scripts::renew) == 2U);
}

// The answer is older than the second letter.
BOOST_FIXTURE_TEST_CASE(a_letter_during_the_question_leads_to_another, served)
{
    auto mine = acquire({.lease = 3s});
    auto const waits = acquire();
    time.advance(100ms);
    open_mailbox();
    auto const said = letter();
    auto& asked = server->expect(scripts::renew);
    publish(mailbox(), said);
    BOOST_TEST_REQUIRE(asked.has_come());
    time.advance(1ms);
    redis.occupy("k", 10s);  // by force
    publish(mailbox(), said);
    respond(asked, done());
    BOOST_TEST(!mine.value());
}

BOOST_FIXTURE_TEST_CASE(a_question_that_the_server_cannot_answer_now_is_asked_again, served)
{
    auto mine = acquire({.lease = 3s});
    auto const waits = acquire();
    time.advance(100ms);
    open_mailbox();
    auto const said = letter();
    server->expect(scripts::renew).not_now();
    redis.occupy("k", 10s);  // by force
    server->publish(mailbox(), said);
    time.advance(100ms);
    BOOST_TEST(!mine.value());
}

BOOST_FIXTURE_TEST_CASE(nor_where_the_hold_is_over_soon, disturbed)
{
    time.advance(5ms);
    auto const sent = server->count(scripts::acquire);
    BOOST_TEST(release(first.value()).succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(server->count(scripts::acquire) == sent + 1);  // by a script, for it is in doubt
    time.advance(100ms);
    BOOST_TEST(server->count(scripts::renew) == 0U);
}

BOOST_FIXTURE_TEST_CASE(with_a_lease_of_its_own_it_is_asked_about_too, served)
{
    redis.occupy("k", 10s);
    auto const first = acquire({.lease = 3s});
    auto const second = acquire();
    redis.clear();
    inside().round_trip().note(8ms);
    be_silent();
    auto& asked = server->expect(scripts::acquire);
    server->publish(channel());
    time.advance(10ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    publish(mailbox(), letter_about(asked.seen().field()));
    serve_again();
    respond(asked, granted(64));
    BOOST_TEST_REQUIRE(first.succeeded());
    time.advance(30ms);
    BOOST_TEST(server->count(scripts::renew) == 1U);
    BOOST_TEST(!first.value());  // it was not there
}

BOOST_AUTO_TEST_CASE(the_release_of_a_lost_hold_wakes_who_waits_here)
{
    redis.occupy("k", 1s);
    auto mine = acquire({.lease = 3s});
    time.advance(1'100ms);
    BOOST_TEST_REQUIRE(mine.succeeded());
    time.advance(2'700ms);  // lost, and still there for the rest of its lease
    BOOST_TEST(!mine.value());
    BOOST_TEST(redis.is_locked("k"));
    auto next = acquire();
    BOOST_TEST(!next.is_done());
    release(mine.value());
    time.advance(1ms);
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
