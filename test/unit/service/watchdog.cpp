// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

#include <stop_token>

namespace colock::test {

namespace {

/// A server that renews, unless told otherwise.
struct renewing : harness {
    explicit renewing(config settings = short_leases()) : harness{std::move(settings)}
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            auto const replied = [](decide::reply r) {
                return answer{answer::kind::replied, std::move(r), {}, {}};
            };
            if (c.what == &scripts::acquire)
                return replied(granted(++token));
            if (c.what == &scripts::renew)
                return renewal;
            return replied(c.what == &scripts::release ? released() : done());
        };
    }
    std::size_t renewals() const { return server->count(scripts::renew); }
    std::vector<std::string> renewed() const
    {
        std::vector<std::string> keys;
        for (auto const& c : server->written())
            if (c.what == &scripts::renew)
                keys.insert(keys.end(), c.keys.begin(), c.keys.end());
        return keys;
    }
    std::vector<pending_hold> hold_many(std::size_t count, std::string const& name = "key")
    {
        std::vector<pending_hold> all(count);
        for (std::size_t i = 0; i != count; ++i)
            mutex(name + std::to_string(i)).acquire(all[i].token());
        time.settle();
        return all;
    }

    answer renewal{answer::kind::replied, done(), {}, {}};
    std::int64_t token = 0;
};

config with_max_hold()
{
    auto c = short_leases();
    c.max_hold = 5s;
    return c;
}
struct limited : renewing {
    limited() : renewing{with_max_hold()} {}
};

BOOST_FIXTURE_TEST_SUITE(service_watchdog, renewing)

BOOST_AUTO_TEST_CASE(many_losses_are_summed_up_in_the_log)
{
    auto const one = std::move(acquire().value());
    renewal = {answer::kind::failed, {}, error::server_refused, {}, true};
    time.advance(3s);
    BOOST_TEST(!one);
    BOOST_TEST(log.size() == 1U);
    renewal = {answer::kind::replied, done(), {}, {}};
    time.advance(10s);
    log.clear();
    auto const all = hold_many(200);
    renewal = {answer::kind::failed, {}, error::server_refused, {}, true};
    time.advance(20s);
    BOOST_TEST(events->count("lost") == 201);
    BOOST_TEST(log.size() == 11U);
    BOOST_TEST(log.back().find(" (and 189 more in 1.0 s)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(losses_after_the_end_are_summed_up_at_once)
{
    auto const all = hold_many(20);
    client.stop();
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, short_leases().lease));
    BOOST_TEST(events->count("lost") == 20);
    BOOST_TEST(log.size() == 11U);
    BOOST_TEST(log.back().ends_with(" (and 9 more in 0.0 s)"));
}

BOOST_AUTO_TEST_CASE(renewed_each_third_without_end)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    time.advance(899ms);
    BOOST_TEST(renewals() == 0U);
    time.advance(102ms);
    BOOST_TEST(renewals() == 1U);
    BOOST_TEST(last().lease() == "3000");
    BOOST_TEST((mine.valid_until() == last().sent + validity));
    BOOST_TEST((events->last_valid == validity));
    time.advance(30s);
    BOOST_TEST((renewals() >= 30U && renewals() <= 35U));
    BOOST_TEST(static_cast<bool>(mine));
    BOOST_TEST(!told.is_done());
}

