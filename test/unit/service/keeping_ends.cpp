// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What ends a kept lock: another client, a disturbance, the end of its own client.
#include "unit/service/keeper.hpp"
#include <colock/claim.hpp>

#include <memory>

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_keeping_ends, keeper)

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
    auto inside =
        test::make_core(context.get_executor(), with(keeping()), [this](fake_transport& made) {
            redis.attach(made);
        });
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
