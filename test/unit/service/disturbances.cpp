// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What comes between the steps of a key: answers that come late or never, calls that are refused as
// a whole.
#include "unit/service/group.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_disturbances, served)

// ---- What may stand in Redis is given back -----------------------------------------------------

BOOST_AUTO_TEST_CASE(a_shorter_lease_that_was_lost_does_not_hide_a_longer_one)
{
    auto const first = acquire();
    auto next = try_for(600ms, {.lease = 200ms});
    be_silent();
    auto& asked = server->expect(scripts::acquire);
    release(first.value());  // by a script, with the field that has 3 s
    BOOST_TEST_REQUIRE(asked.has_come());
    server->all_down();
    lose(asked);
    time.advance(700ms);
    BOOST_TEST(next.is_done());
    serve_again();
    mend_all();
    BOOST_TEST(!redis.is_locked("k"));
}

// The server does not end the old connection, so what was lost with it may run at any time.
BOOST_AUTO_TEST_CASE(a_late_release_of_a_reader_leaves_the_next_one_no_right)
{
    server->ends_old_connections = false;
    owner const me;
    read_write_lock const sides{client, "k"};
    auto writes = take(sides.write(), {.as = me});
    auto reads = take(sides.read(), {.as = me});
    BOOST_TEST_REQUIRE(reads.succeeded());
    auto& late = server->expect(scripts::read_release);
    auto released = release(reads.value());
    BOOST_TEST_REQUIRE(late.has_come());
    cut();
    mend();
    time.advance(5ms);
    BOOST_TEST(released.succeeded());
    auto again = take(sides.read(), {.as = me});  // with the same field
    BOOST_TEST_REQUIRE(again.is_done());
    BOOST_TEST((!again.succeeded() || !again.value()));
    BOOST_TEST(bool{writes.value()});
}

BOOST_AUTO_TEST_CASE(a_late_acquire_of_permits_takes_none_that_others_have_by_now)
{
    server->ends_old_connections = false;
    permit_semaphore const seats{client, "s", 3};
    auto& late = server->expect(scripts::permit_acquire);
    pending<permit_list> got;
    seats.acquire_many(3, got.token());
    time.settle();
    BOOST_TEST_REQUIRE(late.has_come());
    cut_all();
    mend_all();
    time.advance(5ms);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value()[1].release(settled()).succeeded());
    BOOST_TEST(redis.permits_out("s") == 2);
    elsewhere other{*this};
    permit_semaphore const theirs{other.client, "s", 3};
    redis.attach(*other.server);
    auto one = theirs.try_acquire(settled());
    BOOST_TEST_REQUIRE(one.gave_something());
    redis.run(late.seen());
    BOOST_TEST(redis.permits_out("s") == 3);
    BOOST_TEST(theirs.try_acquire(settled()).gave_nothing());
}

