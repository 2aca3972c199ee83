// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/fair_wait.hpp"
#include "unit/service/fair.hpp"

#include <deque>
#include <optional>

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_fair, fair)

// ---- Asking ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(granted_at_once_is_one_step)
{
    auto held = granted_at_once();
    call const c = last();
    BOOST_TEST(c.keys.at(0) == "k");
    BOOST_TEST(c.keys.at(1) == "redisson_lock_queue:{k}");
    BOOST_TEST(c.keys.at(2) == "redisson_lock_timeout:{k}");
    BOOST_TEST(c.keys.at(3) == "colock_lock_tickets:{k}");
    BOOST_TEST(c.keys.at(4) == decide::fence_counter(c.slot));
    BOOST_TEST(c.tokens == clock_tokens);
    std::vector<std::string> const expected{
        inside().field(1), "3000", "1", channel(), "300000", "5000"};
    BOOST_TEST(c.arguments == expected, boost::test_tools::per_element());
    BOOST_TEST(held.fencing_token() == 7U);
    BOOST_TEST((held.valid_until() == time.now() + validity));
    BOOST_TEST(!server->pubsub_wanted());
    BOOST_TEST(events->count("acquired") == 1);

    server->expect(scripts::fair_release).reply(released());
    BOOST_TEST(release(held).succeeded());
    BOOST_TEST(last().keys.size() == 4U);
    std::vector<std::string> const told{inside().field(1), channel(), "300000"};
    BOOST_TEST(last().arguments == told, boost::test_tools::per_element());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(without_fencing_there_is_no_counter)
{
    auto settings = patient();
    settings.fencing = false;
    fair other{settings};
    other.server->expect(scripts::fair_acquire).reply(granted(0));
    auto const got = other.wait();
    BOOST_TEST(got.value().fencing_token() == 0U);
    BOOST_TEST(other.last().keys.size() == 4U);
    BOOST_TEST(other.last().arguments.at(2) == "0");
    BOOST_TEST(other.last().tokens.empty());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_a_place_and_a_channel_of_its_own)
{
    server->hold_changes = true;
    server->expect(scripts::fair_acquire).reply(waits(60'000));
    auto got = wait();
    auto const own = last().field();
    BOOST_TEST(events->count("waiting") == 1);
    BOOST_TEST((events->last_lease == 60s));

    server->expect(scripts::fair_acquire).reply(waits(60'000));
    server->hold_changes = false;
    server->confirm_change();
    time.settle();
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_subscribed(own));

    server->expect(scripts::fair_acquire).reply(granted(3));
    tell(own);
    BOOST_TEST(got.succeeded());
    BOOST_TEST(last().field() == own);
    BOOST_TEST(events->last_attempts == 3U);
    server->expect(scripts::renew).reply(done());
    time.advance(1'100ms);
    BOOST_TEST(!is_subscribed(own));
}

BOOST_AUTO_TEST_CASE(a_message_during_a_try_is_not_missed)
{
    auto got = placed();
    auto& asked = server->expect(scripts::fair_acquire);
    tell(field);
    tell(field);
    server->expect(scripts::fair_acquire).reply(granted(3));
    respond(asked, waits(60'000));
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(the_message_of_its_own_release_is_news_to_the_next)
{
    auto held = granted_at_once();
    auto got = placed();
    server->expect(scripts::fair_release).reply(released(1));
    BOOST_TEST(release(held).succeeded());
    server->expect(scripts::fair_acquire).reply(granted(8));
    tell(field);
    BOOST_TEST(got.succeeded());
    BOOST_TEST(events->count("handed_over") == 0);
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_again_with_the_same_number)
{
    server->expect(scripts::fair_acquire).lose();
    server->expect(scripts::fair_acquire).reply(granted(3));
    auto const got = wait();
    BOOST_TEST(got.succeeded());
    BOOST_TEST(server->written()[0].field() == server->written()[1].field());
}

// On two links the answers to two tickets may cross: which of them has the lock the server says.
BOOST_AUTO_TEST_CASE(answers_that_cross_are_asked_about)
{
    auto& slow = server->expect(scripts::fair_acquire);
    auto first = wait({.sync_replicas = 1});
    time.advance(1ms);
    auto const second = granted_at_once();
    server->serve = [&](call const& c) -> std::optional<answer> {
        bool const is_first = c.arguments.front() == slow.seen().field();
        auto const got = c.what != &scripts::renew ? released() : is_first ? not_there() : done();
        return answer{answer::kind::replied, got, {}, {}};
    };
    time.advance(1ms);
    respond(slow, granted(6));
    BOOST_TEST(first.gave_nothing());
    BOOST_TEST(bool{second});
    BOOST_TEST(server->count(scripts::renew) == 2U);
}

BOOST_AUTO_TEST_CASE(an_error_ends_the_one_who_asked)
{
    auto first = placed();
    server->expect(scripts::fair_acquire).fail(error::wrong_type);
    auto second = wait();
    BOOST_TEST((second.ec() == error::wrong_type));
    BOOST_TEST(server->count(scripts::fair_release) == 0U);
    // One that had a place leaves it.
    server->expect(scripts::fair_acquire).fail(error::wrong_type);
    server->expect(scripts::fair_release).reply(gone());
    tell(field);
    BOOST_TEST((first.ec() == error::wrong_type));
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_shape_is_an_error)
{
    server->expect(scripts::fair_acquire).reply(reply::of("hello"));
    server->expect(scripts::fair_release).reply(gone());
    BOOST_TEST((wait().ec() == error::bad_reply));
    BOOST_TEST(server->all_came());
}

// ---- Trying once -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(who_tries_once_takes_no_place)
{
    server->expect(scripts::fair_acquire).reply(waits(400));
    auto const got = attempt();
    BOOST_TEST(got.gave_nothing());
    BOOST_TEST(last().arguments.at(5) == "0");
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(who_tries_once_asks_nobody_while_others_wait_here)
{
    auto const other = placed();
    auto const steps = server->written().size();
    auto const got = attempt();
    BOOST_TEST(got.gave_nothing());
    BOOST_TEST(server->written().size() == steps);
}

BOOST_AUTO_TEST_CASE(who_tries_once_and_gets_no_answer_leaves_nothing)
{
    auto& asked = server->expect(scripts::fair_acquire);
    auto const got = attempt();
    time.advance(2'000ms);
    BOOST_TEST((got.ec() == error::unavailable));
    server->expect(scripts::fair_release).reply(released());
    lose(asked);
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

// ---- Owners ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(its_owner_enters_again_by_extend)
{
    owner const me;
    auto outer = granted_at_once({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = wait({.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST(last().depth() == "2");
    BOOST_TEST(inner.value().fencing_token() == 7U);
    server->expect(scripts::extend).reply(done());
    BOOST_TEST(release(outer).succeeded());
    server->expect(scripts::fair_release).reply(released());
    BOOST_TEST(release(inner.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(another_owner_of_the_same_client_stands_in_the_queue)
{
    auto const held = granted_at_once({.as = owner{}});
    auto const other = placed(60'000, {.as = owner{}});
    BOOST_TEST(!other.is_done());
}

BOOST_AUTO_TEST_CASE(who_waits_under_the_owners_name_is_let_in_and_leaves_the_queue)
{
    owner const me;
    auto const first = placed(60'000, {.as = me});
    auto const own = field;
    auto const second = placed(60'000, {.as = me});
    server->expect(scripts::fair_acquire).reply(granted(3));
    // In the order of a link: what extends comes before what releases.
    server->expect(scripts::extend).reply(done());
    server->expect(scripts::fair_release).reply(gone());
    tell(own);
    BOOST_TEST(server->all_came());
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(last().field() == field);
    auto count = mine.hold_count(me, settled());
    BOOST_TEST(count.value() == 2);
}

BOOST_AUTO_TEST_CASE(a_grant_to_another_ends_what_this_client_still_believes_in)
{
    auto const held = granted_at_once();
    auto const gone_away = lost(held);
    auto const next = placed();
    server->expect(scripts::fair_acquire).reply(granted(9));
    tell(field);
    BOOST_TEST(next.succeeded());
    BOOST_TEST(gone_away.succeeded());
    BOOST_TEST(!held);
}

BOOST_AUTO_TEST_CASE(forced_by_this_client_it_is_lost_at_once)
{
    auto const held = granted_at_once();
    server->expect(scripts::fair_force).reply(done());
    auto forced = mine.force_release(settled());
    BOOST_TEST(forced.gave_something());
    BOOST_TEST(last().keys.size() == 4U);
    std::vector<std::string> const expected{
        channel(), "300000", "+redisson_lock__channel:{colock}:mailbox:"};
    BOOST_TEST(last().arguments == expected, boost::test_tools::per_element());
    BOOST_TEST(!held);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// Waiters, one of which goes; played until so many handlers have run.
struct crowd {
    crowd() { redis.attach(*h.server); }

    void begin()
    {
        for (int i = 0; i != 4; ++i)
            h.mine.acquire({.as = i < 2 ? me : owner{}}, waiting.emplace_back().token());
        waiting[2].cancel();
    }
    /// Releases whatever somebody has.
    void release_all()
    {
        for (auto& each : waiting)
            if (each.is_done() && each.value())
                each.value().release(ends.emplace_back().token());
    }

    script_server redis;
    fair h;
    owner me;
    std::deque<pending_hold> waiting;
    std::deque<pending<>> ends;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_fair_crowd)

BOOST_FIXTURE_TEST_CASE(all_are_served_in_the_order_of_their_calls, fair)
{
    script_server redis;
    redis.attach(*server);
    std::deque<pending_hold> all;
    for (int i = 0; i != 20; ++i)
        all.push_back(wait());
    for (std::size_t i = 0; i != all.size(); ++i) {
        BOOST_TEST_REQUIRE(all[i].succeeded());
        for (std::size_t later = i + 1; later != all.size(); ++later)
            BOOST_TEST(!all[later].is_done());
        BOOST_TEST(all[i].value().fencing_token() == i + 1);
        BOOST_TEST(release(all[i].value()).succeeded());
    }
    BOOST_TEST(redis.queue_length("k") == 0);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_whenever_all_are_cancelled)
{
    for (std::size_t handlers = 0; handlers != 60; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        for (auto& each : c.waiting)
            each.cancel();
        for (int i = 0; i != 5; ++i) {
            c.h.time.advance(100ms);
            c.release_all();
        }
        // A place that nobody could be told of is looked at again when it counts as dead.
        c.h.time.jump(decide::ticket_life);
        c.h.time.settle();
        BOOST_TEST(c.redis.queue_length("k") == 0);
        BOOST_TEST(!c.redis.is_locked("k"));
        BOOST_TEST(c.h.is_forgotten());
        for (auto& each : c.waiting)
            BOOST_TEST(each.calls() == 1);
    }
}

BOOST_AUTO_TEST_CASE(its_context_may_be_destroyed_at_any_moment)
{
    for (std::size_t handlers = 0; handlers != 80; ++handlers) {
        std::deque<pending_hold> waiting;
        std::deque<pending<>> ends;
        {
            crowd c;
            c.begin();
            while (c.h.time.handlers() < handlers && c.h.time.step()) {}
            if (handlers % 2)
                c.release_all();
            for (auto& each : c.waiting)
                each.value() = hold{};  // no hold may outlive its context
            waiting = c.waiting;
            ends = c.ends;
        }
        for (auto const& each : waiting)
            BOOST_TEST(each.calls() <= 1);
        for (auto const& each : ends)
            BOOST_TEST(each.calls() <= 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
