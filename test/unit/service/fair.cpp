// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"
#include <colock/fair_lock.hpp>

#include <deque>
#include <set>

namespace colock::test {

namespace {

/// Refused, with the ms until it is worth asking again; the same of a ticket that is kept.
reply waits(std::int64_t ask_in) { return refused(ask_in); }

/// The answer to a call that keeps several tickets.
reply each(std::vector<reply> parts) { return reply::of(std::move(parts)); }

config patient()
{
    auto c = short_leases();
    c.poll_cap = 60s;  // what is not told is to come by the heart-beat
    return c;
}

struct fair : harness {
    explicit fair(config settings = patient()) : harness{std::move(settings)} {}

    fair_lock mine{client, "k"};

    pending_hold wait(acquire_options options = {})
    {
        pending_hold p;
        mine.acquire(options, p.token());
        time.settle();
        return p;
    }
    pending_try attempt()
    {
        pending_try p;
        mine.try_acquire(p.token());
        time.settle();
        return p;
    }

    /// A waiter with a place, whose subscription is confirmed.
    pending_hold placed(std::int64_t ask_in = 60'000, acquire_options options = {})
    {
        server->expect(scripts::fair_acquire).reply(waits(ask_in));
        server->expect(scripts::fair_acquire).reply(waits(ask_in));
        auto p = wait(options);
        BOOST_TEST_REQUIRE(server->all_came());
        BOOST_TEST(!p.is_done());
        field = last().field();
        return p;
    }
    hold granted_at_once(acquire_options options = {})
    {
        server->expect(scripts::fair_acquire).reply(granted(7));
        auto p = wait(options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    void tell(std::string const& whom)
    {
        server->publish(channel() + ":" + whom);
        time.settle();
    }
    bool is_subscribed(std::string const& whom) const
    {
        return server->subscribed().contains(channel() + ":" + whom);
    }
    bool is_forgotten() const
    {
        auto const now = client.stats();
        return now.keys == 0 && now.waiters == 0 && now.owed_releases == 0;
    }

    std::string field;  ///< of the one placed last
};

constexpr auto beat = 1'666ms;

}  // namespace

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
    BOOST_TEST(c.has_floor);
    std::vector<std::string> const expected{
        inside().field(1), "3000", "1", channel(), "300000", "5000"};
    BOOST_TEST(c.arguments == expected, boost::test_tools::per_element());
    BOOST_TEST(held.fencing_token() == 7U);
    BOOST_TEST((held.valid_until() == time.now() + validity));
    BOOST_TEST(!server->push_wanted());
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
    BOOST_TEST(!other.last().has_floor);
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
    asked.reply(waits(60'000));
    time.settle();
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

BOOST_AUTO_TEST_CASE(a_server_that_says_not_now_is_asked_after_a_pause)
{
    server->expect(scripts::fair_acquire).not_now();
    auto got = wait();
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(19ms);
    BOOST_TEST(!got.is_done());
    time.advance(2ms);
    BOOST_TEST(got.succeeded());
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
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(!got.value().has_value());
    BOOST_TEST(last().arguments.at(5) == "0");
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(who_tries_once_asks_nobody_while_others_wait_here)
{
    auto const other = placed();
    auto const steps = server->written().size();
    auto const got = attempt();
    BOOST_TEST((got.succeeded() && !got.value()));
    BOOST_TEST(server->written().size() == steps);
}

BOOST_AUTO_TEST_CASE(who_tries_once_and_gets_no_answer_leaves_nothing)
{
    auto& asked = server->expect(scripts::fair_acquire);
    auto const got = attempt();
    time.advance(2'000ms);
    BOOST_TEST((got.ec() == error::unavailable));
    server->expect(scripts::fair_release).reply(released());
    asked.lose();
    time.settle();
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

// ---- The heart-beat ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_place_is_kept_three_times_in_its_life)
{
    auto const got = placed();
    time.advance(beat - 1ms);
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(1ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().keys.size() == 4U);
    std::vector<std::string> const expected{field, "300000", "5000"};
    BOOST_TEST(last().arguments == expected, boost::test_tools::per_element());
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(the_heart_beat_says_that_a_message_was_missed)
{
    auto got = placed();
    server->expect(scripts::fair_keep).reply(each({waits(0)}));
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(beat);
    BOOST_TEST(got.succeeded());
    server->expect(scripts::fair_release).reply(released());
    BOOST_TEST(release(got.value()).succeeded());
    time.advance(2 * beat);
    BOOST_TEST(server->count(scripts::fair_keep) == 1U);
}

BOOST_AUTO_TEST_CASE(who_has_lost_his_place_asks_for_another_under_his_number)
{
    auto const got = placed();
    server->expect(scripts::fair_keep).reply(each({not_there()}));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(an_answer_from_before_the_grant_says_nothing)
{
    auto const got = placed();
    auto& kept = server->expect(scripts::fair_keep);
    time.advance(beat);
    server->expect(scripts::fair_acquire).reply(granted(3));
    tell(field);
    BOOST_TEST(got.succeeded());
    kept.reply(each({not_there()}));
    time.settle();
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(an_answer_from_before_the_last_try_says_nothing)
{
    auto const got = placed();
    auto& kept = server->expect(scripts::fair_keep);
    time.advance(beat);
    time.advance(5ms);
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    tell(field);
    kept.reply(each({not_there()}));
    time.settle();
    BOOST_TEST(server->all_came());
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(many_are_kept_by_few_calls)
{
    server->serve = [](call const& c) {
        reply const r = c.what == &scripts::fair_keep
            ? each(std::vector(c.keys.size() / 4, waits(50'000)))
            : waits(50'000);
        return answer{answer::kind::replied, r, {}, {}};
    };
    std::vector<pending_hold> all;
    for (int i = 0; i != 130; ++i)
        all.push_back(wait());
    time.advance(beat);
    BOOST_TEST(server->count(scripts::fair_keep) == 2U);
    BOOST_TEST(last().keys.size() == 4U * 2U);
}

BOOST_AUTO_TEST_CASE(a_refused_call_lets_each_ask_for_itself)
{
    auto const first = placed();
    auto const second = placed();
    server->expect(scripts::fair_keep).fail(error::server_refused);
    server->expect(scripts::fair_acquire).fail(error::server_refused);
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_release).reply(gone());
    time.advance(beat);
    BOOST_TEST(server->all_came());
    BOOST_TEST((first.ec() == error::server_refused));
    BOOST_TEST(!second.is_done());
}

// ---- Time --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_first_asks_when_the_lease_ends_and_the_others_sleep)
{
    auto const first = placed(500);
    auto const own = field;
    auto const second = placed(500);
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(500ms);
    BOOST_TEST(!first.is_done());
    time.advance(11ms);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(last().field() == own);
    BOOST_TEST(!second.is_done());
}

BOOST_AUTO_TEST_CASE(the_next_one_asks_when_the_first_has_gone)
{
    auto first = placed(500);
    auto const second = placed(500);
    server->expect(scripts::fair_release).reply(gone());
    first.cancel();
    time.settle();
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(511ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(the_first_asks_each_poll_cap)
{
    auto settings = patient();
    settings.poll_cap = 300ms;
    fair other{settings};
    auto const got = other.placed(-1);
    other.server->expect(scripts::fair_acquire).reply(waits(-1));
    other.time.advance(300ms);
    BOOST_TEST(other.server->all_came());
    other.server->expect(scripts::fair_acquire).reply(granted(3));
    other.time.advance(300ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(what_the_heart_beat_names_the_first_waits_for)
{
    auto const got = placed();
    server->expect(scripts::fair_keep).reply(each({waits(200)}));
    time.advance(beat);
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(200ms);
    BOOST_TEST(!got.is_done());
    time.advance(11ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(an_old_answer_is_not_given_out)
{
    auto& slow = server->expect(scripts::fair_acquire);
    auto got = wait();
    time.advance(1'485ms);  // half of the validity, and 1 ms
    auto& again = server->expect(scripts::fair_acquire);
    slow.reply(granted(3));
    time.settle();
    BOOST_TEST(!got.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == slow.seen().field());
    // Late again: others have their turn.
    time.advance(1'485ms);
    server->expect(scripts::fair_release).reply(released());
    server->expect(scripts::fair_acquire).reply(granted(5));
    again.reply(granted(4));
    time.settle();
    BOOST_TEST(got.succeeded());
    BOOST_TEST(last().field() != slow.seen().field());
}

// ---- Leaving -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(cancelled_before_it_was_sent_it_leaves_nothing)
{
    server->all_down();
    time.settle();
    auto got = wait();
    got.cancel();
    time.settle();
    BOOST_TEST(got.aborted());
    BOOST_TEST(server->unsent() == 0U);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_under_way_it_gives_back_whatever_the_answer_is)
{
    for (auto const& answered : {granted(3), waits(50'000)}) {
        auto& asked = server->expect(scripts::fair_acquire);
        auto got = wait();
        got.cancel();
        time.settle();
        BOOST_TEST(got.aborted());
        server->expect(scripts::fair_release).reply(gone());
        asked.reply(answered);
        time.settle();
        BOOST_TEST(server->all_came());
        BOOST_TEST(last().field() == asked.seen().field());
        BOOST_TEST(is_forgotten());
    }
}

BOOST_AUTO_TEST_CASE(cancelled_before_its_subscription_is_confirmed)
{
    server->hold_changes = true;
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    auto got = wait();
    server->expect(scripts::fair_release).reply(gone());
    got.cancel();
    time.settle();
    BOOST_TEST(got.aborted());
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_asleep_it_takes_its_place_along)
{
    auto got = placed();
    server->expect(scripts::fair_release).reply(gone());
    got.cancel();
    time.settle();
    BOOST_TEST(got.aborted());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(is_forgotten());
    time.advance(2 * beat);
    BOOST_TEST(server->count(scripts::fair_keep) == 0U);
}

BOOST_AUTO_TEST_CASE(cancelled_after_a_long_sleep_it_takes_its_place_along)
{
    auto got = placed();
    for (int i = 0; i != 6; ++i)
        server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(10'000ms);
    server->expect(scripts::fair_release).reply(gone());
    got.cancel();
    time.settle();
    BOOST_TEST(server->all_came());
    BOOST_TEST(last().field() == field);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(cancelled_in_a_pause)
{
    server->expect(scripts::fair_acquire).not_now();
    auto got = wait();
    got.cancel();
    time.settle();
    BOOST_TEST(got.aborted());
    time.advance(20ms);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(what_is_owed_is_sent_until_it_is_answered)
{
    auto got = placed();
    server->expect(scripts::fair_release).lose();
    server->expect(scripts::fair_release).not_now();
    got.cancel();
    time.settle();
    BOOST_TEST(client.stats().owed_releases == 1U);
    server->expect(scripts::fair_release).reply(gone());
    time.advance(20ms);
    BOOST_TEST(is_forgotten());
    BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_CASE(a_wait_that_runs_out_takes_its_place_along)
{
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    pending_try got;
    mine.try_acquire_for(100ms, got.token());
    time.settle();
    server->expect(scripts::fair_release).reply(gone());
    time.advance(100ms);
    BOOST_TEST((got.succeeded() && !got.value()));
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(a_release_whose_answer_was_lost_is_sent_again)
{
    auto held = granted_at_once();
    server->expect(scripts::fair_release).lose();
    server->expect(scripts::fair_release).reply(gone());
    BOOST_TEST(release(held).succeeded());
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
    pending<std::int64_t> count;
    mine.hold_count(me, count.token());
    time.settle();
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
    pending<bool> forced;
    mine.force_release(forced.token());
    time.settle();
    BOOST_TEST((forced.succeeded() && forced.value()));
    BOOST_TEST(last().keys.size() == 4U);
    std::vector<std::string> const expected{channel(), "300000"};
    BOOST_TEST(last().arguments == expected, boost::test_tools::per_element());
    BOOST_TEST(!held);
}

// ---- Connections -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_new_link_keeps_all_at_once)
{
    auto const first = placed();
    auto const second = placed();
    server->link_down(link());
    time.advance(6'000ms);
    BOOST_TEST(server->count(scripts::fair_keep) == 0U);
    server->expect(scripts::fair_keep).reply(each({not_there(), not_there()}));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->link_up(link());
    time.advance(1ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST((!first.is_done() && !second.is_done()));
}

BOOST_AUTO_TEST_CASE(a_new_subscription_lets_it_ask)
{
    auto const got = placed();
    server->push_down();
    time.settle();
    server->expect(scripts::fair_acquire).reply(granted(3));
    server->push_up();
    time.settle();
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refused_channel_leaves_the_heart_beat)
{
    server->expect(scripts::fair_acquire).reply(waits(60'000));
    server->forbidden.insert(channel() + ":" + inside().field(1));
    auto const got = wait();
    server->expect(scripts::fair_keep).reply(each({waits(0)}));
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(beat);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(closing_takes_the_places_along)
{
    auto held = granted_at_once();
    auto const waiting = placed();
    server->expect(scripts::fair_release).reply(gone());
    server->expect(scripts::fair_release).reply(released());
    pending<> closed;
    client.close(closed.token());
    time.settle();
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(a_client_that_stops_sends_nothing)
{
    auto const waiting = placed();
    auto const steps = server->written().size();
    client.stop();
    time.settle();
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(server->written().size() == steps);
    BOOST_TEST(is_forgotten());
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, 5s));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Together ----------------------------------------------------------------------------------

namespace {

/// One fair lock at a server, without times: tickets in order, and who holds it.
struct fair_redis {
    void attach(fake_transport& to)
    {
        transport = &to;
        to.serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, run(c), {}, {}};
        };
    }
    reply run(call const& c)
    {
        if (c.what == &scripts::fair_acquire)
            return acquire(c.field(), c.arguments.at(5) != "0");
        if (c.what == &scripts::fair_release)
            return release(c.field());
        if (c.what == &scripts::fair_keep)
            return keep(c);
        if (c.what == &scripts::extend)
            return c.field() == holder ? done() : not_there();
        return each(std::vector(c.keys.size(), done()));  // renewals
    }
    reply acquire(std::string const& field, bool queues)
    {
        if (holder == field || (holder.empty() && (queue.empty() || queue.front() == field))) {
            std::erase(queue, field);
            holder = field;
            return granted(++token);
        }
        if (queues && std::ranges::find(queue, field) == queue.end())
            queue.push_back(field);
        return waits(60'000);
    }
    reply release(std::string const& field)
    {
        bool const had_it = holder == field;
        std::erase(queue, field);
        if (had_it)
            holder.clear();
        if (holder.empty() && !queue.empty())
            transport->publish("redisson_lock__channel:{k}:" + queue.front());
        return had_it ? released(1) : gone();
    }
    reply keep(call const& c) const
    {
        std::vector<reply> parts;
        for (std::size_t i = 0; i != c.keys.size() / 4; ++i) {
            auto const& field = c.arguments.at(3 * i);
            bool const is_placed = std::ranges::find(queue, field) != queue.end();
            bool const is_next = holder.empty() && !queue.empty() && queue.front() == field;
            parts.push_back(is_placed ? waits(is_next ? 0 : 60'000) : not_there());
        }
        return each(std::move(parts));
    }

    fake_transport* transport = nullptr;
    std::deque<std::string> queue;
    std::string holder;
    std::int64_t token = 0;
};

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

    fair_redis redis;
    fair h;
    owner me;
    std::deque<pending_hold> waiting;
    std::deque<pending<>> ends;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_fair_crowd)

BOOST_FIXTURE_TEST_CASE(all_are_served_in_the_order_of_their_calls, fair)
{
    fair_redis redis;
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
    BOOST_TEST(redis.queue.empty());
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
        BOOST_TEST(c.redis.queue.empty());
        BOOST_TEST(c.redis.holder.empty());
        BOOST_TEST(c.h.is_forgotten());
        for (auto& each : c.waiting)
            BOOST_TEST(each.calls() == 1);
    }
}

BOOST_AUTO_TEST_CASE(its_context_may_be_destroyed_at_any_moment)
{
    for (std::size_t handlers = 0; handlers != 80; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        if (handlers % 2)
            c.release_all();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
