// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/fair.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_fair_places, fair)

// ---- The heart-beat ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_place_is_kept_three_times_in_its_life)
{
    auto const got = placed();
    time.advance(beat - 1ms);
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(1ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().keys.size() == 4U);
    std::vector<std::string> const expected{field, "300000", "5000"};
    BOOST_TEST(last().arguments == expected, boost::test_tools::per_element());
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(the_heart_beat_says_that_a_message_was_missed)
{
    auto got = placed();
    server->expect(scripts::fair_keep).reply(each({waits(0)}));
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(beat);
    BOOST_TEST(got.succeeded());
    server->expect(scripts::fair_release).reply(released());
    BOOST_TEST(release(got.value()).succeeded());
    time.advance(2 * beat);
    BOOST_TEST(server->count(scripts::fair_keep) == 1U);
}

BOOST_AUTO_TEST_CASE(who_has_lost_his_place_asks_for_another_under_his_number)
{
    auto const got = placed();
    server->expect(scripts::fair_keep).reply(each({not_there()}));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(an_answer_from_before_the_grant_says_nothing)
{
    auto const got = placed();
    auto& kept = server->expect(scripts::fair_keep);
    time.advance(beat);
    server->expect(scripts::fair_acquire).reply(granted(3));
    tell(field);
    BOOST_TEST(got.succeeded());
    respond(kept, each({not_there()}));
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(an_answer_from_before_the_last_try_says_nothing)
{
    auto const got = placed();
    auto& kept = server->expect(scripts::fair_keep);
    time.advance(beat);
    time.advance(5ms);
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    tell(field);
    respond(kept, each({not_there()}));
    BOOST_TEST(server->all_came());
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(a_refused_call_lets_each_ask_for_itself)
{
    auto const first = placed();
    auto const second = placed();
    server->expect(scripts::fair_keep).fail(error::server_refused);
    server->expect(scripts::fair_acquire).fail(error::server_refused);
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_release).reply(gone());
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST((first.ec() == error::server_refused));
    BOOST_TEST(!second.is_done());
}

// ---- Time --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_first_asks_when_the_lease_ends_and_the_others_sleep)
{
    auto const first = placed(500);
    auto const own = field;
    auto const second = placed(500);
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(500ms);
    BOOST_TEST(!first.is_done());
    time.advance(11ms);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(last().field() == own);
    BOOST_TEST(!second.is_done());
}

BOOST_AUTO_TEST_CASE(the_next_one_asks_when_the_first_has_gone)
{
    auto first = placed(500);
    auto const second = placed(500);
    server->expect(scripts::fair_release).reply(gone());
    cancel(first);
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(511ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(the_next_one_asks_when_another_names_an_earlier_time)
{
    auto const first = placed(500);
    auto const second = placed();
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(511ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    auto const third = placed(200);
    auto& asked = server->expect(scripts::fair_acquire);
    time.advance(211ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    respond(asked, waits(60'000));
    BOOST_TEST(!second.is_done());
}

BOOST_AUTO_TEST_CASE(the_first_who_waits_asks_whoever_came_before)
{
    // One who tries once, and one who was cancelled, whose answers are to come.
    auto& slow = server->expect(scripts::fair_acquire);
    auto const trying = attempt();
    auto& slower = server->expect(scripts::fair_acquire);
    auto cancelled = wait();
    cancelled.cancel();
    auto const got = placed(500);
    BOOST_TEST((attempt().succeeded() && !trying.is_done()));  // somebody waits
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(511ms);
    BOOST_TEST(got.succeeded());
    server->expect(scripts::fair_release).reply(gone());
    slow.reply(waits(500));
    respond(slower, waits(500));
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_begins_again_asks_behind_the_others)
{
    auto const first = placed(500, {.sync_replicas = 1});
    auto const second = placed(500);
    server->expect(scripts::fair_acquire).unsynced(granted(3));
    server->expect(scripts::fair_release).reply(released());
    server->expect(scripts::fair_acquire).reply(waits(500));
    server->expect(scripts::fair_acquire).reply(waits(500));
    time.advance(511ms);
    BOOST_TEST_REQUIRE(server->all_came());
    server->expect(scripts::fair_acquire).reply(granted(4));
    time.advance(511ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!first.is_done());
}

BOOST_AUTO_TEST_CASE(the_first_asks_each_poll_cap)
{
    auto settings = patient();
    settings.poll_cap = 300ms;
    fair other{settings};
    auto const got = other.placed(-1);
    other.server->expect(scripts::fair_acquire).reply(waits(-1));
    other.time.advance(300ms);
    BOOST_TEST(other.server->all_came());
    other.server->expect(scripts::fair_acquire).reply(granted(3));
    other.time.advance(300ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(what_the_heart_beat_names_the_first_waits_for)
{
    auto const got = placed();
    server->expect(scripts::fair_keep).reply(each({waits(200)}));
    time.advance(beat);
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(200ms);
    BOOST_TEST(!got.is_done());
    time.advance(11ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(an_old_answer_is_not_given_out)
{
    auto& slow = server->expect(scripts::fair_acquire);
    auto got = wait();
    time.advance(1'485ms);  // half of the validity, and 1 ms
    auto& again = server->expect(scripts::fair_acquire);
    respond(slow, granted(3));
    BOOST_TEST(!got.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == slow.seen().field());
    // Late again: others have their turn.
    time.advance(1'485ms);
    server->expect(scripts::fair_release).reply(released());
    server->expect(scripts::fair_acquire).reply(granted(5));
    respond(again, granted(4));
    BOOST_TEST(got.succeeded());
    BOOST_TEST(last().field() != slow.seen().field());
}

// ---- Leaving -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(cancelled_before_it_was_sent_it_leaves_nothing)
{
    cut_all();
    auto got = wait();
    cancel(got);
    BOOST_TEST(got.aborted());
    BOOST_TEST(server->unsent() == 0U);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_under_way_it_gives_back_whatever_the_answer_is)
{
    for (auto const& answered : {granted(3), waits(50'000)}) {
        auto& asked = server->expect(scripts::fair_acquire);
        auto got = wait();
        cancel(got);
        BOOST_TEST(got.aborted());
        server->expect(scripts::fair_release).reply(gone());
        respond(asked, answered);
        BOOST_TEST(server->all_came());
        BOOST_TEST(last().field() == asked.seen().field());
        BOOST_TEST(is_forgotten());
    }
}

BOOST_AUTO_TEST_CASE(cancelled_before_its_subscription_is_confirmed)
{
    server->hold_changes = true;
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    auto got = wait();
    server->expect(scripts::fair_release).reply(gone());
    cancel(got);
    BOOST_TEST(got.aborted());
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_asleep_it_takes_its_place_along)
{
    auto got = placed();
    server->expect(scripts::fair_release).reply(gone());
    cancel(got);
    BOOST_TEST(got.aborted());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(is_forgotten());
    time.advance(2 * beat);
    BOOST_TEST(server->count(scripts::fair_keep) == 0U);
}

BOOST_AUTO_TEST_CASE(cancelled_after_a_long_sleep_it_takes_its_place_along)
{
    auto got = placed();
    for (int i = 0; i != 6; ++i)
        server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(10'000ms);
    server->expect(scripts::fair_release).reply(gone());
    cancel(got);
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_in_a_pause)
{
    server->expect(scripts::fair_acquire).not_now();
    auto got = wait();
    cancel(got);
    BOOST_TEST(got.aborted());
    time.advance(20ms);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_after_a_long_outage_it_takes_along_the_place_that_it_may_have)
{
    server->expect(scripts::fair_acquire);
    auto got = wait();
    server->link_down(link());
    time.advance(6'000ms);
    cancel(got);
    BOOST_TEST(got.aborted());
    server->expect(scripts::fair_release).reply(gone());
    mend();
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(a_release_that_the_next_one_has_not_heard_is_followed_by_another)
{
    for (bool const closes : {false, true}) {
        fair one;
        auto held = one.granted_at_once();
        one.server->expect(scripts::fair_release).reply(released(-2));
        BOOST_TEST(one.release(held).succeeded());
        BOOST_TEST(one.log.empty());
        auto const spent = one.last().field();
        one.time.advance(4'999ms);
        if (closes) {
            auto closed = one.client.close(one.settled());
            BOOST_TEST(closed.succeeded());
        } else {
            // Another one has come meanwhile, and died.
            one.server->expect(scripts::fair_release).reply(reply::of(-3));
            one.time.advance(1ms);
            BOOST_TEST(one.server->all_came());
            one.server->expect(scripts::fair_release).reply(gone());
            one.time.advance(5'000ms);
            BOOST_TEST(one.server->all_came());
            BOOST_TEST(one.last().field() == spent);
        }
        BOOST_TEST(one.is_forgotten());
    }
}

BOOST_AUTO_TEST_CASE(a_wait_that_runs_out_takes_its_place_along)
{
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    auto got = mine.try_acquire_for(100ms, settled());
    server->expect(scripts::fair_release).reply(gone());
    time.advance(100ms);
    BOOST_TEST(got.gave_nothing());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
