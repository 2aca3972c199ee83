// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A client that nobody runs: what brings its connections up, what keeps them, and what ends them.
#include "unit/harness.hpp"
#include <colock/fair_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/semaphore.hpp>
#include <colock/with_permits.hpp>

namespace colock::test {

namespace {

struct not_run : harness {
    not_run() : harness{short_leases(), false} {}
    explicit not_run(config settings) : harness{std::move(settings), false} {}

    void answer_with(script_server& redis) { redis.attach(*server); }

    bool ends_by_itself(milliseconds limit)
    {
        return time.advance_until([&] { return context.stopped(); }, limit);
    }
};

config broken()
{
    auto c = short_leases();
    c.poll_cap = 0ms;
    return c;
}

BOOST_FIXTURE_TEST_SUITE(service_without_run, not_run)

// ---- What brings the connections up ------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nothing_is_connected_before_the_first_operation)
{
    lock const made = mutex();
    time.advance(1s);
    BOOST_TEST(server->links_up() == 0U);
    BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_CASE(an_acquire_brings_the_connections_up)
{
    server->expect(scripts::acquire).reply(granted(1));
    auto got = acquire();
    BOOST_TEST(got.succeeded());
    BOOST_TEST(server->links_up() != 0U);
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(got.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(so_does_each_kind_of_operation)
{
    auto const check = [](auto const& start) {
        not_run h;
        start(h);
        h.time.settle();
        BOOST_TEST(h.server->links_up() != 0U);
    };
    auto const ignored = [](auto&&...) {};
    auto const free = [](call const&) {
        return std::optional{answer{answer::kind::failed, {}, error::server_refused, {}}};
    };
    check([&](not_run& h) {
        h.server->serve = free;
        h.mutex().is_locked(ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        h.client.ping(ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        fair_lock{h.client, "k"}.acquire(ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        read_write_lock{h.client, "k"}.read().acquire(ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        semaphore{h.client, "k"}.acquire(1, ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        semaphore{h.client, "k"}.release(1, ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        permit_semaphore{h.client, "k"}.acquire({}, ignored);
    });
    check([&](not_run& h) {
        h.server->serve = free;
        multi_lock{h.mutex("a"), h.mutex("b")}.acquire(ignored);
    });
}

BOOST_AUTO_TEST_CASE(a_run_that_comes_later_takes_over)
{
    auto const mine = held();
    client.run(run.token());
    time.settle();
    BOOST_TEST(!run.is_done());
    BOOST_TEST(server->written().size() == 1U);  // nothing begins anew
    server->expect(scripts::release).reply(released());
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(run.succeeded());
}

BOOST_AUTO_TEST_CASE(closes_in_order)
{
    auto const mine = held();
    auto& undo = server->expect(scripts::release);
    auto closed = client.close(settled());
    BOOST_TEST(!closed.is_done());
    respond(undo, released());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(ends_by_itself(10ms));
}

BOOST_AUTO_TEST_CASE(stopped_it_serves_nobody_until_a_run)
{
    server->expect(scripts::acquire).reply(refused(1'000));
    server->expect(scripts::acquire).reply(refused(1'000));  // again, once it is subscribed
    auto waiting = acquire();
    stop();
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST((acquire().ec() == error::closed));
    BOOST_TEST((try_acquire().ec() == error::closed));
    BOOST_TEST(ends_by_itself(10ms));
    client.run(run.token());
    server->expect(scripts::acquire).reply(granted(1));
    context.restart();
    auto got = acquire();
    BOOST_TEST(got.succeeded());
    server->expect(scripts::release).reply(released());
}

// ---- What is wrong -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_bad_config_fails_all_at_once_and_says_so)
{
    not_run h{broken()};
    pending<bool> locked;
    h.mutex().is_locked(locked.token());
    auto got = h.acquire(), behind = h.acquire();
    auto tried = h.try_acquire();
    BOOST_TEST((got.ec() == error::invalid_config));
    BOOST_TEST((behind.ec() == error::invalid_config));
    BOOST_TEST((tried.ec() == error::invalid_config));
    BOOST_TEST((locked.ec() == error::invalid_config));
    BOOST_TEST(h.log.size() == 1U);  // one cause, one line
    BOOST_TEST(h.ends_by_itself(10ms));
}

// A line that is left out is no reason to go on.
BOOST_AUTO_TEST_CASE(a_bad_config_that_is_told_again_keeps_nothing_busy)
{
    not_run h{broken()};
    for (int i = 0; i != 8; ++i) {
        BOOST_TEST((h.acquire().ec() == error::invalid_config));
        BOOST_TEST(h.ends_by_itself(0ms));
        h.time.jump(1s);
    }
    BOOST_TEST(h.log.size() == 4U);
    BOOST_TEST(h.log.back() == h.log.front() + " (and 3 more in 4.0 s)");
}

BOOST_AUTO_TEST_CASE(what_a_failed_run_says_operations_say_too)
{
    not_run h{broken()};
    h.client.run(h.run.token());
    h.time.settle();
    BOOST_TEST((h.run.ec() == error::invalid_argument));
    BOOST_TEST((h.acquire().ec() == error::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_bad_file_for_tls_fails_them_until_it_is_in_order)
{
    server->prepared = error::invalid_tls;
    BOOST_TEST((acquire().ec() == error::invalid_tls));
    client.run(run.token());
    time.settle();
    BOOST_TEST((run.ec() == error::invalid_tls));
    BOOST_TEST((acquire().ec() == error::invalid_tls));
    BOOST_TEST(server->preparations() == 2);  // not read anew for each operation
    server->prepared = {};
    time.jump(1'001ms);
    server->expect(scripts::acquire).reply(granted(1));
    context.restart();
    BOOST_TEST(acquire().succeeded());
    server->expect(scripts::release).reply(released());
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_fails_them_at_once)
{
    server->begin_down();
    server->down_reason_to_tell = error::server_refused;
    BOOST_TEST((acquire().ec() == error::server_refused));
    BOOST_TEST(ends_by_itself(2'100ms));
}

// ---- What keeps the context busy ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(with_nothing_to_do_it_lets_the_connections_go)
{
    script_server redis;
    answer_with(redis);
    {
        auto got = acquire();
        BOOST_TEST_REQUIRE(got.succeeded());
        BOOST_TEST(release(got.value()).succeeded());
    }
    time.advance(900ms);
    BOOST_TEST(server->links_up() != 0U);
    BOOST_TEST(ends_by_itself(1'200ms));
    BOOST_TEST(server->links_up() == 0U);
    BOOST_TEST(log.empty());  // that they go is nothing to be warned of
}

BOOST_AUTO_TEST_CASE(the_next_operation_makes_new_ones_in_a_second_run_of_the_context)
{
    script_server redis;
    answer_with(redis);
    for (int round = 0; round != 3; ++round) {
        context.restart();
        auto got = acquire();
        BOOST_TEST_REQUIRE(got.succeeded());
        BOOST_TEST(release(got.value()).succeeded());
        BOOST_TEST(ends_by_itself(2'100ms));
    }
}

BOOST_AUTO_TEST_CASE(connections_in_use_stay)
{
    script_server redis;
    answer_with(redis);
    for (int n = 0; n != 20; ++n) {
        auto got = acquire();
        BOOST_TEST_REQUIRE(got.succeeded());
        BOOST_TEST(release(got.value()).succeeded());
        time.advance(700ms);
    }
    BOOST_TEST(events->count("link_down") == 0);
}

BOOST_AUTO_TEST_CASE(a_hold_keeps_them)
{
    script_server redis;
    answer_with(redis);
    auto got = acquire();
    BOOST_TEST_REQUIRE(got.succeeded());
    time.advance(30s);
    BOOST_TEST(static_cast<bool>(got.value()));
    BOOST_TEST(redis.is_locked("k"));
    BOOST_TEST(release(got.value()).succeeded());
    BOOST_TEST(ends_by_itself(2'100ms));
}

BOOST_AUTO_TEST_CASE(so_does_a_waiter)
{
    server->serve = [](call const& c) -> std::optional<answer> {
        auto const answers = c.what == &scripts::acquire ? refused(60'000) : decide::reply::of(1);
        if (c.what == &scripts::look)
            return answer{answer::kind::not_now, {}, error::unavailable, {}};
        return answer{answer::kind::replied, answers, {}, {}};
    };
    auto waiting = acquire();
    time.advance(10s);
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(server->links_up() != 0U);
    waiting.cancel();
    BOOST_TEST(ends_by_itself(5s));
}

BOOST_AUTO_TEST_CASE(refused_channels_do_not_keep_it_busy)
{
    script_server redis;
    answer_with(redis);
    redis.occupy("k", 1h);
    server->forbidden = {channel()};
    auto waiting = acquire();
    time.advance(100ms);
    waiting.cancel();
    BOOST_TEST(ends_by_itself(5s));
}

BOOST_AUTO_TEST_CASE(so_does_a_guard_that_has_permits)
{
    server->expect(scripts::semaphore_acquire).reply(reply::of(1));
    semaphore const s{client, "s"};
    pending<> closed;
    auto taken = s.acquire(settled());
    {
        permit_guard const kept{s, 1};
        time.advance(10s);
        BOOST_TEST(server->links_up() != 0U);
        client.close(closed.token());
        time.settle();
        BOOST_TEST(!closed.is_done());
        server->expect(scripts::semaphore_release_existing).reply(reply::of(1));
    }
    BOOST_TEST(ends_by_itself(10ms));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(so_does_a_run)
{
    client.run(run.token());
    time.advance(60s);
    BOOST_TEST(server->links_up() != 0U);
    BOOST_TEST(!context.stopped());
}

BOOST_AUTO_TEST_CASE(an_unanswered_question_keeps_them_until_its_limit)
{
    server->begin_down();
    auto locked = mutex().is_locked(settled());
    time.advance(1'999ms);
    BOOST_TEST(!locked.is_done());
    time.advance(2ms);
    BOOST_TEST((locked.ec() == error::unavailable));
    BOOST_TEST(ends_by_itself(2'100ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
