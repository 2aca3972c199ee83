// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that goes from one waiter of a client to the next.
#include "unit/service/served_crowd.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_hand_over, served_crowd)

BOOST_AUTO_TEST_CASE(a_released_lock_goes_to_the_next_waiter_without_a_command)
{
    fill(5);
    auto const fields = redis.fields("k");
    // The first came alone, with one token; the next has to fetch more.
    BOOST_TEST(release_of(0).succeeded());
    BOOST_TEST(sent_since() == 1U);
    auto const until = got[1].value().valid_until();
    for (std::size_t i = 1; i != 6; ++i) {
        BOOST_TEST_REQUIRE(got[i].succeeded());
        BOOST_TEST(got[i].value().fencing_token() > got[i - 1].value().fencing_token());
        if (i != 5)
            BOOST_TEST(!got[i + 1].is_done());
        BOOST_TEST((redis.fields("k") == fields));
        BOOST_TEST((got[i].value().valid_until() == until));
        if (i == 5)
            break;
        BOOST_TEST(release_of(i).succeeded());
        BOOST_TEST(!got[i].value());
    }
    BOOST_TEST(sent_since() == 1U);
    BOOST_TEST(server->changes().empty());
    BOOST_TEST(events->count("handed_over") == 4);
    BOOST_TEST(events->count("acquired") == 6);
    BOOST_TEST(events->count("released") == 5);
    BOOST_TEST(client.stats().holds == 1U);
    BOOST_TEST(release_of(5).succeeded());
    BOOST_TEST(!redis.is_locked("k"));
    time.advance(200ms);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(an_observer_that_takes_longer_than_the_lease_leaves_no_hold)
{
    fill(1);
    owner const me;
    auto first = acquire({.as = me});
    auto second = acquire({.as = me});
    release_of(0);
    BOOST_TEST_REQUIRE(got[1].succeeded());
    events->at_hand_over = [&] { time.jump(validity); };
    release_of(1);
    BOOST_TEST(events->count("handed_over") == 1);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(!first.value());
    BOOST_TEST((second.ec() == error::lost));
    time.advance(1s);
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_tenure_ends_after_max_tenure)
{
    fill(3);
    release_of(0);
    time.advance(9ms);
    sent = server->written().size();
    release_of(1);
    BOOST_TEST(sent_since() == 0U);
    time.advance(1ms);
    auto const before = redis.fields("k");
    release_of(2);
    BOOST_TEST(sent_since() != 0U);  // released for real, and acquired again
    BOOST_TEST(got[3].succeeded());
    BOOST_TEST((redis.fields("k") != before));
}

BOOST_AUTO_TEST_CASE(a_dropped_hold_that_comes_back_subscribes_to_nothing)
{
    for (int i = 0; i != 10; ++i) {
        auto next = mutex().acquire(settled());
        BOOST_TEST_REQUIRE(next.succeeded());
        hold const dropped = std::move(next.value());
    }
    time.settle();
    BOOST_TEST(server->changes().empty());
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_dropped_hold_is_handed_over_too)
{
    fill(2);
    release_of(0);
    sent = server->written().size();
    {
        hold const dropped = std::move(got[1].value());
    }
    time.settle();
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(sent_since() == 0U);
}

BOOST_AUTO_TEST_CASE(another_lease_is_set_by_a_script_with_the_same_field)
{
    got.push_back(acquire());
    got.push_back(acquire({.lease = 5s}));
    got.push_back(acquire());
    sent = server->written().size();
    auto const field = redis.fields("k");
    release_of(0);
    BOOST_TEST_REQUIRE(got[1].succeeded());
    BOOST_TEST(sent_since() == 1U);
    BOOST_TEST((last().what == &scripts::acquire));
    BOOST_TEST(last().lease() == "5000");
    BOOST_TEST((got[1].value().valid_until() == clock::now() + 5s - 52ms));
    release_of(1);
    BOOST_TEST_REQUIRE(got[2].succeeded());
    BOOST_TEST(last().lease() == "3000");
    BOOST_TEST((redis.fields("k") == field));
}

BOOST_AUTO_TEST_CASE(a_waiter_that_is_cancelled_while_a_script_hands_over_leaves_nothing)
{
    got.push_back(acquire());
    got.push_back(acquire({.lease = 5s}));
    auto& asked = server->expect(scripts::acquire);
    release_of(0);
    BOOST_TEST_REQUIRE(asked.has_come());
    got[1].cancel();
    time.settle();
    BOOST_TEST(got[1].aborted());
    respond(asked, redis.run(asked.seen()));
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(who_was_handed_the_lock_is_renewed)
{
    fill(1);
    release_of(0);
    BOOST_TEST_REQUIRE(got[1].succeeded());
    time.advance(10s);
    BOOST_TEST(bool{got[1].value()});
    BOOST_TEST(got[1].value().valid_for(1s));
    BOOST_TEST(redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter_is_passed_by)
{
    fill(3);
    got[1].cancel();
    time.settle();
    BOOST_TEST(got[1].aborted());
    release_of(0);
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(!got[3].is_done());
}

BOOST_AUTO_TEST_CASE(all_wait_under_one_owner_and_share_what_is_handed_over)
{
    owner const me;
    got.push_back(acquire());
    got.push_back(acquire({.as = me}));
    got.push_back(acquire({.as = me}));
    got.push_back(acquire());
    release_of(0);
    BOOST_TEST(got[1].succeeded());
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(!got[3].is_done());
    release_of(1);
    BOOST_TEST(!got[3].is_done());
    release_of(2);
    BOOST_TEST(got[3].succeeded());
}

BOOST_AUTO_TEST_CASE(a_letter_during_a_tenure_means_that_it_was_forced)
{
    open_mailbox();
    fill(2);
    release_of(0);
    BOOST_TEST_REQUIRE(got[1].succeeded());
    auto const said = letter();
    redis.occupy("k", 1s);
    publish(mailbox(), said);
    auto told = lost(got[1].value());
    BOOST_TEST(told.is_done());  // long before a renewal was due
    BOOST_TEST(!got[1].value());
    release(got[1].value());
    BOOST_TEST(!got[2].is_done());
    redis.free("k");
    time.settle();
    BOOST_TEST(got[2].succeeded());
}

BOOST_AUTO_TEST_CASE(while_in_doubt_a_script_hands_over)
{
    fill(2);
    release_of(0);
    server->serve = {};
    auto& renewal = server->expect(scripts::renew);
    doubt();
    BOOST_TEST(renewal.has_come());
    auto& really = server->expect(scripts::release);
    release_of(1);  // with a step under way its field is not used again
    BOOST_TEST(really.has_come());
    BOOST_TEST(!got[2].is_done());
}

BOOST_AUTO_TEST_CASE(a_renewal_not_yet_sent_goes_with_its_ownership)
{
    fill(2);
    release_of(0);
    cut_all();
    doubt();  // asks for a renewal, which has to wait for the link
    release_of(1);
    BOOST_TEST(!got[2].is_done());
    auto const renewals = server->count(scripts::renew);
    mend_all();
    BOOST_TEST_REQUIRE(got[2].succeeded());
    BOOST_TEST(server->count(scripts::renew) == renewals);
    BOOST_TEST((redis.lease_left("k") == 3s));
}

BOOST_AUTO_TEST_CASE(after_the_doubt_is_settled_no_command_is_needed)
{
    fill(2);
    release_of(0);
    doubt();
    sent = server->written().size();
    release_of(1);
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(sent_since() == 0U);
}

BOOST_AUTO_TEST_CASE(a_field_that_is_gone_is_not_handed_over)
{
    fill(2);
    redis.occupy("k", 1s);
    release_of(0);
    BOOST_TEST(!got[1].is_done());
    time.advance(1'100ms);
    BOOST_TEST(got[1].succeeded());
}

BOOST_AUTO_TEST_CASE(nobody_is_handed_a_lock_whose_validity_has_passed)
{
    fill(3);
    release_of(0);
    cut_all();
    time.advance(1'600ms);  // more than half of it is over
    release_of(1);
    BOOST_TEST(!got[2].is_done());
    time.advance(1'500ms);  // all of it
    BOOST_TEST(!got[2].is_done());
    redis.occupy("k", 500ms);
    mend_all();
    BOOST_TEST(!got[2].is_done());
    time.advance(600ms);
    BOOST_TEST_REQUIRE(got[2].succeeded());
    BOOST_TEST(got[2].value().valid_for(1s));
}

BOOST_AUTO_TEST_CASE(after_a_pause_of_the_process_nobody_is_handed_what_is_over)
{
    fill(2);
    release_of(0);
    auto const paused = clock::now() + 3s;
    redis.clear();
    redis.occupy("k", 60s);
    clock::fake(paused);  // no timer has fired
    release_of(1);
    BOOST_TEST(!got[2].is_done());
}

BOOST_AUTO_TEST_CASE(closing_hands_nothing_over)
{
    fill(3);
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    for (std::size_t i = 1; i != 4; ++i)
        BOOST_TEST((got[i].ec() == error::closed));
    BOOST_TEST(!redis.is_locked("k"));
}

struct without_tenures : served_crowd {
    without_tenures()
        : served_crowd{[] {
            auto c = short_leases();
            c.max_tenure = 0ms;
            return c;
        }()}
    {}
};

BOOST_FIXTURE_TEST_CASE(hand_over_can_be_turned_off, without_tenures)
{
    fill(2);
    release_of(0);
    BOOST_TEST(got[1].succeeded());
    release_of(1);
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(server->count(scripts::release) == 2U);
    BOOST_TEST(events->count("handed_over") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
