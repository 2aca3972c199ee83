// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The client that adopts a claim: lost answers, cancellation, refusals, its end.
#include "unit/service/claims.hpp"

namespace colock::test {

namespace {

config without_fencing()
{
    auto c = short_leases();
    c.fencing = false;
    return c;
}

/// Without tokens a lock is handed on at once, however it was taken.
struct unfenced : travelling {
    unfenced() : travelling{without_fencing()} {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_claim_adopted, travelling)

BOOST_AUTO_TEST_CASE(its_giver_may_adopt_it_again)
{
    auto held = take(mutex());
    auto waits = take(mutex());
    auto const token = held.value().fencing_token();
    auto what = give(held.value());
    auto back = client.adopt(what.value(), settled());
    BOOST_TEST_REQUIRE(back.succeeded());
    BOOST_TEST(back.value().fencing_token() > token);
    release(back.value());
    time.advance(10ms);
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(waits.value().fencing_token() > back.value().fencing_token());
}

BOOST_AUTO_TEST_CASE(after_a_lost_answer_the_same_ownership_is_asked_for)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto p = adopt(what);
    BOOST_TEST_REQUIRE(late.has_come());
    redis.run(late.seen());
    auto const fields = redis.fields("k");
    lose(late);
    BOOST_TEST(p.succeeded());
    BOOST_TEST((redis.fields("k") == fields));
    release(p.value());
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(cancelled_before_it_is_sent_the_claim_is_still_good)
{
    auto const what = given();
    there->all_down();
    auto p = adopt(what);
    cancel(p);
    BOOST_TEST(p.aborted());
    there->all_up();
    time.settle();
    BOOST_TEST(there->count(scripts::adopt) == 0U);
    auto q = adopt(what);
    BOOST_TEST(q.succeeded());
}

BOOST_AUTO_TEST_CASE(cancelled_while_it_is_under_way_the_lock_is_released)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto p = adopt(what);
    cancel(p);
    BOOST_TEST(p.aborted());
    late.reply(redis.run(late.seen()));
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_silent_server_ends_it_in_time)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto p = adopt(what);
    time.advance(config{}.timeout + 1ms);
    BOOST_TEST((p.ec() == error::unavailable));
    respond(late, redis.run(late.seen()));
    BOOST_TEST(other.stats().holds == 0U);
}

BOOST_AUTO_TEST_CASE(a_refusal_for_the_moment_is_asked_again)
{
    auto const what = given();
    there->expect(scripts::adopt).not_now();
    auto p = adopt(what);
    BOOST_TEST(!p.is_done());
    time.advance(500ms);
    BOOST_TEST(p.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_told)
{
    auto const what = given();
    there->expect(scripts::adopt).fail(error::server_refused);
    BOOST_TEST((adopt(what).ec() == error::server_refused));
    BOOST_TEST(other.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(closing_ends_it_and_leaves_nothing)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto p = adopt(what);
    auto closed = other.close(settled());
    BOOST_TEST((p.ec() == error::closed));
    late.reply(redis.run(late.seen()));
    time.advance(100ms);
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST((adopt(what).ec() == error::closed));
}

// Somebody forces the lock and takes it, after the script that moved it and before its answer.
BOOST_FIXTURE_TEST_CASE(a_lock_that_was_forced_before_the_answer_is_not_handed_on, unfenced)
{
    auto mine = take(mutex());
    auto waits = take(mutex());
    auto const what = give(mine.value()).value();
    auto& late = server->expect(scripts::adopt);
    auto back = client.adopt(what, settled());
    auto const moved = redis.run(late.seen());
    redis.occupy("k", 60s);
    server->publish(channel());
    time.advance(1'200ms);  // the waiter asks, and is refused
    respond(late, moved);
    BOOST_TEST_REQUIRE(back.succeeded());
    release(back.value());
    time.advance(100ms);
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(redis.is_locked("k"));
}

// Somebody deletes the lock after the script that moved it, and another task of this client takes
// it before the answer of that script comes.
BOOST_FIXTURE_TEST_CASE(one_that_this_client_has_taken_since_is_not_handed_on, unfenced)
{
    auto mine = take(mutex());
    auto const what = give(mine.value()).value();
    auto& late = server->expect(scripts::adopt);
    auto back = client.adopt(what, settled());
    auto const moved = redis.run(late.seen());
    redis.ask({"DEL", "k"});
    auto const taken = take(mutex());
    BOOST_TEST_REQUIRE(taken.succeeded());
    auto const waits = take(mutex());
    respond(late, moved);
    BOOST_TEST_REQUIRE(back.succeeded());
    release(back.value());
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_too_late_to_be_of_use_is_given_back)
{
    auto const what = given();
    auto& late = there->expect(scripts::adopt);
    auto& again = there->expect(scripts::adopt);
    auto p = adopt(what, {.lease = 500ms});
    auto const answer_late = [&](expectation& asked) {
        auto const moved = redis.run(asked.seen());
        time.advance(300ms);
        respond(asked, moved);
    };
    answer_late(late);
    BOOST_TEST_REQUIRE(again.has_come());  // which sets the lease again
    answer_late(again);
    BOOST_TEST((p.ec() == error::unavailable));
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(what_is_no_claim_is_not_sent)
{
    auto const good = given();
    auto const sent = there->written().size();
    auto const expect_invalid = [&](auto const& change, acquire_options options = {}) {
        auto bad = good;
        change(bad);
        BOOST_TEST((adopt(bad, options).ec() == error::invalid_argument));
    };
    expect_invalid([](claim& c) { c.kind = "fair"; });
    expect_invalid([](claim& c) { c.name.clear(); });
    expect_invalid([](claim& c) { c.field = "x"; });
    expect_invalid([](claim& c) { c.field += ":write"; });
    expect_invalid([](claim&) {}, {.lease = 1ms});
    expect_invalid([](claim&) {}, {.sync_replicas = 1, .durability = durability::all});
    BOOST_TEST(there->written().size() == sent);
    BOOST_TEST(adopt(good).succeeded());
}

BOOST_AUTO_TEST_CASE(what_copies_lack_is_released_and_the_claim_is_spent)
{
    auto const what = given();
    auto& asked = there->expect(scripts::adopt);
    auto const p = adopt(what, {.durability = durability::all});
    BOOST_TEST_REQUIRE(asked.has_come());
    BOOST_TEST((asked.seen().wants == decide::copies{durability::all}));
    redis.run(asked.seen());
    asked.unsynced(granted(7));
    time.settle();
    BOOST_TEST((p.ec() == error::not_replicated));
    expect_nothing_left();
    BOOST_TEST((adopt(what).ec() == error::claim_gone));
}

BOOST_AUTO_TEST_CASE(the_new_lease_is_the_adopters)
{
    auto here = adopt(given(), {.lease = 7s});
    BOOST_TEST_REQUIRE(here.succeeded());
    BOOST_TEST((redis.lease_left("k") == 7s));
    time.advance(7s);
    BOOST_TEST(!here.value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
