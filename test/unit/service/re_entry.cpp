// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An owner that enters again what it holds.
#include "unit/harness.hpp"

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_reentry, harness)

std::int64_t count_of(harness& h, owner const& who)
{
    auto p = h.mutex().hold_count(who, h.settled());
    BOOST_TEST_REQUIRE(p.succeeded());
    return p.value();
}

BOOST_AUTO_TEST_CASE(the_depth_sent_is_absolute)
{
    owner const me;
    auto outer = held({.as = me}, 7);
    auto& deeper = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    BOOST_TEST(count_of(*this, me) == 1);
    BOOST_TEST(deeper.seen().depth() == "2");
    BOOST_TEST(deeper.seen().field() == server->written()[0].field());
    deeper.lose();
    auto& again = server->expect(scripts::extend);
    time.settle();
    BOOST_TEST(again.seen().depth() == "2");
    respond(again, done());
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST(inner.value().fencing_token() == 7U);
    BOOST_TEST((inner.value().as() == me));
    BOOST_TEST(count_of(*this, me) == 2);
    BOOST_TEST(count_of(*this, owner{}) == 0);
    BOOST_TEST(client.stats().holds == 2U);

    server->expect(scripts::extend).reply(done());
    BOOST_TEST(release(outer).succeeded());  // in any order
    BOOST_TEST(last().depth() == "1");
    BOOST_TEST(static_cast<bool>(inner.value()));
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(inner.value()).succeeded());
    BOOST_TEST(client.stats().holds == 0U);
}

BOOST_AUTO_TEST_CASE(passes_the_queue_by)
{
    owner const me;
    auto outer = held({.as = me});
    auto other = acquire();
    server->expect(scripts::extend).reply(done());
    auto inner = try_acquire({.as = me});
    BOOST_TEST(inner.gave_something());
    BOOST_TEST(!other.is_done());
}

BOOST_AUTO_TEST_CASE(without_the_owner_it_waits)
{
    auto outer = held();
    auto second = acquire({.as = owner{}});
    BOOST_TEST(!second.is_done());
    server->expect(scripts::acquire).reply(granted(2));
    outer = hold{};
    time.settle();
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_what_it_waits_for_when_the_context_goes)
{
    auto at = std::make_unique<harness>();
    owner const me;
    auto own = std::make_shared<hold>(at->held({.as = me}));
    at->server->expect(scripts::extend).reply(done());
    auto inner = at->acquire({.as = me});
    own->lost([own](error_code) {});
    at->time.settle();
    std::weak_ptr<hold> const seen = own;
    own.reset();
    inner.value() = hold{};
    at.reset();
    BOOST_TEST(seen.expired());
}

BOOST_AUTO_TEST_CASE(gone_means_that_all_are_lost_and_nothing_is_taken)
{
    owner const me;
    auto outer = held({.as = me});
    auto told = lost(outer);
    server->expect(scripts::extend).reply(not_there());
    auto inner = acquire({.as = me});
    BOOST_TEST((inner.ec() == error::lost));
    BOOST_TEST(!inner.value());
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!outer);
    BOOST_TEST((release(outer).ec() == error::lost));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(two_of_one_owner_that_wait_get_in_together)
{
    owner const me;
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire({.as = me}), other = acquire(), second = acquire({.as = me});
    auto& entered = server->expect(scripts::extend);
    entered.reply(done());
    server->expect(scripts::renew).reply(done());
    respond(asked, granted(1));
    BOOST_TEST((first.succeeded() && second.succeeded()));
    BOOST_TEST(!other.is_done());
    BOOST_TEST(entered.seen().depth() == "2");
}

BOOST_AUTO_TEST_CASE(a_lost_outer_hold_does_not_keep_the_lock)
{
    owner const me;
    auto outer = held({.lease = 500ms, .as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    time.advance(600ms);
    BOOST_TEST(!outer);
    BOOST_TEST(static_cast<bool>(inner.value()));
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(inner.value()).succeeded());
    server->expect(scripts::acquire).reply(granted(2));
    auto next = acquire();
    BOOST_TEST(next.succeeded());
    BOOST_TEST((release(outer).ec() == error::lost));
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(next.value()).succeeded());
    BOOST_TEST(client.stats().keys == 0U);
}