BOOST_AUTO_TEST_CASE(a_fixed_lease_is_not_renewed_and_its_end_is_told)
{
    auto const mine = std::move(acquire({.lease = 500ms}).value());
    auto told = lost(mine);
    auto const stop = mine.stop_token();
    time.advance(442ms);  // 500 less the drift of 7 and the margin of 50
    BOOST_TEST(!told.is_done());
    time.advance(1ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(stop.stop_requested());
    BOOST_TEST(!mine);
    BOOST_TEST((mine.valid_until() == time_point{}));
    BOOST_TEST(!mine.valid_for(0s));
    BOOST_TEST(mine.stop_token().stop_requested());
    BOOST_TEST(lost(mine).succeeded());
    BOOST_TEST(renewals() == 0U);
    BOOST_TEST(events->count("lost") == 1);
    BOOST_TEST(client.stats().holds == 0U);
}

BOOST_AUTO_TEST_CASE(many_holds_are_renewed_evenly_over_the_period)
{
    auto const all = hold_many(4'000);
    std::size_t most = 0, before = 0;
    for (int tenth = 0; tenth != 10; ++tenth) {
        time.advance(100ms);
        auto const now = renewed().size();
        most = std::max(most, now - before);
        before = now;
    }
    // What was acquired before there were many is renewed when its third is over.
    BOOST_TEST(before >= 4'000U);
    BOOST_TEST(most <= 1'500U);
    time.advance(4s);
    for (auto const& p : all)
        BOOST_TEST(p.value().valid_for(1s));
}

BOOST_AUTO_TEST_CASE(two_calls_of_128_are_under_way_a_link)
{
    auto const all = hold_many(4'000);
    server->link_down(0);
    time.settle();
    server->serve = [](call const&) -> std::optional<answer> { return {}; };
    auto const before = server->written().size();
    server->link_up(0);  // all that is held over it is to be confirmed at once
    time.settle();
    BOOST_TEST(server->written().size() == before + 2);
    BOOST_TEST(last().keys.size() == 128U);
    server->answer_call(before, {answer::kind::replied, done(), {}, {}});
    time.settle();
    BOOST_TEST(server->written().size() == before + 3);
}

BOOST_AUTO_TEST_CASE(when_the_answer_for_many_is_lost_only_who_is_at_its_deadline_is_lost)
{
    auto const old = hold_many(50);
    time.advance(2'500ms);
    renewal = {answer::kind::lost, {}, asio::error::eof, {}};
    auto const fresh = hold_many(50, "fresh");
    time.advance(2'300ms);
    BOOST_TEST(std::ranges::none_of(old, [](auto const& p) { return bool{p.value()}; }));
    BOOST_TEST(std::ranges::all_of(fresh, [](auto const& p) { return bool{p.value()}; }));
    renewal = {answer::kind::replied, done(), {}, {}};
    time.advance(3s);
    BOOST_TEST(std::ranges::all_of(fresh, [](auto const& p) { return bool{p.value()}; }));
}

BOOST_AUTO_TEST_CASE(one_that_the_server_refuses_does_not_take_others_along)
{
    server->serve = [this](call const& c) -> std::optional<answer> {
        if (c.what == &scripts::acquire)
            return answer{answer::kind::replied, granted(++token), {}, {}};
        if (std::ranges::find(c.keys, "key7") != c.keys.end())
            return answer{answer::kind::failed, {}, error::server_refused, {}};
        return answer{answer::kind::replied, done(), {}, {}};
    };
    auto const all = hold_many(64);
    time.advance(4s);
    for (std::size_t i = 0; i != all.size(); ++i)
        BOOST_TEST(bool{all[i].value()} == (i != 7));
}

BOOST_AUTO_TEST_CASE(a_failed_renewal_is_tried_again_and_told)
{
    auto const mine = std::move(acquire().value());
    renewal = {answer::kind::not_now, {}, error::unavailable, {}};
    time.advance_until([&] { return renewals() == 1; }, 1'001ms);
    for (auto const longest : {10ms, 20ms, 40ms, 75ms, 75ms, 75ms, 75ms}) {
        auto const sent = renewals();
        auto const waited = time.now();
        BOOST_TEST(time.advance_until([&] { return renewals() != sent; }, longest + 1ms));
        BOOST_TEST((time.now() >= waited + longest / 2));
    }
    BOOST_TEST(events->count("renew_failed") == 8);
    renewal = {answer::kind::replied, done(), {}, {}};
    time.advance(76ms);
    BOOST_TEST(events->count("renewed") == 1);
    BOOST_TEST(static_cast<bool>(mine));
    BOOST_TEST((mine.valid_until() == last().sent + validity));
}

BOOST_AUTO_TEST_CASE(unrenewed_it_is_lost_a_margin_before_its_end)
{
    auto const mine = std::move(acquire().value());
    auto const until = mine.valid_until();
    auto told = lost(mine), also = lost(mine);
    renewal = {answer::kind::lost, {}, asio::error::eof, {}};
    time.advance_until([&] { return told.is_done(); }, 4s);
    BOOST_TEST((time.now() == until - margin));
    BOOST_TEST((told.succeeded() && also.succeeded()));
    BOOST_TEST((events->last_error == error::lost));
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(
        log[0] ==
        "hold k (" + events->last_holder + "): lost: " + events->last_cause +
            "; stop the work it protects"
    );
    BOOST_TEST(events->last_holder.starts_with(inside().uuid() + ':'));
    auto const sent = renewals();
    time.advance(5s);
    BOOST_TEST(renewals() == sent);  // a lost hold is renewed no more
}

BOOST_AUTO_TEST_CASE(a_silent_server_does_not_keep_the_loss_back)
{
    auto const mine = std::move(acquire().value());
    auto const until = mine.valid_until();
    auto told = lost(mine);
    auto& silent = server->expect(scripts::renew);
    time.advance_until([&] { return told.is_done(); }, 4s);
    BOOST_TEST((time.now() == until - margin));
    silent.reply(done());  // too late
    time.settle();
    BOOST_TEST(!mine);
    BOOST_TEST(events->count("renewed") == 0);
}

BOOST_AUTO_TEST_CASE(gone_at_the_server_is_lost_at_once)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    renewal = {answer::kind::replied, not_there(), {}, {}};
    time.advance(1'001ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(renewals() == 1U);
    // The key is open: the next one tries at once.
    BOOST_TEST(acquire().succeeded());
}

BOOST_AUTO_TEST_CASE(after_a_standstill_the_loss_comes_before_a_renewals_answer)
{
    for (auto const pause : {2s, 20s}) {
        // After 2 s the renewal would still be good, but the hold has been past its end.
        auto const mine = std::move(acquire().value());
        auto told = lost(mine);
        auto& asked = server->expect(scripts::renew);
        time.advance(1'001ms);
        BOOST_TEST_REQUIRE(asked.has_come());
        auto const renewed = events->count("renewed");
        time.jump(pause);
        BOOST_TEST(!mine.valid_for(0s));
        respond(asked, done());
        BOOST_TEST(told.succeeded());
        BOOST_TEST(!mine);
        BOOST_TEST(events->count("renewed") == renewed);
    }
}

BOOST_AUTO_TEST_CASE(a_late_answer_for_a_released_hold_is_no_news)
{
    for (auto const& late : {not_there(), done(), reply::error("ERR")}) {
        auto mine = std::move(acquire().value());
        auto told = lost(mine);
        auto& asked = server->expect(scripts::renew);
        time.advance(1'001ms);
        BOOST_TEST_REQUIRE(asked.has_come());
        auto& undo = server->expect(scripts::release);
        auto gone = release(mine);
        auto const seen = events->events.size();
        respond(asked, late);
        BOOST_TEST(!gone.is_done());
        respond(undo, released());
        BOOST_TEST(gone.succeeded());
        BOOST_TEST(told.aborted());
        BOOST_TEST(events->events.size() == seen);
    }
}

BOOST_AUTO_TEST_CASE(nobody_tries_while_a_release_is_under_way)
{
    auto mine = std::move(acquire().value());
    auto& asked = server->expect(scripts::renew);
    time.advance(1'001ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    auto& undo = server->expect(scripts::release);
    release(mine);
    auto next = acquire();
    respond(asked, done());
    BOOST_TEST(server->count(scripts::acquire) == 1U);
    respond(undo, released());
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(without_a_link_nothing_is_left_to_renew_a_lost_hold)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    server->link_down(link());
    time.advance(2'700ms);
    BOOST_TEST(told.succeeded());
    auto const sent = renewals();
    server->link_up(link());
    time.advance(500ms);
    BOOST_TEST(renewals() == sent);
}

BOOST_AUTO_TEST_CASE(a_new_link_confirms_holds_at_once)
{
    auto const mine = std::move(acquire().value());
    std::string elsewhere = "other";
    while (server->link_of(decide::slot_of(elsewhere)) == link())
        elsewhere += 'x';
    auto const other = std::move(acquire(mutex(elsewhere)).value());
    server->link_down(link());
    time.advance(50ms);
    mend();
    BOOST_TEST(renewals() == 1U);
    BOOST_TEST(last().key() == "k");
    BOOST_TEST((mine.valid_until() == time.now() + validity));
    time.advance(5s);
    BOOST_TEST((static_cast<bool>(mine) && static_cast<bool>(other)));
}

BOOST_AUTO_TEST_CASE(a_new_link_finds_out_what_is_gone)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    renewal = {answer::kind::replied, not_there(), {}, {}};
    server->link_down(link());
    mend();
    BOOST_TEST(told.succeeded());
}

BOOST_AUTO_TEST_CASE(the_short_one_of_two_is_lost_alone)
{
    owner const me;
    auto const outer = std::move(acquire({.as = me}).value());
    auto const inner = std::move(acquire({.lease = 300ms, .as = me}).value());
    auto told = lost(inner), not_told = lost(outer);
    time.advance(5s);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!not_told.is_done());
    BOOST_TEST(static_cast<bool>(outer));
    BOOST_TEST(!inner);
}

BOOST_AUTO_TEST_CASE(waiting_for_the_loss_ends_with_the_hold)
{
    auto mine = std::move(acquire().value());
    auto a = lost(mine), b = lost(mine), c = lost(mine);
    b.cancel(asio::cancellation_type::total);
    time.settle();
    BOOST_TEST((!a.is_done() && b.aborted() && !c.is_done()));
    auto const stop = mine.stop_token();
    mine = hold{};
    time.settle();
    BOOST_TEST((a.aborted() && c.aborted()));
    BOOST_TEST(!stop.stop_requested());
    BOOST_TEST(b.calls() == 1);
}

BOOST_AUTO_TEST_CASE(a_forced_release_by_this_client_is_told_at_once)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    auto forced = mutex().force_release(settled());
    BOOST_TEST(forced.gave_something());
    BOOST_TEST(told.succeeded());
    BOOST_TEST(last().arguments.at(0) == channel());
    auto const sent = server->written().size();
    time.advance(5s);
    BOOST_TEST(server->written().size() == sent);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_max_hold, limited)

BOOST_AUTO_TEST_CASE(work_that_hangs_is_renewed_no_more)
{
    auto const mine = std::move(acquire().value());
    auto told = lost(mine);
    time.advance(5s);
    BOOST_TEST(static_cast<bool>(mine));
    auto const sent = renewals();
    time.advance(3s);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(renewals() == sent);
    BOOST_TEST(log.back().find("held for max_hold") != std::string::npos, log.back());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
