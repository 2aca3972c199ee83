// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What holds prove while steps run late, in another order, or are lost. The real scripts run, at
// moments that the tests choose.
#include "unit/service/group.hpp"
#include <colock/read_write_lock.hpp>

namespace colock::test {

namespace {

struct late_steps : served {
    hold taken(acquire_options options = {})
    {
        auto got = acquire(options);
        BOOST_TEST_REQUIRE(got.succeeded());
        return std::move(got.value());
    }

    /// The next call of this script is held back; `what` makes it come.
    template <class F>
    expectation& held_back(scripts::script const& of, F what)
    {
        auto& next = server->expect(of);
        what();
        time.settle();
        BOOST_TEST_REQUIRE(next.has_come());
        return next;
    }
    expectation& renewal_held_back()
    {
        auto& next = server->expect(scripts::renew);
        BOOST_TEST_REQUIRE(time.advance_until([&] { return next.has_come(); }, 10s));
        return next;
    }

    /// The server did not know its script, and gets it again behind what was written meanwhile.
    expectation& written_again(expectation& which)
    {
        return held_back(*which.seen().what, [&] {
            server->sent_alone(which);
            server->all_up();
        });
    }

    reply run(expectation const& which) { return redis.run(which.seen()); }

    /// It is run now, and answered at once.
    void answer_now(expectation& which) { respond(which, run(which)); }

    /// The server keeps the lock for at least as long as the hold says.
    bool is_kept(hold const& which)
    {
        return which.valid_until() <= time.now() + redis.lease_left("k");
    }

