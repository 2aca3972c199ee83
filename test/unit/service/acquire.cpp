// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_acquire, harness)

BOOST_AUTO_TEST_CASE(granted_is_a_hold_with_all_that_it_promises)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    auto const sent = time.now();
    BOOST_TEST(!got.is_done());
    time.advance(40ms);
    respond(asked, granted(17));
    BOOST_TEST_REQUIRE(got.succeeded());
    hold const held = std::move(got.value());
    BOOST_TEST(static_cast<bool>(held));
    BOOST_TEST(held.fencing_token() == 17U);
    BOOST_TEST((held.valid_until() == sent + validity));
    BOOST_TEST(held.valid_for(2'900ms));
    BOOST_TEST(!held.valid_for(3s));

    auto const& c = asked.seen();
    BOOST_TEST(c.key() == "k");
    BOOST_TEST(c.keys.at(1) == decide::fence_counter(c.slot));
    BOOST_TEST(c.field() == inside().field(1));
    BOOST_TEST(c.lease() == "3000");
    BOOST_TEST(c.tokens == clock_tokens);
    BOOST_TEST(client.stats().holds == 1U);
    BOOST_TEST(client.stats().waiters == 0U);
    BOOST_TEST((events->events.back() == std::pair<std::string, std::string>{"acquired", "k"}));
    BOOST_TEST((events->last_waited == 40ms));
    BOOST_TEST(events->last_attempts == 1U);
    BOOST_TEST(!server->pubsub_wanted());
}

BOOST_AUTO_TEST_CASE(each_ownership_has_a_field_of_its_own)
{
    auto first = held();
    server->expect(scripts::release).reply(released());
    release(first);
    auto second = held();
    BOOST_TEST(server->written().front().field() != last().field());
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_again_with_the_same_field)
{
    server->expect(scripts::acquire).lose();
    server->expect(scripts::acquire).lose();
    server->expect(scripts::acquire).reply(granted(3));
    auto got = acquire();
    BOOST_TEST(got.succeeded());
    BOOST_TEST(server->written().size() == 3U);
    BOOST_TEST(server->written()[0].field() == server->written()[2].field());
    BOOST_TEST(events->last_attempts == 3U);
}

BOOST_AUTO_TEST_CASE(what_may_stand_in_redis_is_released_when_nobody_waits_any_more)
{
    server->expect(scripts::acquire).lose();
    auto& second = server->expect(scripts::acquire);
    auto got = acquire();
    server->expect(scripts::release).reply(gone());
    cancel(got);
    BOOST_TEST(got.aborted());
    lose(second);
    BOOST_TEST(server->count(scripts::release) == 1U);
    BOOST_TEST(last().field() == server->written()[0].field());
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_refusal_by_the_server_fails_all_who_wait)
{
    for (int i = 0; i != 2; ++i)  // the second has come after the first request
        server->expect(scripts::acquire).fail(error::wrong_type);
    auto a = acquire(), b = acquire();
    time.settle();
    BOOST_TEST((a.ec() == error::wrong_type && b.ec() == error::wrong_type));
    BOOST_TEST(!a.value());
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_shape_is_an_error)
{
    server->expect(scripts::acquire).reply(reply::of("hello"));
    server->expect(scripts::release).reply(gone());  // it may have taken something
    BOOST_TEST((acquire().ec() == error::bad_reply));
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(an_old_answer_is_not_given_out)
{
    auto& slow = server->expect(scripts::acquire);
    auto got = acquire();
    time.advance(1'485ms);  // half of the validity, and 1 ms
    auto& again = server->expect(scripts::acquire);
    respond(slow, granted(3));
    BOOST_TEST(!got.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == slow.seen().field());
    auto const sent = time.now();
    respond(again, granted(4));
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST((got.value().valid_until() == sent + validity));
    BOOST_TEST(got.value().fencing_token() == 4U);
}

BOOST_AUTO_TEST_CASE(an_answer_after_its_own_validity_grants_nothing_even_after_a_standstill)
{
    auto& slow = server->expect(scripts::acquire);
    auto got = acquire();
    for (int tries = 0; tries != 2; ++tries)
        server->expect(scripts::acquire).reply(refused(500));
    time.jump(10s);
    respond(slow, granted(3));
    BOOST_TEST(!got.is_done());
    BOOST_TEST(server->all_came());
}

// A lease that is never fresh when its answer comes: it is asked for at the pace of the answers,
// and given back in between, so that others have a chance.
BOOST_AUTO_TEST_CASE(the_shortest_leases_do_not_spin)
{
    int asked = 0, given_back = 0;
    server->serve = [&](call const& c) -> std::optional<answer> {
        time.jump(10ms);  // a round trip
        bool const takes = c.what == &scripts::acquire;
        ++(takes ? asked : given_back);
        auto const value = takes ? granted(asked) : released();
        return answer{answer::kind::replied, value, {}, {}};
    };
    pending_hold got;
    mutex().acquire({.lease = 10ms}, got.token());
    auto const end = time.now() + 1s;
    int handlers = 0;
    for (; time.now() < end && handlers < 10'000; ++handlers)
        if (!time.step())
            time.jump(1ms);
    BOOST_TEST(!got.is_done());
    BOOST_TEST(asked > 10);
    BOOST_TEST(asked + given_back <= 100);
    BOOST_TEST(given_back >= asked / 2 - 1);
    BOOST_TEST(handlers < 2'000);
    cancel(got);
}

BOOST_AUTO_TEST_CASE(while_no_link_is_up_nothing_is_sent)
{
    cut_all();
    auto got = acquire();
    time.advance(10s);
    BOOST_TEST(!got.is_done());
    BOOST_TEST(server->written().empty());
    server->expect(scripts::acquire).reply(granted(3));
    mend_all();
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST((got.value().valid_until() == time.now() + validity));
}

BOOST_AUTO_TEST_CASE(an_attempt_that_was_not_sent_is_withdrawn)
{
    cut_all();
    auto got = acquire();
    BOOST_TEST(server->unsent() == 1U);
    cancel(got);
    BOOST_TEST(got.aborted());
    BOOST_TEST(server->unsent() == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(client.stats().waiters == 0U);
}

BOOST_AUTO_TEST_CASE(a_grant_for_nobody_is_released_once)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    cancel(got);
    BOOST_TEST(got.aborted());
    auto& undo = server->expect(scripts::release);
    time.advance(100ms);
    BOOST_TEST(server->count(scripts::release) == 0U);  // not before its answer
    respond(asked, granted(5));
    BOOST_TEST_REQUIRE(undo.has_come());
    BOOST_TEST(undo.seen().field() == asked.seen().field());
    BOOST_TEST(client.stats().owed_releases == 1U);
    undo.reply(released());
    time.advance(5s);
    BOOST_TEST(server->count(scripts::release) == 1U);
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(events->count("acquired") == 0);
}

BOOST_AUTO_TEST_CASE(a_new_waiter_takes_the_grant_of_a_cancelled_one)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire();
    first.cancel();
    auto second = acquire();
    BOOST_TEST(first.aborted());
    respond(asked, granted(5));
    BOOST_TEST(second.succeeded());
    BOOST_TEST(server->written().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_grant_with_another_lease_than_the_new_head_wants_is_renewed_first)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire({.lease = 60s}), second = acquire();
    first.cancel();
    auto& again = server->expect(scripts::acquire);
    respond(asked, granted(5));
    BOOST_TEST(!second.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == asked.seen().field());
    BOOST_TEST(again.seen().lease() == "3000");
    respond(again, granted(6));
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST((second.value().valid_until() == time.now() + validity));
}

BOOST_AUTO_TEST_CASE(bad_arguments_are_refused_and_nothing_is_sent)
{
    auto const check = [&](lock const& of, acquire_options const& options) {
        pending_hold p;
        of.acquire(options, p.token());
        BOOST_TEST(!p.is_done());
        time.settle();
        BOOST_TEST((p.ec() == error::invalid_argument));
    };
    check(mutex(""), {});
    check(mutex(std::string(10'001, 'x')), {});
    check(mutex(), {.lease = 0ms});
    check(mutex(), {.lease = -1ms});
    check(mutex(), {.lease = std::chrono::hours{24 * 3'654}});
    BOOST_TEST((try_for(-1ms).ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
    BOOST_TEST(client.stats().keys == 0U);
    server->expect(scripts::acquire).reply(granted(1));
    BOOST_TEST(acquire(mutex(std::string(10'000, 'x'))).succeeded());
}

// A step of an earlier waiter may still run, and it sets a short lease.
BOOST_AUTO_TEST_CASE(a_grant_of_which_little_is_proven_is_not_given_out)
{
    server->ends_old_connections = false;
    auto& lost = server->expect(scripts::acquire);
    auto first = acquire({.lease = 100ms});
    auto second = acquire({.lease = 3s});
    BOOST_TEST_REQUIRE(lost.has_come());
    cut();
    cancel(first);
    auto& found = server->expect(scripts::acquire);
    auto& asked = server->expect(scripts::acquire);
    mend();
    BOOST_TEST_REQUIRE(found.has_come());
    respond(found, granted(1));
    BOOST_TEST_REQUIRE(asked.has_come());
    time.advance(90ms);
    auto& again = server->expect(scripts::acquire);
    respond(asked, granted(2));
    BOOST_TEST(!second.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    server->expect(scripts::release).reply(released());
    auto& anew = server->expect(scripts::acquire);
    respond(again, granted(3));
    BOOST_TEST_REQUIRE(anew.has_come());
    respond(anew, granted(4));
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(bool{second.value()});
    server->expect(scripts::release).reply(released());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