// The server has the depth of both.
BOOST_AUTO_TEST_CASE(nor_is_it_handed_over_with_the_lock)
{
    owner const me;
    auto outer = held({.lease = 500ms, .as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    server->serve = [](call const& c) -> std::optional<answer> {
        auto what = c.what == &scripts::acquire ? granted(2)
            : c.what == &scripts::release       ? released()
                                                : done();
        return answer{answer::kind::replied, std::move(what), {}, {}};
    };
    auto next = acquire();
    time.advance(600ms);
    BOOST_TEST(!outer);
    BOOST_TEST(release(inner.value()).succeeded());
    time.advance(50ms);
    BOOST_TEST(next.succeeded());
    BOOST_TEST(server->count(scripts::release) == 1U);
    BOOST_TEST(server->count(scripts::acquire) == 2U);
}

BOOST_AUTO_TEST_CASE(nor_if_the_inner_one_never_came)
{
    owner const me;
    auto outer = held({.lease = 500ms, .as = me});
    auto& deeper = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    time.advance(600ms);
    BOOST_TEST(!outer);
    server->expect(scripts::release).reply(released());
    deeper.fail(error::server_refused);
    time.settle();
    BOOST_TEST((inner.ec() == error::server_refused));
    server->expect(scripts::acquire).reply(granted(2));
    BOOST_TEST(acquire().succeeded());
    server->serve = [](call const&) { return answer{answer::kind::replied, released(), {}, {}}; };
}

BOOST_AUTO_TEST_CASE(a_cancelled_one_leaves_the_depth_as_it_was)
{
    owner const me;
    auto outer = held({.as = me});
    auto& deeper = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    cancel(inner);
    BOOST_TEST(inner.aborted());
    auto& back = server->expect(scripts::extend);
    respond(deeper, done());
    BOOST_TEST(back.seen().depth() == "1");
    respond(back, done());
    BOOST_TEST(count_of(*this, me) == 1);
    BOOST_TEST(static_cast<bool>(outer));
}

BOOST_AUTO_TEST_CASE(an_answer_after_its_own_validity_gives_nothing)
{
    owner const me;
    auto outer = held({.as = me});
    auto& slow = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    auto told = lost(outer);
    server->serve = [](call const&) { return answer{answer::kind::replied, done(), {}, {}}; };
    time.jump(10s);
    respond(slow, done());
    BOOST_TEST((inner.ec() == error::lost));
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!outer);
}

BOOST_AUTO_TEST_CASE(a_hold_that_was_asleep_says_so_before_any_handler_runs)
{
    auto const mine = held();
    BOOST_TEST(static_cast<bool>(mine));
    time.jump(10s);
    BOOST_TEST(!mine);
}

BOOST_AUTO_TEST_CASE(its_wait_ends_in_time_too)
{
    owner const me;
    auto outer = held({.lease = 60s, .as = me});
    auto& silent = server->expect(scripts::extend);
    auto inner = try_for(100ms, {.as = me});
    time.advance(101ms);
    BOOST_TEST((inner.ec() == error::unavailable));
    server->expect(scripts::extend).reply(done());
    respond(silent, done());
    BOOST_TEST(last().depth() == "1");
    BOOST_TEST(inner.calls() == 1);
}

BOOST_AUTO_TEST_CASE(the_outer_may_go_while_the_inner_comes)
{
    owner const me;
    auto outer = held({.as = me});
    auto& renewal = server->expect(scripts::renew);
    time.advance(1s);
    BOOST_TEST_REQUIRE(renewal.has_come());
    auto& deeper = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    auto gone_outer = release(outer);
    auto early = try_acquire();  // the inner one is not confirmed yet
    BOOST_TEST(early.gave_nothing());
    auto own = try_acquire({.as = me});
    auto refused = try_acquire({.as = me, .re_entrant = false});
    BOOST_TEST((!own.is_done() && !refused.is_done()));
    auto& shallow = server->expect(scripts::extend);
    respond(renewal, done());
    respond(deeper, done());
    respond(shallow, done());
    BOOST_TEST((inner.succeeded() && gone_outer.succeeded()));
    BOOST_TEST_REQUIRE((own.succeeded() && own.value()));
    BOOST_TEST((refused.ec() == error::would_deadlock));
    BOOST_TEST(count_of(*this, me) == 2);
    // The ownership is still the key's: the owner enters again, and others wait.
    server->expect(scripts::extend).reply(done());
    auto const third = acquire({.as = me});
    BOOST_TEST(third.succeeded());
    auto other = try_acquire();
    BOOST_TEST(other.gave_nothing());
    server->serve = [](call const&) { return answer{answer::kind::replied, released(), {}, {}}; };
}

// The owner has the lock all the time, so it asks once more and no oftener.
BOOST_AUTO_TEST_CASE(a_late_answer_is_asked_for_again)
{
    owner const me;
    auto outer = held({.as = me});
    auto& late = server->expect(scripts::extend);
    auto inner = acquire({.as = me});
    BOOST_TEST_REQUIRE(late.has_come());
    time.advance(2'500ms);
    auto& again = server->expect(scripts::extend);
    respond(late, done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(!inner.is_done());
    respond(again, done());
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST((inner.value().valid_until() - time.now() >= validity / 2));
    server->serve = [](call const&) { return answer{answer::kind::replied, done(), {}, {}}; };
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
