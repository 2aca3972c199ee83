// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Several locks that are taken as one, and the locks that differ from the plain one in little.
#include "unit/harness.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>
#include <colock/spin_lock.hpp>

namespace colock::test {

namespace {

struct served : harness {
    served() { redis.attach(*server); }

    template <class Lock>
    pending_hold take(Lock const& of, acquire_options options = {})
    {
        pending_hold p;
        of.acquire(options, p.token());
        time.settle();
        return p;
    }
    template <class Lock>
    pending_try take_for(Lock const& of, milliseconds wait)
    {
        pending_try p;
        of.try_acquire_for(wait, p.token());
        time.settle();
        return p;
    }
    multi_lock both() const { return multi_lock{mutex("b"), mutex("a")}; }
    red_lock most() const { return red_lock{mutex("a"), mutex("b"), mutex("c")}; }
    bool is_any_locked()
    {
        return redis.is_locked("a") || redis.is_locked("b") || redis.is_locked("c");
    }

    fake_server redis;
};

BOOST_FIXTURE_TEST_SUITE(service_multi_lock, served)

BOOST_AUTO_TEST_CASE(all_are_asked_in_one_turn)
{
    auto held = take(both());
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(server->count(scripts::acquire) == 2U);
    BOOST_TEST((server->written().at(0).sent == server->written().at(1).sent));
    BOOST_TEST(held.value().fencing_token(1) > held.value().fencing_token(0));
    BOOST_TEST((held.value().valid_until() == clock::now() + validity));
    BOOST_TEST(release(held.value()).succeeded());
    BOOST_TEST(!is_any_locked());
    BOOST_TEST(release(held.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_given_back_and_taken_in_order)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(redis.is_locked("a"));  // it is before b in order, so it stays
    BOOST_TEST(server->count(scripts::release) == 0U);
    redis.free("b");
    time.settle();
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_wait_that_runs_out_leaves_nothing)
{
    redis.occupy("b", 5s);
    auto waiting = take_for(both(), 200ms);
    time.advance(200ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(!waiting.value().has_value());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(cancelled_while_all_are_asked)
{
    server->serve = {};
    auto& first = server->expect(scripts::acquire);
    auto& second = server->expect(scripts::acquire);
    auto waiting = take(both());
    BOOST_TEST_REQUIRE(second.has_come());
    server->serve = [](call const&) { return answer{answer::kind::replied, released(), {}, {}}; };
    waiting.cancel();
    time.settle();
    BOOST_TEST(waiting.aborted());
    first.reply(granted(1));
    second.reply(granted(2));
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 2U);
}

BOOST_AUTO_TEST_CASE(cancelled_while_one_is_waited_for)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    waiting.cancel();
    time.settle();
    BOOST_TEST(waiting.aborted());
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(client.stats().waiters == 0U);
}

BOOST_AUTO_TEST_CASE(lost_with_any_and_still_released)
{
    auto held = take(both());
    auto told = lost(held.value());
    redis.locks.erase("b");
    time.advance(1'100ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!held.value());
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST((release(held.value()).ec() == error::lost));
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(what_is_dropped_is_released)
{
    {
        auto const held = std::move(take(both()).value());
    }
    time.settle();
    BOOST_TEST(!is_any_locked());
}

BOOST_AUTO_TEST_CASE(a_lease_of_its_own_is_set_again_when_the_last_is_in)
{
    redis.occupy("b", 600ms);
    auto waiting = take(both(), {.lease = 1s});
    time.advance(610ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(waiting.value().valid_for(900ms));
    BOOST_TEST((redis.locks.at("a").until - clock::now() > 900ms));
}

BOOST_AUTO_TEST_CASE(extended_it_is_longer_in_all)
{
    auto held = take(both());
    BOOST_TEST(extend(held.value(), 10s).succeeded());
    BOOST_TEST(held.value().valid_for(9s));
    BOOST_TEST((redis.locks.at("b").until == clock::now() + 10s));
}

BOOST_AUTO_TEST_CASE(closing_ends_who_waits_and_releases_what_is_held)
{
    auto held = take(both());
    auto waiting = take(both());
    pending<> closed;
    client.close(closed.token());
    time.settle();
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(!is_any_locked());
    BOOST_TEST((acquire(mutex("a")).ec() == error::closed));
    BOOST_TEST((take(both()).ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_takes_all_along)
{
    auto held = take(both());
    pending_hold waiting;
    both().acquire(waiting.token());
    pending_hold voting;
    most().acquire(voting.token());
    time.settle();
    BOOST_TEST(!waiting.is_done());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_red_lock, served)

BOOST_AUTO_TEST_CASE(most_are_enough)
{
    redis.occupy("c", 5s);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST((held.value().valid_until() == clock::now() + validity));
    BOOST_TEST(held.value().fencing_token(2) == 0U);
    auto told = lost(held.value());
    redis.locks.erase("b");
    time.advance(1'100ms);
    BOOST_TEST(told.succeeded());
    release(held.value());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(without_most_all_is_given_back_and_tried_again)
{
    redis.occupy("b", 400ms);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(!redis.is_locked("a"));
    time.advance(600ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_not_waited_for)
{
    server->serve = {};
    auto& first = server->expect(scripts::acquire);
    auto& second = server->expect(scripts::acquire);
    auto& silent = server->expect(scripts::acquire);
    auto held = take(most());
    first.reply(granted(1));
    second.reply(granted(2));
    time.advance(149ms);  // a twentieth of the lease
    BOOST_TEST(!held.is_done());
    time.advance(1ms);
    BOOST_TEST(held.succeeded());
    auto& undo = server->expect(scripts::release);
    silent.reply(granted(3));
    time.settle();
    BOOST_TEST(undo.has_come());
    undo.reply(released());
    time.settle();
    redis.attach(*server);
}

BOOST_AUTO_TEST_CASE(too_few_answers_are_no_quorum)
{
    server->all_down();
    time.settle();
    pending_try once;
    most().try_acquire(once.token());
    time.advance(151ms);
    BOOST_TEST((once.ec() == error::no_quorum));
}

BOOST_AUTO_TEST_CASE(cancelled_while_it_rests)
{
    redis.occupy("b", 5s);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    time.advance(5ms);
    waiting.cancel();
    time.settle();
    BOOST_TEST(waiting.aborted());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(its_wait_runs_out_in_time)
{
    redis.occupy("b", 5s);
    redis.occupy("c", 5s);
    auto waiting = take_for(most(), 300ms);
    time.advance(299ms);
    BOOST_TEST(!waiting.is_done());
    time.advance(200ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(!waiting.value().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_spin_lock, served)

BOOST_AUTO_TEST_CASE(pauses_grow_and_nothing_is_subscribed)
{
    redis.occupy("k", 10s);
    auto waiting = take(spin_lock{client, "k", {100ms, 400ms, 2}});
    std::vector<milliseconds> pauses;
    for (int i = 0; i != 5; ++i) {
        auto const before = time.now();
        auto const sent = server->count(scripts::acquire);
        BOOST_TEST_REQUIRE(
            time.advance_until([&] { return server->count(scripts::acquire) != sent; }, 500ms)
        );
        pauses.push_back(std::chrono::ceil<milliseconds>(time.now() - before));
    }
    BOOST_TEST((pauses[0] >= 50ms && pauses[0] <= 100ms));
    BOOST_TEST((pauses[1] >= 100ms && pauses[1] <= 200ms));
    for (std::size_t i = 2; i != 5; ++i)
        BOOST_TEST((pauses[i] >= 200ms && pauses[i] <= 400ms));
    BOOST_TEST(server->changes().empty());
    waiting.cancel();
    time.settle();
}

BOOST_AUTO_TEST_CASE(the_end_of_the_lease_is_not_slept_through)
{
    redis.occupy("k", 30ms);
    auto waiting = take(spin_lock{client, "k", {1s, 1s, 1}});
    time.advance(31ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_script_hands_over)
{
    spin_lock const mine{client, "k"};
    auto first = take(mine), second = take(mine);
    auto const fields = redis.fields("k");
    auto const sent = server->written().size();
    release(first.value());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(server->written().size() == sent + 1);
    BOOST_TEST((redis.fields("k") == fields));
}

BOOST_AUTO_TEST_CASE(a_lock_of_the_same_name_here_hears_its_release)
{
    auto first = take(spin_lock{client, "k"});
    auto second = acquire();
    BOOST_TEST(!second.is_done());
    release(first.value());
    time.advance(1ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_fenced_lock, served)

BOOST_AUTO_TEST_CASE(draws_one_token_at_a_time_from_a_counter_of_its_own)
{
    fenced_lock const mine{client, "k"};
    auto first = take(mine), second = take(mine), third = take(mine);
    auto const& asked = server->written().front();
    BOOST_TEST(asked.keys.at(1) == "redisson_lock_token:{k}");
    BOOST_TEST(asked.arguments.at(2) == "1");
    release(first.value());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(last().arguments.at(2) == "1");
    BOOST_TEST(second.value().fencing_token() == first.value().fencing_token() + 1);
    release(second.value());
    BOOST_TEST(third.value().fencing_token() == second.value().fencing_token() + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
