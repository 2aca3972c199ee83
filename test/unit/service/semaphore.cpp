// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a semaphore sends, and when: its queue, and its updates.
#include "unit/service/counters.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_semaphore, counters)

BOOST_AUTO_TEST_CASE(enough_permits_take_one_call)
{
    server->expect(scripts::semaphore_acquire).reply(taken());
    BOOST_TEST(take(3).succeeded());
    BOOST_TEST(last().key() == "k");
    BOOST_TEST(last().keys.at(1) == "colock_once:{k}:" + inside().uuid() + ":take");
    BOOST_TEST(argument(0) == "3");
    BOOST_TEST(argument(2) == "3600000");
    BOOST_TEST(idle());
    BOOST_TEST(!server->pubsub_wanted());
    BOOST_TEST(events->count("acquired") == 1);
}

BOOST_AUTO_TEST_CASE(too_few_wait_for_a_message)
{
    server->expect(scripts::semaphore_acquire).reply(too_few());
    server->expect(scripts::semaphore_acquire).reply(too_few());  // when subscribed
    auto waits = take();
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(server->subscribed().contains("redisson_sc:{k}"));
    BOOST_TEST(server->all_came());
    auto const asked = server->written().size();
    auto behind = take();
    BOOST_TEST(server->written().size() == asked);  // only the first asks
    server->expect(scripts::semaphore_acquire).reply(taken());
    server->expect(scripts::semaphore_acquire).reply(too_few());
    server->expect(scripts::semaphore_acquire).reply(too_few());  // when subscribed again
    message();
    time.advance(1ms);  // those who were told go first
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(!behind.is_done());
    server->expect(scripts::semaphore_acquire).reply(taken());
    time.advance(1'000ms);  // the poll cap
    BOOST_TEST(behind.succeeded());
    BOOST_TEST(idle());
}

// The first of the two may still arrive: then the next attempt finds its permits, or the undo does.
BOOST_AUTO_TEST_CASE(an_attempt_whose_answer_is_lost_keeps_its_number_though_it_is_refused)
{
    server->expect(scripts::semaphore_acquire).lose();
    auto& again = server->expect(scripts::semaphore_acquire);
    auto waits = take(2);
    BOOST_TEST_REQUIRE(again.has_come());
    auto const first = server->written().front();
    BOOST_TEST(again.seen().arguments == first.arguments);
    server->expect(scripts::semaphore_acquire).reply(too_few());  // when subscribed
    respond(again, too_few());
    BOOST_TEST(last().arguments.at(1) == first.arguments.at(1));
    server->expect(scripts::semaphore_undo).reply(taken());
    cancel(waits);
    BOOST_TEST(last().arguments.at(0) == first.arguments.at(1));
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(cancelled_and_lost_it_is_undone_until_that_is_answered)
{
    auto& slow = server->expect(scripts::semaphore_acquire);
    auto waits = take();
    cancel(waits);
    server->expect(scripts::semaphore_undo).lose();
    server->expect(scripts::semaphore_undo).not_now();
    auto& undo = server->expect(scripts::semaphore_undo);
    slow.lose();
    time.advance(100ms);
    BOOST_TEST_REQUIRE(undo.has_come());
    auto closed = client.close(settled());
    BOOST_TEST(!closed.is_done());  // it is owed
    respond(undo, reply::of(std::int64_t{0}));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(what_comes_too_late_is_for_the_next_who_wants_as_many)
{
    auto& slow = server->expect(scripts::semaphore_acquire);
    auto first = take(2), second = take(2), third = take(1);
    cancel(first);
    auto& other = server->expect(scripts::semaphore_acquire);
    respond(slow, taken());
    BOOST_TEST(second.succeeded());
    BOOST_TEST_REQUIRE(other.has_come());
    BOOST_TEST(argument(0) == "1");
    third.cancel();
    auto fourth = take(3);
    server->expect(scripts::semaphore_undo).reply(taken());  // before anything else is asked
    server->expect(scripts::semaphore_acquire).reply(taken());
    respond(other, taken());
    BOOST_TEST(fourth.succeeded());
    BOOST_TEST(argument(0) == "3");
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(what_an_unheard_undo_may_have_given_back_is_for_nobody)
{
    for (bool const is_sure : {true, false}) {
        auto& slow = server->expect(scripts::semaphore_acquire);
        auto first = take(2);
        first.cancel();
        auto& undo = server->expect(scripts::semaphore_undo);
        is_sure ? slow.reply(taken()) : slow.lose();
        time.settle();
        BOOST_TEST_REQUIRE(undo.has_come());
        auto second = take(2);
        auto& again = server->expect(scripts::semaphore_undo);
        lose(undo);
        BOOST_TEST_REQUIRE(again.has_come());
        BOOST_TEST(!second.is_done());
        server->expect(scripts::semaphore_acquire).reply(taken());
        respond(again, reply::of(std::int64_t{0}));
        BOOST_TEST(second.succeeded());
        BOOST_TEST(idle());
    }
}

BOOST_AUTO_TEST_CASE(an_undo_that_was_not_made_gives_to_the_next)
{
    auto& slow = server->expect(scripts::semaphore_acquire);
    auto first = take(2);
    first.cancel();
    auto& undo = server->expect(scripts::semaphore_undo);
    respond(slow, taken());
    auto second = take(2);
    undo.not_now();
    time.advance(20ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(under_full_memory_an_undo_is_tried_until_there_is_some)
{
    auto& slow = server->expect(scripts::semaphore_acquire);
    auto first = take();
    first.cancel();
    server->expect(scripts::semaphore_undo).out_of_memory();
    respond(slow, taken());
    server->expect(scripts::semaphore_undo).out_of_memory();
    auto second = take(2);
    time.advance(20ms);
    BOOST_TEST((second.ec() == error::server_refused));
    server->expect(scripts::semaphore_undo).reply(taken());
    time.advance(40ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_about_who_was_asked_for)
{
    auto& many = server->expect(scripts::semaphore_acquire);
    auto first = take(5), second = take(1);
    auto third = try_take(1);
    first.cancel();
    auto& few = server->expect(scripts::semaphore_acquire);
    respond(many, too_few());
    BOOST_TEST_REQUIRE(few.has_come());
    BOOST_TEST(argument(0) == "1");
    server->expect(scripts::semaphore_acquire).reply(taken());
    respond(few, taken());
    BOOST_TEST(second.succeeded());
    BOOST_TEST_REQUIRE(third.gave_something());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_refusal_of_a_call_that_tries_once_is_not_about_the_next)
{
    server->hold_changes = true;  // no subscription makes it ask again
    auto& many = server->expect(scripts::semaphore_acquire);
    auto once = try_take(5);
    auto next = take(1);
    auto& few = server->expect(scripts::semaphore_acquire);
    respond(many, too_few());
    BOOST_TEST(once.gave_nothing());
    BOOST_TEST_REQUIRE(few.has_come());
    BOOST_TEST(argument(0) == "1");
    respond(few, taken());
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refused_connection_is_told_to_those_behind_an_undo)
{
    server->expect(scripts::semaphore_acquire);
    take(2).cancel();
    server->down_reason_to_tell = error::server_refused;
    cut_all();
    auto other = take(1);
    time.advance(1'100ms);
    BOOST_TEST((other.ec() == error::server_refused));
    server->down_reason_to_tell = error::unavailable;
    server->expect(scripts::semaphore_undo).reply(taken());
    server->all_up();
    time.advance(1s);
    BOOST_TEST(server->all_came());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(who_tries_once_is_sent_away)
{
    server->expect(scripts::semaphore_acquire).reply(too_few());
    auto once = try_take();
    BOOST_TEST(once.gave_nothing());
    BOOST_TEST(!server->pubsub_wanted());
    server->expect(scripts::semaphore_acquire).reply(too_few());
    server->expect(scripts::semaphore_acquire).reply(too_few());
    auto waits = take();
    auto behind = try_take();  // others wait
    BOOST_TEST(behind.gave_nothing());
    server->expect(scripts::semaphore_undo).reply(not_there());
    cancel(waits);
    BOOST_TEST(idle());
    cut();
    auto unheard = try_take();
    time.advance(2'000ms);
    BOOST_TEST((unheard.ec() == error::unavailable));
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(an_error_of_the_key_ends_its_waiters)
{
    for (int i = 0; i != 2; ++i)  // the second has come after the first request
        server->expect(scripts::semaphore_acquire).fail(error::wrong_type);
    auto a = take(), b = take();
    time.settle();
    BOOST_TEST((a.ec() == error::wrong_type));
    BOOST_TEST((b.ec() == error::wrong_type));
    BOOST_TEST(idle());
    server->expect(scripts::semaphore_acquire).reply(reply::of("what"));
    server->expect(scripts::semaphore_undo).reply(reply::of(std::int64_t{0}));
    BOOST_TEST((take().ec() == error::bad_reply));
    BOOST_TEST(idle());
}

// Nobody can tell any more what became of it: it is not sent again, and the log says so.
BOOST_AUTO_TEST_CASE(a_record_that_has_expired_ends_the_repeats)
{
    server->expect(scripts::semaphore_acquire);
    auto waits = take();
    auto const number = argument(1);
    cut();
    time.jump(std::chrono::hours{1});
    time.settle();
    auto& anew = server->expect(scripts::semaphore_acquire);
    mend();
    BOOST_TEST_REQUIRE(anew.has_come());
    BOOST_TEST(argument(1) != number);
    respond(anew, taken());
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(is_said_to_be_out());
}

// The server's record is gone by then, so an undo would find nothing.
BOOST_AUTO_TEST_CASE(permits_that_nobody_wants_are_given_back_within_the_hour_or_never)
{
    auto& slow = server->expect(scripts::semaphore_acquire);
    auto leaves = take();
    leaves.cancel();
    slow.reply(taken());
    cut();
    BOOST_TEST(!idle());  // the undo is due
    BOOST_TEST(!is_said_to_be_out());
    time.jump(std::chrono::hours{1});
    time.settle();
    BOOST_TEST(is_said_to_be_out());
    mend();
    BOOST_TEST(server->all_came());  // no undo
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
