// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

namespace colock::test {

namespace {

struct idle : harness {
    idle() : harness{short_leases(), false} {}
};

/// Runs handlers until the context has no more work; false if it still has some after `limit`.
bool ends_by_itself(harness& h, milliseconds limit)
{
    return h.time.advance_until([&] { return h.context.stopped(); }, limit);
}

// ---- close() -----------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_SUITE(service_close, harness)

BOOST_AUTO_TEST_CASE(ends_waiters_releases_holds_and_ends_the_run)
{
    owner const me;
    auto const first = held({.as = me});
    auto waiting = acquire();
    auto told = lost(first);
    auto& undo = server->expect(scripts::release);
    auto closed = client.close(settled());
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST((told.ec() == error::closed));
    BOOST_TEST(!first);
    BOOST_TEST(!closed.is_done());
    BOOST_TEST(!run.is_done());
    BOOST_TEST((acquire().ec() == error::closed));
    BOOST_TEST((try_acquire({.as = me}).ec() == error::closed));
    respond(undo, released());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(run.succeeded());
    BOOST_TEST(server->links_up() == 0U);
    BOOST_TEST(ends_by_itself(*this, 10ms));
    auto const stats = client.stats();
    BOOST_TEST(stats.holds + stats.waiters + stats.keys + stats.owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(stops_the_tokens_of_holds)
{
    auto mine = held();
    auto const early = mine.stop_token();
    BOOST_TEST(!early.stop_requested());
    server->expect(scripts::release).reply(released());
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(early.stop_requested());
    BOOST_TEST(mine.stop_token().stop_requested());
}

// To release is no reason to end the work.
BOOST_AUTO_TEST_CASE(a_release_stops_no_token)
{
    auto mine = held();
    auto const token = mine.stop_token();
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(!token.stop_requested());
}

BOOST_AUTO_TEST_CASE(waits_for_the_answer_of_an_acquire_in_flight)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    auto closed = client.close(settled());
    BOOST_TEST((got.ec() == error::closed));
    BOOST_TEST(!closed.is_done());  // what is granted must be released
    auto& undo = server->expect(scripts::release);
    respond(asked, granted(1));
    BOOST_TEST_REQUIRE(undo.has_come());
    respond(undo, released());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(run.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refused_acquire_in_flight_ends_it_too)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    pending<> closed;
    client.close(closed.token());
    respond(asked, refused(100));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(a_release_under_way_is_not_sent_twice)
{
    auto mine = held();
    auto& undo = server->expect(scripts::release);
    auto gone = release(mine);
    auto closed = client.close(settled());
    respond(undo, released());
    BOOST_TEST(gone.succeeded());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(server->count(scripts::release) == 1U);
}

BOOST_AUTO_TEST_CASE(an_acquire_that_enters_again_is_closed)
{
    owner const me;
    auto const outer = held({.as = me});
    auto& deeper = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    server->expect(scripts::release).reply(released());
    auto closed = client.close(settled());
    respond(deeper, done());
    BOOST_TEST((inner.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(waits_for_the_release_of_a_lost_hold)
{
    auto const mine = held();
    server->link_down(link());
    time.advance(validity);
    BOOST_TEST(!mine);
    server->link_up(link());
    auto& undo = server->expect(scripts::release);
    auto closed = client.close(settled());
    BOOST_TEST_REQUIRE(undo.has_come());
    BOOST_TEST(!closed.is_done());
    respond(undo, gone());
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(says_that_a_release_was_refused)
{
    auto const mine = held();
    server->expect(scripts::release).fail(error::server_refused);
    auto closed = client.close(settled());
    BOOST_TEST((closed.ec() == error::unavailable));
}

BOOST_AUTO_TEST_CASE(ends_at_its_limit_when_the_server_is_silent)
{
    auto const mine = held();
    auto& silent = server->expect(scripts::release);
    pending<> closed;
    client.close(closed.token());
    time.advance(2'999ms);  // close_timeout: none, so the lease
    BOOST_TEST(!closed.is_done());
    time.advance(2ms);
    BOOST_TEST((closed.ec() == error::unavailable));
    BOOST_TEST(run.succeeded());
    BOOST_TEST(ends_by_itself(*this, 10ms));
    static_cast<void>(silent);
}

BOOST_AUTO_TEST_CASE(cancelling_ends_the_waiting_and_the_closing_goes_on)
{
    auto const mine = held();
    auto& undo = server->expect(scripts::release);
    auto closed = client.close(settled());
    cancel(closed);
    BOOST_TEST(closed.aborted());
    BOOST_TEST(!run.is_done());
    respond(undo, released());
    BOOST_TEST(run.succeeded());
    BOOST_TEST(closed.calls() == 1);
}

BOOST_AUTO_TEST_CASE(the_second_time_says_closed)
{
    pending<> first;
    client.close(first.token());
    auto second = client.close(settled());
    BOOST_TEST(first.succeeded());
    BOOST_TEST((second.ec() == error::closed));
    auto again = client.run(settled());
    BOOST_TEST((again.ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(holds_of_many_keys_go_together)
{
    script_server redis;
    redis.attach(*server);
    std::vector<pending_hold> all(200);
    for (std::size_t i = 0; i != all.size(); ++i)
        mutex("key" + std::to_string(i)).acquire(all[i].token());
    time.settle();
    BOOST_TEST(client.stats().holds == 200U);
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    for (std::size_t i = 0; i != all.size(); ++i)
        BOOST_TEST(!redis.is_locked("key" + std::to_string(i)));
}

// So many releases are under way at a time. The hold whose turn is next may end before that.
BOOST_AUTO_TEST_CASE(the_next_of_many_may_end_by_itself)
{
    constexpr std::size_t at_a_time = 4'096;
    script_server redis;
    redis.attach(*server);
    std::vector<hold> all;
    for (std::size_t i = 0; i != at_a_time + 3; ++i) {
        auto got = acquire(mutex("key" + std::to_string(i)));
        BOOST_TEST_REQUIRE(got.succeeded());
        all.push_back(std::move(got.value()));
    }
    auto const next = "key" + std::to_string(at_a_time);
    redis.free(next);
    time.advance(1'500ms);  // a renewal finds nothing
    BOOST_TEST(!all[at_a_time]);
    cut_all();
    pending<> closed;
    client.close(closed.token());
    time.settle();
    BOOST_TEST(client.stats().owed_releases == at_a_time);
    all[at_a_time] = {};
    time.settle();
    mend_all();
    BOOST_TEST(closed.succeeded());
    for (std::size_t i = 0; i != all.size(); ++i)
        BOOST_TEST(!redis.is_locked("key" + std::to_string(i)));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- run() and stop() --------------------------------------------------------------------------

BOOST_FIXTURE_TEST_SUITE(service_stop, harness)

BOOST_AUTO_TEST_CASE(ends_the_run_and_who_waits)
{
    server->expect(scripts::acquire).reply(refused(1'000));
    server->expect(scripts::acquire).reply(refused(1'000));
    auto waiting = acquire(), behind = acquire();
    stop();
    BOOST_TEST(run.succeeded());
    BOOST_TEST((waiting.ec() == error::closed && behind.ec() == error::closed));
    BOOST_TEST(ends_by_itself(*this, 10ms));
    stop();
    BOOST_TEST(run.calls() == 1);
}

BOOST_AUTO_TEST_CASE(with_an_acquire_in_flight)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    stop();
    BOOST_TEST((got.ec() == error::closed));
    BOOST_TEST(server->in_flight() == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(ends_by_itself(*this, 10ms));
    static_cast<void>(asked);
}

BOOST_AUTO_TEST_CASE(with_a_release_in_flight)
{
    auto mine = held();
    auto& asked = server->expect(scripts::release);
    auto gone = release(mine);
    stop();
    BOOST_TEST((gone.ec() == error::closed));
    BOOST_TEST(ends_by_itself(*this, 10ms));
    static_cast<void>(asked);
}

BOOST_AUTO_TEST_CASE(holds_live_on_until_their_leases_end)
{
    auto const mine = held();
    auto told = lost(mine);
    client.stop();
    time.advance(2s);
    BOOST_TEST(static_cast<bool>(mine));
    time.advance(700ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(ends_by_itself(*this, 10ms));
}

BOOST_AUTO_TEST_CASE(a_hold_dropped_after_it_does_not_keep_the_context_busy)
{
    {
        auto const mine = held();
        stop();
        BOOST_TEST(run.succeeded());
    }
    BOOST_TEST(ends_by_itself(*this, 50ms));
}

BOOST_AUTO_TEST_CASE(a_release_after_it_says_closed)
{
    auto mine = held();
    stop();
    BOOST_TEST((release(mine).ec() == error::closed));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(run_again_confirms_what_is_held)
{
    auto const mine = held();
    client.stop();
    time.advance(500ms);
    pending<> again;
    client.run(again.token());
    server->expect(scripts::renew).reply(done());
    time.settle();
    BOOST_TEST((mine.valid_until() == time.now() + validity));
    auto& renewal = server->expect(scripts::renew);
    time.advance(1'001ms);
    BOOST_TEST(renewal.has_come());
    BOOST_TEST(!again.is_done());
    stop();
}

BOOST_AUTO_TEST_CASE(cancelling_the_run_is_a_stop)
{
    for (auto const type :
         {asio::cancellation_type::terminal,
          asio::cancellation_type::partial,
          asio::cancellation_type::total}) {
        harness h;
        h.run.cancel(type);
        h.time.settle();
        BOOST_TEST(h.run.aborted());
        BOOST_TEST(h.server->links_up() == 0U);
        BOOST_TEST(ends_by_itself(h, 10ms));
    }
}

BOOST_AUTO_TEST_CASE(twice_at_once_is_an_error)
{
    auto second = client.run(settled());
    BOOST_TEST((second.ec() == asio::error::already_started));
    BOOST_TEST(!run.is_done());
}

BOOST_AUTO_TEST_CASE(a_release_after_it_keeps_no_context_busy)
{
    auto mine = held();
    stop();
    BOOST_TEST((release(mine).ec() == error::closed));
    BOOST_TEST(ends_by_itself(*this, 10ms));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_before_run, idle)

BOOST_AUTO_TEST_CASE(what_has_a_limit_ends_with_the_reason)
{
    server->begin_down();
    auto tried = try_acquire();
    auto locked = mutex().is_locked(settled());
    time.advance(2'001ms);
    BOOST_TEST((tried.ec() == error::unavailable));
    BOOST_TEST((locked.ec() == error::unavailable));
}

BOOST_AUTO_TEST_CASE(close_and_stop_have_nothing_to_do)
{
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    stop();
    BOOST_TEST((acquire().ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_bad_config_is_refused_with_a_line_that_says_what)
{
    auto const check = [](auto const& spoil) {
        auto c = short_leases();
        spoil(c);
        harness h{c, false};
        h.client.run(h.run.token());
        h.time.settle();
        BOOST_TEST((h.run.ec() == error::invalid_argument));
        BOOST_TEST(h.log.size() == 1U);
    };
    check([](config& c) { c.addresses.clear(); });
    check([](config& c) { c.lease = 99ms; });
    check([](config& c) { c.lease = std::chrono::hours{24 * 3'654}; });
    check([](config& c) { c.max_hold = 0ms; });
    check([](config& c) { c.loss_margin = -1ms; });
    check([](config& c) { c.poll_cap = 9ms; });
    check([](config& c) { c.linger = -1ms; });
    check([](config& c) { c.timeout = 0ms; });
    check([](config& c) { c.links = 65; });
    check([](config& c) { c.database = -1; });
    check([](config& c) { c.client_name = "a b"; });
    check([](config& c) { c.client_name = "b\xc3\xbcro"; });  // the server refuses it
    check([](config& c) { c.client_name = "a\x7f"; });
    check([](config& c) { c.client_name = std::string{"a\0b", 3}; });
    check([](config& c) { c.addresses.front().host.clear(); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