// ---- Outages -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_log_says_what_has_become_of_the_holds)
{
    std::vector<pending_hold> all;
    for (auto const* const name : {"a", "b", "c", "d"})
        all.push_back(acquire(mutex(name)));
    server->all_down();
    time.advance(300ms);
    redis.ask({"DEL", "d"});
    log.clear();
    mend_all();
    time.advance(100ms);
    BOOST_TEST(
        log.back() == "127.0.0.1:6379: connected again after 0.3 s; 3 holds confirmed, 1 lost"
    );
    log.clear();
    time.advance(10s);
    BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_CASE(what_is_lost_during_an_outage_is_counted)
{
    auto held = acquire();
    server->all_down();
    time.advance(10s);
    mend_all();
    time.advance(100ms);
    BOOST_TEST(
        log.back() == "127.0.0.1:6379: connected again after 10.0 s; 0 holds confirmed, 1 lost"
    );
}

// ---- Renewals ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_refused_call_is_not_sent_again_for_who_leaves)
{
    auto leaving = std::move(acquire(mutex("a{k}")).value());
    auto staying = std::move(acquire(mutex("b{k}")).value());
    be_silent();
    cut();
    auto& both = server->expect(scripts::renew);
    mend();
    BOOST_TEST_REQUIRE(both.has_come());
    BOOST_TEST_REQUIRE(both.seen().keys.size() == 2U);
    auto& undo = server->expect(scripts::release);
    release(leaving);
    auto& again = server->expect(scripts::renew);
    both.fail(error::server_refused);
    time.settle();
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST((again.seen().keys == std::vector<std::string>{"b{k}"}));
    BOOST_TEST(server->in_flight() == 2U);
    undo.reply(released());
    respond(again, done());
    BOOST_TEST(bool{staying});
    serve_again();
}

BOOST_AUTO_TEST_CASE(after_halving_a_script_may_hand_over)
{
    auto first = acquire();
    auto other = acquire(mutex("b{k}"));
    auto next = acquire({.lease = 2s});
    be_silent();
    cut();
    server->expect(scripts::renew).fail(error::server_refused);
    server->expect(scripts::renew).reply(done());
    server->expect(scripts::renew).reply(done());
    mend();
    BOOST_TEST(server->all_came());
    serve_again();
    auto const fields = redis.fields("k");
    release(first.value());
    BOOST_TEST(next.succeeded());
    BOOST_TEST((redis.fields("k") == fields));
}

// ---- One owner ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(who_tries_once_under_the_owner_that_gets_in_gets_in_too)
{
    owner const me;
    be_silent();
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire({.as = me});
    auto once = try_acquire({.as = me});
    asked.reply(granted(1));
    serve_again();
    redis.occupy("k", asked.seen().field(), 3s);
    time.settle();
    BOOST_TEST(first.succeeded());
    BOOST_TEST_REQUIRE(once.gave_something());
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_an_owner_who_is_just_entering)
{
    owner const me;
    auto outer = acquire({.as = me});
    be_silent();
    auto& entering = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    release(outer.value());
    auto third = acquire({.as = me});
    BOOST_TEST(!third.is_done());
    serve_again();
    respond(entering, done());
    BOOST_TEST(inner.succeeded());
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(a_standstill_in_the_middle_of_a_hand_over)
{
    owner const me;
    auto first = acquire();
    auto second = acquire({.as = me}), third = acquire({.as = me});
    release(first.value());
    BOOST_TEST_REQUIRE(second.succeeded());
    time.jump(10s);
    release(second.value());
    time.settle();
    BOOST_TEST(third.is_done());
}

// ---- Nobody left -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_server_that_says_not_now_when_nobody_waits_any_more)
{
    redis.occupy("k", 10s);
    auto waiting = acquire();
    be_silent();
    auto& asked = server->expect(scripts::acquire);
    publish(channel());
    BOOST_TEST_REQUIRE(asked.has_come());
    publish(channel());
    server->expect(scripts::release).reply(gone());
    cancel(waiting);
    asked.not_now();
    time.advance(50ms);
    BOOST_TEST(waiting.aborted());
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_is_found_out_at_the_poll_cap)
{
    redis.occupy("k", 10s);
    auto waiting = acquire();
    be_silent();
    auto& question = server->expect(scripts::look);
    time.advance(1'010ms);
    BOOST_TEST_REQUIRE(question.has_come());
    auto& asked = server->expect(scripts::acquire);
    respond(
        question, reply::of(std::vector{reply::of(std::int64_t{1}), reply::of(std::int64_t{0})})
    );
    BOOST_TEST_REQUIRE(asked.has_come());
    server->expect(scripts::release).fail(error::wrong_type);
    asked.fail(error::wrong_type);
    time.settle();
    BOOST_TEST((waiting.ec() == error::wrong_type));
}

BOOST_AUTO_TEST_CASE(closing_does_not_wait_for_what_is_remembered)
{
    redis.others = 3;
    auto mine = acquire();
    release(mine.value());
    BOOST_TEST(client.stats().keys == 1U);
    auto other = acquire(mutex("other"));
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
}

struct with_max_hold : served {
    with_max_hold()
        : served{[] {
            auto c = short_leases();
            c.max_hold = 1'200ms;
            c.max_tenure = 5s;
            return c;
        }()}
    {}
};

BOOST_FIXTURE_TEST_CASE(who_is_handed_a_lock_that_was_renewed_no_more_is_renewed, with_max_hold)
{
    redis.occupy("k", 500ms);
    auto first = acquire(), second = acquire();
    time.advance(600ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    time.advance(1'990ms);  // past max_hold: renewed once, and then left alone
    BOOST_TEST_REQUIRE(bool{first.value()});
    auto const renewals = server->count(scripts::renew);
    release(first.value());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(events->count("handed_over") == 1);
    time.advance(100ms);
    BOOST_TEST(server->count(scripts::renew) == renewals + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