    owner const me;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_what_leases_prove, late_steps)

// A renewal that ran behind a re-entry is answered before it: the wait for replicas takes longer.
BOOST_AUTO_TEST_CASE(a_renewal_that_was_answered_before_may_have_run_behind)
{
    auto const outer = taken({.lease = 3s, .as = me});
    auto& renewal = held_back(scripts::renew, [&] {
        cut();
        mend();
    });
    pending_hold again;
    auto& entering = held_back(scripts::extend, [&] {
        again = acquire({.lease = 30s, .as = me, .renew = true});
    });
    auto& repeated = written_again(renewal);
    auto const entered = run(entering);
    answer_now(repeated);
    BOOST_TEST((redis.lease_left("k") <= 3s));
    auto& repair = server->expect(scripts::renew);
    respond(entering, entered);
    BOOST_TEST_REQUIRE(again.succeeded());
    BOOST_TEST(is_kept(again.value()));
    BOOST_TEST_REQUIRE(time.advance_until([&] { return repair.has_come(); }, 1s));
    answer_now(repair);
    BOOST_TEST(is_kept(again.value()));
    BOOST_TEST(again.value().valid_for(29s));
}

BOOST_AUTO_TEST_CASE(steps_that_are_answered_in_order_prove_what_they_set)
{
    auto const outer = taken({.lease = 3s, .as = me});
    auto& renewal = held_back(scripts::renew, [&] {
        cut();
        mend();
    });
    pending_hold again;
    auto& entering = held_back(scripts::extend, [&] {
        again = acquire({.lease = 30s, .as = me, .renew = true});
    });
    auto const before = server->count(scripts::renew);
    answer_now(renewal);
    answer_now(entering);
    BOOST_TEST(again.value().valid_for(29s));
    BOOST_TEST(is_kept(again.value()));
    time.advance(1s);
    BOOST_TEST(server->count(scripts::renew) == before);  // there is nothing to repair
}

// The loss of the link may come before any renewal makes good what the late one has shortened.
BOOST_AUTO_TEST_CASE(a_fixed_lease_proves_no_more_than_a_late_renewal_leaves)
{
    auto const outer = taken({.as = me});
    auto& renewal = renewal_held_back();
    pending_hold inner;
    auto& entering = held_back(scripts::extend, [&] { inner = acquire({.lease = 20s, .as = me}); });
    auto& repeated = written_again(renewal);
    auto& repair = server->expect(scripts::renew);
    answer_now(entering);
    BOOST_TEST_REQUIRE(inner.succeeded());
    answer_now(repeated);  // it runs last
    BOOST_TEST(is_kept(inner.value()));
    BOOST_TEST_REQUIRE(time.advance_until([&] { return repair.has_come(); }, 1s));
    answer_now(repair);
    BOOST_TEST(is_kept(inner.value()));
    time.advance(1s);
    BOOST_TEST(is_kept(inner.value()));
    BOOST_TEST(inner.value().valid_for(16s));
    time.advance(20s);
    BOOST_TEST(!inner.value());
}

BOOST_AUTO_TEST_CASE(what_was_lost_may_run_later_if_its_connection_was_not_ended)
{
    for (bool const is_ended : {false, true}) {
        server->ends_old_connections = is_ended;
        auto mine = taken();
        auto& lost = renewal_held_back();
        cut();
        mend();
        BOOST_TEST(extend(mine, 20s).succeeded());
        if (!is_ended)
            run(lost);
        BOOST_TEST(is_kept(mine));
        BOOST_TEST(mine.valid_for(19s) == is_ended);
        time.advance(2s);  // renewed in time
        BOOST_TEST(bool{mine});
        BOOST_TEST(is_kept(mine));
        BOOST_TEST(release(mine).succeeded());
    }
}

BOOST_AUTO_TEST_CASE(so_may_an_extension)
{
    server->ends_old_connections = false;
    auto mine = taken({.lease = 10s});
    pending<> shorter;
    auto& lost = held_back(scripts::extend, [&] { mine.extend(500ms, shorter.token()); });
    cut();
    mend();
    BOOST_TEST(shorter.succeeded());  // it was sent again
    BOOST_TEST(extend(mine, 20s).succeeded());
    run(lost);
    BOOST_TEST((redis.lease_left("k") <= 500ms));
    BOOST_TEST(is_kept(mine));
}

// It would set the lease of the acquire again.
BOOST_AUTO_TEST_CASE(so_may_the_acquire)
{
    server->ends_old_connections = false;
    pending_hold got;
    auto& lost = held_back(scripts::acquire, [&] { got = acquire(); });
    cut();
    mend();
    BOOST_TEST_REQUIRE(got.succeeded());
    auto& mine = got.value();
    BOOST_TEST(mine.valid_for(2'900ms));
    BOOST_TEST(extend(mine, 20s).succeeded());
    run(lost);
    BOOST_TEST((redis.lease_left("k") <= 3s));
    BOOST_TEST(is_kept(mine));
}

BOOST_AUTO_TEST_CASE(so_may_the_script_of_an_adoption)
{
    server->ends_old_connections = false;
    auto mine = taken({.lease = 10s});
    auto given = mine.give(settled());
    BOOST_TEST_REQUIRE(given.succeeded());
    pending_hold adopted;
    auto& lost = held_back(scripts::adopt, [&] {
        client.adopt(given.value(), {.lease = 3s, .renew = true}, adopted.token());
    });
    cut();
    mend();
    BOOST_TEST_REQUIRE(adopted.succeeded());
    BOOST_TEST(extend(adopted.value(), 20s).succeeded());
    run(lost);
    BOOST_TEST(is_kept(adopted.value()));
}

// The hold was lost when its last renewal was answered, and is released later.
BOOST_AUTO_TEST_CASE(a_release_is_owed_until_the_end_that_a_late_renewal_has_set)
{
    auto mine = taken();
    auto& late = renewal_held_back();
    time.advance(1'800ms);
    BOOST_TEST(!mine);
    answer_now(late);
    BOOST_TEST((redis.lease_left("k") > 2'900ms));
    cut();
    time.advance(500ms);
    auto gone = release(mine);
    time.advance(100ms);
    mend();
    BOOST_TEST(gone.is_done());
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(and_while_a_renewal_may_still_run)
{
    auto mine = taken();
    auto& late = renewal_held_back();
    time.advance(1'900ms);
    run(late);  // in time, and the answer is under way
    time.advance(300ms);
    held_back(scripts::release, [&] { mine = hold{}; });
    cut();
    BOOST_TEST(redis.is_locked("k"));
    time.advance(100ms);
    mend();
    BOOST_TEST(!redis.is_locked("k"));
}

// The lease that was asked for is no measure: the server has refused it.
BOOST_AUTO_TEST_CASE(failed_renewals_are_tried_again_by_the_proven_lease)
{
    auto mine = taken();
    server->expect(scripts::extend).out_of_memory();
    BOOST_TEST((extend(mine, 60s).ec() == error::server_refused));
    server->serve = [](call const&) -> std::optional<answer> {
        return answer{answer::kind::not_now, {}, error::unavailable, {}};
    };
    std::vector<time_point> tries;
    auto const count = [&] { return server->count(scripts::renew); };
    for (auto seen = count(); time.advance_until([&] { return count() != seen; }, 2s) && mine;
         seen = count())
        tries.push_back(time.now());
    BOOST_TEST_REQUIRE(tries.size() > 20U);
    for (std::size_t i = 1; i != tries.size(); ++i)
        BOOST_TEST((tries[i] - tries[i - 1] <= 76ms));  // a fortieth of 3 s
}

BOOST_AUTO_TEST_CASE(the_time_of_a_re_entry_begins_with_its_grant)
{
    auto outer = taken({.as = me});
    pending_hold inner;
    auto& entering =
        held_back(scripts::extend, [&] { inner = acquire({.as = me, .at_least = 2s}); });
    time.advance(2'500ms);
    answer_now(entering);
    BOOST_TEST_REQUIRE(inner.succeeded());
    release(inner.value());
    release(outer);
    BOOST_TEST(redis.is_locked("k"));
    time.advance(1'900ms);
    BOOST_TEST(redis.is_locked("k"));
    time.advance(200ms);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(at_least_outlives_a_hold_that_is_lost)
{
    auto mine = taken({.at_least = 3s});
    BOOST_TEST(extend(mine, 200ms).succeeded());
    pending<> again;
    auto& refused = held_back(scripts::extend, [&] { mine.extend(200ms, again.token()); });
    time.advance(300ms);
    BOOST_TEST(!mine);
    refused.not_now();
    time.advance(1s);
    BOOST_TEST((redis.lease_left("k") > 1s));
    release(mine);
    BOOST_TEST((redis.lease_left("k") > 1s));
    time.advance(2s);
    BOOST_TEST(!redis.is_locked("k"));
}

// Another lock of the call is refused behind this one, which the server has released by then.
BOOST_AUTO_TEST_CASE(a_release_that_ran_in_a_call_which_failed_is_no_loss)
{
    auto mine = taken();
    pending<> undone;
    auto& joined = held_back(scripts::release, [&] { mine.release(undone.token()); });
    run(joined);
    answer_now(written_again(joined));
    BOOST_TEST(undone.succeeded());
    BOOST_TEST(events->count("found_lost") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// An owner that writes, and begins to read.
struct late_sides : late_steps {
    template <class Side>
    pending_hold enter(Side const& of, acquire_options options)
    {
        return of.acquire(options, settled());
    }

    read_write_lock sides{client, "k"};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_what_leases_prove_on_both_sides, late_sides)

// The writer's step sets the lease of the hash, on which the reader relies.
BOOST_AUTO_TEST_CASE(a_step_of_the_writer_that_was_answered_before_may_have_run_behind)
{
    for (bool const is_renewal : {true, false}) {
        auto write = std::move(enter(sides.write(), {.lease = 3s, .as = me}).value());
        pending<> longer;
        auto& written = held_back(is_renewal ? scripts::renew : scripts::extend, [&] {
            if (is_renewal) {
                cut();
                mend();
            } else
                write.extend(4s, longer.token());
        });
        pending_hold read;
        auto& entering = held_back(scripts::read_extend, [&] {
            read = enter(sides.read(), {.lease = 30s, .as = me});
        });
        auto& repeated = written_again(written);
        auto const entered = run(entering);
        answer_now(repeated);
        BOOST_TEST((redis.lease_left("k") <= 4s));
        respond(entering, entered);
        BOOST_TEST_REQUIRE(read.succeeded());
        BOOST_TEST(is_kept(read.value()));
        time.advance(2s);  // it is made good
        BOOST_TEST(is_kept(read.value()));
        BOOST_TEST(read.value().valid_for(27s));
        BOOST_TEST(release(read.value()).succeeded());
        release(write);
    }
}

BOOST_AUTO_TEST_CASE(a_renewal_of_the_writer_sets_the_whole_lease_of_a_reader_to_come)
{
    auto write = std::move(enter(sides.write(), {.as = me}).value());
    cut();
    pending_hold read;
    auto& confirmed = server->expect(scripts::renew);
    read = enter(sides.read(), {.lease = 20s, .as = me});
    time.advance(2s);
    server->link_up(link());
    auto& step = server->expect(scripts::read_extend);
    time.settle();
    BOOST_TEST_REQUIRE(step.has_come());
    answer_now(confirmed);
    auto const entered = run(step);
    auto& renewal = renewal_held_back();
    answer_now(renewal);
    respond(step, entered);
    BOOST_TEST_REQUIRE(read.succeeded());
    BOOST_TEST(is_kept(read.value()));
    BOOST_TEST(read.value().valid_for(18s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
