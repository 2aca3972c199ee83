// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that moves from one client to another without being released, on the scripts themselves,
// in virtual time.
#include "unit/service/claims.hpp"
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

#include <boost/asio/bind_executor.hpp>

#include <string>
#include <thread>

namespace colock::test {

namespace {

template <class Lock>
void expect_stays(travelling& all, Lock const& of, acquire_options options = {})
{
    auto held = all.take(of, options);
    BOOST_TEST_REQUIRE(held.succeeded());
    auto refused = all.give(held.value());
    BOOST_TEST((refused.ec() == error::invalid_argument));
    BOOST_TEST(bool{held.value()});
    BOOST_TEST(all.release(held.value()).succeeded());
    all.time.advance(10ms);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_claim, travelling)

BOOST_AUTO_TEST_CASE(the_lock_moves_and_is_renewed_by_its_new_holder)
{
    auto held = take(mutex());
    auto const token = held.value().fencing_token();
    auto watch = lost(held.value());
    auto const before = redis.fields("k");
    auto got = give(held.value());
    BOOST_TEST_REQUIRE(got.succeeded());
    auto const& what = got.value();
    BOOST_TEST((what.kind == "lock" && what.name == "k" && what.token == token));
    BOOST_TEST((what.valid_for == validity));
    BOOST_TEST((before == std::set<std::string>{what.field}));
    BOOST_TEST((redis.fields("k") == before));
    BOOST_TEST(!held.value());
    BOOST_TEST(watch.aborted());
    BOOST_TEST(release(held.value()).succeeded());  // of what it no longer has
    BOOST_TEST(client.stats().holds == 0U);

    time.advance(500ms);
    auto here = adopt(what);
    BOOST_TEST_REQUIRE(here.succeeded());
    BOOST_TEST(here.value().fencing_token() > token);
    BOOST_TEST((redis.fields("k").size() == 1U && !redis.fields("k").contains(what.field)));
    BOOST_TEST((redis.lease_left("k") == 3s));
    auto const sent = server->written().size();
    time.advance(10s);
    BOOST_TEST(bool{here.value()});
    BOOST_TEST(redis.is_locked("k"));
    BOOST_TEST(server->written().size() == sent);  // the giver has nothing to do with it any more
    release(here.value());
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(one_of_two_adopts_it)
{
    auto const what = given();
    auto first = begin_adopt(what);
    auto second = begin_adopt(what);
    auto third = client.adopt(what, settled());
    BOOST_TEST(first.succeeded());
    BOOST_TEST((second.ec() == error::claim_gone));
    BOOST_TEST((third.ec() == error::claim_gone));
    BOOST_TEST(bool{first.value()});
    BOOST_TEST(redis.fields("k").size() == 1U);
    release(first.value());
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(nobody_adopts_what_has_ended)
{
    auto const what = given();
    time.advance(3s + 1ms);
    auto free = take(mutex());
    BOOST_TEST(free.succeeded());
    BOOST_TEST((adopt(what).ec() == error::claim_gone));
    BOOST_TEST(bool{free.value()});
    release(free.value());
    BOOST_TEST((adopt(what).ec() == error::claim_gone));
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_forced_release_ends_it)
{
    auto const what = given();
    force("k");
    BOOST_TEST((adopt(what).ec() == error::claim_gone));
}

BOOST_AUTO_TEST_CASE(each_kind_that_is_one_field_moves)
{
    fenced_lock const fenced{client, "f"};
    auto held = take(fenced);
    auto const token = held.value().fencing_token();
    auto there_now = adopt(give(held.value()).value());
    BOOST_TEST_REQUIRE(there_now.succeeded());
    BOOST_TEST(there_now.value().fencing_token() == token + 1);
    auto back = take(spin_lock{client, "s"});
    auto spun = adopt(give(back.value()).value());
    BOOST_TEST(spun.succeeded());
}

BOOST_AUTO_TEST_CASE(what_is_more_than_one_hold_of_one_field_stays)
{
    owner const me;
    expect_stays(*this, fair_lock{client, "fair"});
    expect_stays(*this, mutex("kept"), {.at_least = 10ms});
    auto first = take(mutex(), {.as = me});
    auto again = take(mutex(), {.as = me});
    BOOST_TEST((give(first.value()).ec() == error::invalid_argument));
    release(again.value());
    BOOST_TEST(give(first.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(what_is_not_held_is_not_given)
{
    hold nothing;
    pending<claim> p;
    nothing.give(asio::bind_executor(context, p.token()));
    auto const settled = [&] {
        time.settle();
        return p.is_done();
    };
    while (!settled())  // the system executor's thread posts to us
        std::this_thread::yield();
    BOOST_TEST((p.ec() == error::not_held));

    auto held = take(mutex(), {.lease = 50ms});
    time.jump(60ms);
    BOOST_TEST((give(held.value()).ec() == error::lost));
    auto next = take(mutex());
    release(next.value());
    BOOST_TEST((give(next.value()).ec() == error::not_held));
}

// What was dropped before it is released on the strand, along with all that was dropped since.
BOOST_AUTO_TEST_CASE(it_is_given_though_its_hold_is_destroyed_at_once)
{
    auto before = take(lock{client, "before"}), mine = take(mutex());
    before.value() = {};
    pending<claim> p;
    mine.value().give(p.token());
    mine.value() = {};
    time.settle();
    BOOST_TEST_REQUIRE(p.succeeded());
    time.advance(10ms);
    BOOST_TEST(redis.is_locked("k"));
    auto adopted = adopt(p.value());
    BOOST_TEST_REQUIRE(adopted.succeeded());
    release(adopted.value());
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(if_it_can_not_be_given_a_destroyed_hold_is_released)
{
    auto mine = take(fair_lock{client, "k"});
    pending<claim> p;
    mine.value().give(p.token());
    mine.value() = {};
    time.settle();
    BOOST_TEST((p.ec() == error::invalid_argument));
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(not_while_its_lease_changes)
{
    auto held = take(mutex());
    pending<> longer;
    held.value().extend(5s, longer.token());
    auto too_early = held.value().give(settled());
    BOOST_TEST((too_early.ec() == error::invalid_argument));
    BOOST_TEST(longer.succeeded());
    auto what = give(held.value());
    BOOST_TEST_REQUIRE(what.succeeded());
    BOOST_TEST((what.value().valid_for > 4s));
    time.advance(4s);
    BOOST_TEST(adopt(what.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(the_givers_last_renewal_changes_nothing)
{
    auto held = take(mutex());
    auto& late = server->expect(scripts::renew);
    time.advance(1s);
    BOOST_TEST_REQUIRE(late.has_come());
    auto what = give(held.value());
    auto here = adopt(what.value());
    respond(late, not_there());
    BOOST_TEST(bool{here.value()});
    BOOST_TEST(redis.is_locked("k"));
    BOOST_TEST(events->count("lost") == 0);
}

BOOST_AUTO_TEST_CASE(the_givers_waiters_come_after_the_adopter)
{
    auto held = take(mutex());
    auto waits = take(mutex());
    auto here = adopt(give(held.value()).value());
    time.advance(5s);
    BOOST_TEST(!waits.is_done());
    release(here.value());
    time.advance(10ms);
    BOOST_TEST(waits.succeeded());
}

BOOST_AUTO_TEST_CASE(the_adopters_waiters_come_after_it)
{
    auto held = take(mutex());
    pending_hold enters;
    auto waits = lock{other, "k"}.acquire(settled());
    time.advance(50ms);
    owner const me;
    auto here = adopt(give(held.value()).value(), {.as = me});
    BOOST_TEST_REQUIRE(here.succeeded());
    lock{other, "k"}.acquire({.as = me}, enters.token());
    time.advance(10s);
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(enters.succeeded());
    auto const token = here.value().fencing_token();
    release(enters.value());
    release(here.value());
    time.advance(10ms);
    BOOST_TEST_REQUIRE(waits.succeeded());
    BOOST_TEST(waits.value().fencing_token() > token);
    release(waits.value());
    time.advance(1s);
    BOOST_TEST(!redis.is_locked("k"));
}

// An attempt for a waiter is under way when the adopted hold is released: the release may not be
// left to that attempt.
BOOST_AUTO_TEST_CASE(a_release_beside_an_attempt_is_sent)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto here = adopt(what);
    auto& refused_later = there->expect(scripts::acquire);
    auto waits = lock{other, "k"}.acquire(settled());
    late.reply(redis.run(late.seen()));
    auto const answer = redis.run(refused_later.seen());
    time.settle();
    BOOST_TEST_REQUIRE(here.succeeded());
    BOOST_TEST(release(here.value()).succeeded());
    BOOST_TEST(!redis.is_locked("k"));
    refused_later.reply(answer);
    time.advance(1001ms);
    BOOST_TEST(waits.succeeded());
}

BOOST_AUTO_TEST_CASE(a_single_try_of_the_adopter_is_over_then)
{
    auto const what = given();
    there->expect(scripts::acquire).not_now();
    auto once = lock{other, "k"}.try_acquire(settled());
    BOOST_TEST(!once.is_done());
    auto here = adopt(what);
    BOOST_TEST_REQUIRE(here.succeeded());
    BOOST_TEST(once.gave_nothing());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
