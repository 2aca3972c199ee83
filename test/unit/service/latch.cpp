// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a latch sends, and when.
#include "unit/service/counters.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_latch, counters)

BOOST_AUTO_TEST_CASE(one_asks_for_all)
{
    server->expect(scripts::count).reply(reply::of(2));
    server->expect(scripts::count).reply(reply::of(2));
    auto a = wait(), b = wait(), c = wait();
    BOOST_TEST(server->subscribed().contains("redisson_countdownlatch__channel__{k}"));
    cancel(b);
    BOOST_TEST(b.aborted());
    server->expect(scripts::count).reply(reply::of(std::int64_t{0}));
    publish("redisson_countdownlatch__channel__{k}");
    BOOST_TEST(a.succeeded());
    BOOST_TEST(c.succeeded());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_has_nothing_to_undo)
{
    auto& slow = server->expect(scripts::count);
    auto a = wait();
    cancel(a);
    respond(slow, reply::of(std::int64_t{0}));
    BOOST_TEST(idle());
    auto& lost = server->expect(scripts::count);
    auto b = wait();
    cancel(b);
    lose(lost);
    BOOST_TEST(idle());
}

// His own count was the last, and the message is still on its way.
BOOST_AUTO_TEST_CASE(who_asks_once_is_asked_for_beside_those_who_sleep)
{
    server->expect(scripts::count).reply(reply::of(1));
    server->expect(scripts::count).reply(reply::of(1));
    auto sleeps = wait();
    BOOST_TEST(server->all_came());
    server->expect(scripts::count).reply(reply::of(std::int64_t{0}));
    auto once = try_wait();
    BOOST_TEST_REQUIRE(once.gave_something());
    BOOST_TEST(sleeps.succeeded());
    server->expect(scripts::count).reply(reply::of(1));
    server->expect(scripts::count).reply(reply::of(1));
    sleeps = wait();
    server->expect(scripts::count).reply(reply::of(1));
    once = try_wait();
    BOOST_TEST(once.gave_nothing());
    BOOST_TEST(!sleeps.is_done());
    cancel(sleeps);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_call_with_a_limit_is_asked_for_beside_those_that_sleep)
{
    server->expect(scripts::count).reply(reply::of(1));
    server->expect(scripts::count).reply(reply::of(1));
    auto const sleeps = wait();
    BOOST_TEST(server->all_came());
    server->expect(scripts::count).reply(reply::of(std::int64_t{0}));  // the message was lost
    auto limited = latch.wait_for(50ms, settled());
    BOOST_TEST(limited.gave_something());
    BOOST_TEST(sleeps.succeeded());
}

BOOST_AUTO_TEST_CASE(an_answer_is_for_those_who_were_there_when_it_was_asked_for)
{
    auto& open = server->expect(scripts::count);
    auto first = wait();
    auto second = wait();
    auto third = try_wait();
    auto& closed = server->expect(scripts::count);
    respond(open, reply::of(std::int64_t{0}));
    BOOST_TEST(first.succeeded());
    BOOST_TEST(!second.is_done());
    BOOST_TEST_REQUIRE(closed.has_come());
    auto fourth = try_wait();
    auto& later = server->expect(scripts::count);
    respond(closed, reply::of(1));
    BOOST_TEST(third.gave_nothing());
    BOOST_TEST(!fourth.is_done());
    BOOST_TEST_REQUIRE(later.has_come());
    second.cancel();
    fourth.cancel();
    auto fifth = wait();
    server->expect(scripts::count).reply(reply::of(std::int64_t{0}));
    later.reply(reply::of(std::int64_t{0}));  // nobody is left whom it concerns
    time.settle();
    BOOST_TEST(fifth.succeeded());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_wait_runs_out)
{
    server->expect(scripts::count).reply(reply::of(2));
    server->expect(scripts::count).reply(reply::of(2));
    auto p = latch.wait_for(500ms, settled());
    time.advance(499ms);
    BOOST_TEST(!p.is_done());
    time.advance(1ms);
    BOOST_TEST(p.gave_nothing());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
