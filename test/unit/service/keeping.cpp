// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A released lock that stays with its client for a while (`config::keep`).
#include "unit/service/keeper.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

#include <cstdint>

namespace colock::test {

namespace {

struct keeper_for_long : keeper {
    keeper_for_long() : keeper{keeping(5s, 20s)} {}
};

BOOST_FIXTURE_TEST_SUITE(service_keeping, keeper)

BOOST_AUTO_TEST_CASE(a_lock_that_comes_back_costs_no_command)
{
    auto token = keep_it();
    auto const field = redis.fields("k");
    auto const before = sent();
    for (int i = 0; i != 50; ++i) {
        auto h = take_now();
        BOOST_TEST(h.fencing_token() > token);
        BOOST_TEST(h.valid_for(2s));
        BOOST_TEST(bool{h});
        token = h.fencing_token();
        give_up(h);
        BOOST_TEST(!h);
    }
    BOOST_TEST(sent() == before);
    BOOST_TEST((redis.fields("k") == field));
    BOOST_TEST(events->count("handed_over") == 50);
    BOOST_TEST(events->count("released") == 53);
    time.advance(4ms);
    BOOST_TEST(is_kept());
    time.advance(1ms);
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST((last().what == &scripts::release));
    time.advance(1'200ms);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(server->subscribed().empty());
}

BOOST_AUTO_TEST_CASE(it_is_renewed_while_it_is_held_again)
{
    keep_it();
    auto h = take_now();
    time.advance(10s);
    BOOST_TEST(bool{h});
    BOOST_TEST(h.valid_for(1s));
    give_up(h);
    BOOST_TEST(!redis.is_locked("k"));  // its tenure is over
}

BOOST_AUTO_TEST_CASE(the_first_times_are_released_at_once)
{
    auto first = take_now();
    BOOST_TEST(server->changes().empty());  // a lock that never comes back subscribes to nothing
    give_up(first);
    BOOST_TEST(!redis.is_locked("k"));
    time.advance(200ms);
    BOOST_TEST(client.stats().keys == 0U);
    auto again = take_now();
    give_up(again);
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(server->changes().empty());
}

BOOST_AUTO_TEST_CASE(a_dropped_hold_is_kept_too)
{
    warm_up();
    {
        auto const h = take_now();
    }
    time.settle();
    BOOST_TEST(is_kept());
}

BOOST_AUTO_TEST_CASE(a_single_try_takes_it_too)
{
    keep_it();
    auto const before = sent();
    auto const tried = try_acquire();
    BOOST_TEST_REQUIRE(tried.succeeded());
    BOOST_TEST(tried.value().has_value());
    BOOST_TEST(sent() == before);
}

BOOST_AUTO_TEST_CASE(who_waits_here_is_handed_it_first)
{
    warm_up();
    auto h = take_now();
    auto next = acquire();
    give_up(h);
    BOOST_TEST_REQUIRE(next.succeeded());
    give_up(next.value());
    BOOST_TEST(is_kept());
    auto const before = sent();
    auto again = take_now();
    BOOST_TEST(sent() == before);
}

BOOST_AUTO_TEST_CASE(a_chain_ends_with_its_tenure)
{
    warm_up();
    auto const start = clock::now();
    auto h = take_now();
    auto const field = redis.fields("k");
    while (clock::now() < start + 20ms) {
        time.advance(2ms);
        give_up(h);
        h = take_now();
        BOOST_TEST((redis.fields("k") == field) == (clock::now() < start + 20ms));
    }
}

BOOST_AUTO_TEST_CASE(another_lease_is_set_by_a_script_with_the_same_field)
{
    auto const token = keep_it();
    auto const field = redis.fields("k");
    auto const before = sent();
    auto h = acquire({.lease = 5s});
    BOOST_TEST_REQUIRE(h.succeeded());
    BOOST_TEST(sent() == before + 1);
    BOOST_TEST(h.value().fencing_token() > token);
    BOOST_TEST((h.value().valid_until() == clock::now() + 5s - 52ms));
    BOOST_TEST((redis.fields("k") == field));
}

BOOST_AUTO_TEST_CASE(a_waiter_that_is_cancelled_meanwhile_leaves_nothing)
{
    keep_it();
    auto& asked = server->expect(scripts::acquire);
    auto h = acquire({.lease = 5s});
    h.cancel();
    time.settle();
    BOOST_TEST(h.aborted());
    asked.reply(redis.run(asked.seen()));
    time.settle();
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(for_replicas_it_is_released_first)
{
    keep_it();
    auto const before = server->count(scripts::release);
    auto h = acquire({.sync_replicas = 1});
    BOOST_TEST(server->count(scripts::release) == before + 1);
    BOOST_TEST(server->written().back().synced);
}

// ---- Other kinds -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_fenced_lock_draws_each_token_by_a_script)
{
    fenced_lock const fenced{client, "k"};
    std::uint64_t last = 0;
    for (int i = 0; i != 5; ++i) {
        auto p = take(fenced);
        BOOST_TEST_REQUIRE(p.succeeded());
        BOOST_TEST(p.value().fencing_token() == last + 1);
        last = p.value().fencing_token();
        give_up(p.value());
        BOOST_TEST(redis.is_locked("k") == (i >= 2));
    }
    BOOST_TEST(server->count(scripts::acquire) == 5U);
    BOOST_TEST(server->count(scripts::release) == 2U);
}

BOOST_AUTO_TEST_CASE(a_spin_lock_is_taken_again_by_a_script)
{
    spin_lock const spins{client, "k"};
    std::uint64_t last = 0;
    for (int i = 0; i != 5; ++i) {
        auto const before = sent();
        auto p = take(spins);
        BOOST_TEST_REQUIRE(p.succeeded());
        BOOST_TEST(sent() == before + 1);
        BOOST_TEST(p.value().fencing_token() > last);
        last = p.value().fencing_token();
        give_up(p.value());
        BOOST_TEST(sent() == before + (i < 1 ? 2U : 1U));
    }
    BOOST_TEST(server->changes().empty());
    time.advance(5ms);
    BOOST_TEST(!redis.is_locked("k"));
}

// The release that the next acquire begins ends at once, and with it all that is kept of the lock.
BOOST_AUTO_TEST_CASE(a_kept_lock_whose_release_is_refused_at_once_fails_the_next)
{
    keep_it();
    server->down_reason_to_tell = error::server_refused;
    server->all_down();
    time.settle();
    time.jump(3'001ms);  // the lease is over, and no timer has fired
    auto const next = acquire(mutex());
    BOOST_TEST((next.ec() == error::server_refused));
    time.advance(200ms);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_keeping_for_long, keeper_for_long)

BOOST_AUTO_TEST_CASE(half_the_validity_is_left_when_it_is_taken_again)
{
    keep_it();
    time.advance(1'483ms);
    BOOST_TEST(is_kept());
    auto h = take_now();
    BOOST_TEST(server->count(scripts::acquire) == 3U);
    BOOST_TEST((last().what == &scripts::renew)
    );  // which is due, and which the caller does not wait for
    BOOST_TEST(h.valid_for(1'480ms));
}

BOOST_AUTO_TEST_CASE(with_less_it_is_released)
{
    keep_it();
    time.advance(1'484ms);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(after_a_pause_of_the_process_no_stale_lock_is_taken)
{
    keep_it();
    auto const field = redis.fields("k");
    time.jump(3'001ms);  // the lease is over, and no timer has fired
    BOOST_TEST(!redis.is_locked("k"));
    auto const before = sent();
    auto h = take_now();
    BOOST_TEST(sent() != before);
    BOOST_TEST(h.valid_for(2s));
    BOOST_TEST(redis.is_locked("k"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
