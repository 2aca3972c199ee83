// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A released lock that stays with its client for a while (`config::keep`).
#include "unit/service/group.hpp"
#include <colock/claim.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

#include <memory>
#include <string>
#include <utility>

namespace colock::test {

namespace {

config keeping(milliseconds keep = 5ms, milliseconds tenure = 20ms)
{
    auto settings = short_leases();
    settings.keep = keep;
    settings.max_tenure = tenure;
    return settings;
}

/// The fixture's own client keeps locks; another client of the same server does not.
struct keeper : served {
    explicit keeper(config settings = keeping())
        : served{std::move(settings)}
        , other{detail::client_access::make(detail::client_state::make(
              context.get_executor(),
              with(short_leases()),
              [this](detail::core& inside, transport_listener& who) {
                  auto made = std::make_unique<fake_transport>(inside, who);
                  there = made.get();
                  redis.attach(*there);
                  return made;
              }
          ))}
    {
        other.run(other_run.token());
        time.settle();
    }

    hold take_now(lock const& of)
    {
        auto p = acquire(of);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    hold take_now() { return take_now(mutex()); }
    void give_up(hold& h) { BOOST_TEST(release(h).succeeded()); }

    /// Taken and released twice: from the next time on it is kept.
    void warm_up()
    {
        for (int i = 0; i != 2; ++i) {
            auto h = take_now();
            give_up(h);
            BOOST_TEST(!redis.is_locked("k"));
        }
    }
    /// Released, and kept.
    std::uint64_t keep_it()
    {
        warm_up();
        auto h = take_now();
        auto const token = h.fencing_token();
        give_up(h);
        BOOST_TEST_REQUIRE(is_kept());
        return token;
    }
    bool is_kept() { return redis.is_locked("k") && client.stats().holds == 0U; }
    std::size_t sent() const { return server->written().size(); }
    pending_hold acquire_there()
    {
        pending_hold p;
        lock{other, "k"}.acquire(p.token());
        time.settle();
        return p;
    }
    std::string wanted_channel() { return channel() + ":" + inside().uuid() + ":wanted"; }

    fake_transport* there = nullptr;
    pending<> other_run;
    colock::client other;
};

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

// ---- Others ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_waiter_in_the_list_ends_it_at_once)
{
    keep_it();
    auto const got = acquire_there();  // and no time passes
    BOOST_TEST(got.succeeded());
    BOOST_TEST(got.value().fencing_token() > 0U);
}

BOOST_AUTO_TEST_CASE(who_came_while_it_was_held_is_not_kept_waiting)
{
    warm_up();
    auto h = take_now();
    auto const got = acquire_there();
    BOOST_TEST(!got.is_done());
    give_up(h);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(who_stood_in_the_list_before_is_not_kept_waiting)
{
    warm_up();
    redis.ask({"RPUSH", "colock_wait:{k}", "somebody"});
    auto h = take_now();
    give_up(h);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(another_client_that_had_it_since_is_not_kept_waiting)
{
    keep_it();
    auto got = acquire_there();
    BOOST_TEST_REQUIRE(got.succeeded());
    auto waiting = acquire();
    BOOST_TEST(!waiting.is_done());
    pending<> released;
    got.value().release(released.token());
    time.settle();
    time.advance(10ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    give_up(waiting.value());
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(while_others_hear_its_releases_it_is_not_kept)
{
    redis.others = 1;  // such as a waiter of Redisson
    for (int i = 0; i != 5; ++i) {
        auto h = take_now();
        give_up(h);
        BOOST_TEST(!redis.is_locked("k"));
        time.advance(15ms);
    }
    BOOST_TEST(server->changes().empty());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_does_not_stand_in_the_list_gets_in_when_the_time_is_over)
{
    keep_it();
    there->forbidden.insert(channel() + ":" + detail::client_access::inside(other)->uuid());
    auto const got = acquire_there();
    BOOST_TEST(!got.is_done());
    time.advance(6ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(without_its_channel_nothing_is_kept)
{
    server->forbidden.insert(wanted_channel());
    warm_up();
    for (int i = 0; i != 3; ++i) {
        auto h = take_now();
        give_up(h);
        BOOST_TEST(!redis.is_locked("k"));
    }
}

BOOST_AUTO_TEST_CASE(a_lost_subscription_ends_it)
{
    keep_it();
    server->pubsub_down();
    time.settle();
    BOOST_TEST(!redis.is_locked("k"));
    auto h = take_now();
    give_up(h);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_reached_again_ends_it)
{
    keep_it();
    redis.clear();  // it may have lost everything
    server->link_down(link());
    server->link_up(link());
    time.settle();
    auto const before = sent();
    auto h = take_now();
    BOOST_TEST(sent() != before);
    BOOST_TEST(redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(what_was_forced_is_not_taken_again)
{
    keep_it();
    auto const before = server->count(scripts::release);
    pending<bool> forced;
    lock{other, "k"}.force_release(forced.token());
    time.settle();
    BOOST_TEST_REQUIRE(forced.succeeded());
    BOOST_TEST(server->count(scripts::release) == before + 1);  // if it still stands
    auto const theirs = acquire_there();
    BOOST_TEST_REQUIRE(theirs.succeeded());
    auto const mine = acquire();
    BOOST_TEST(!mine.is_done());
    BOOST_TEST(redis.fields("k").size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_force_by_this_client_ends_it)
{
    keep_it();
    force("k");
    BOOST_TEST(!redis.is_locked("k"));
    auto const before = sent();
    auto h = take_now();
    BOOST_TEST(sent() == before + 1);
    BOOST_TEST(bool{h});
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_adopted_is_kept_by_nobody_who_did_not_hear)
{
    warm_up();
    auto theirs = acquire_there();
    BOOST_TEST_REQUIRE(theirs.succeeded());
    pending<claim> given;
    theirs.value().give(given.token());
    time.settle();
    pending_hold mine;
    client.adopt(given.value(), mine.token());
    time.settle();
    BOOST_TEST_REQUIRE(mine.succeeded());
    give_up(mine.value());
    BOOST_TEST(!redis.is_locked("k"));
}

// ---- The end of the client ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(close_releases_it)
{
    keep_it();
    pending<> closed;
    client.close(closed.token());
    time.settle();
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_destroyed_releases_it)
{
    auto inside = detail::client_state::make(
        context.get_executor(),
        with(keeping()),
        [this](detail::core& of, transport_listener& who) {
            auto made = std::make_unique<fake_transport>(of, who);
            redis.attach(*made);
            return made;
        }
    );
    std::unique_ptr<colock::client> mortal{
        new colock::client{detail::client_access::make(std::move(inside))}};
    for (int i = 0; i != 3; ++i) {
        auto h = take_now(lock{*mortal, "k"});
        give_up(h);
    }
    BOOST_TEST_REQUIRE(redis.is_locked("k"));
    mortal.reset();
    time.settle();
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_client_that_is_stopped_leaves_it_to_its_lease)
{
    keep_it();
    client.stop();
    time.settle();
    BOOST_TEST(redis.is_locked("k"));
    other.stop();
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, 110ms));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_closing_client_keeps_nothing)
{
    warm_up();
    auto h = take_now();
    auto& releasing = server->expect(scripts::release);
    pending<> closed;
    client.close(closed.token());
    time.settle();
    releasing.reply(redis.run(releasing.seen()));
    time.settle();
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(!redis.is_locked("k"));
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
