// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

#include <boost/asio/bind_executor.hpp>

#include <thread>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_release, harness)

BOOST_AUTO_TEST_CASE(one_script_with_the_field_and_the_channel)
{
    auto mine = held();
    auto const field = last().field();
    time.advance(120ms);
    auto& asked = server->expect(scripts::release);
    auto done = release(mine);
    BOOST_TEST(!mine);
    BOOST_TEST((mine.valid_until() == time_point{}));
    BOOST_TEST(!done.is_done());
    BOOST_TEST(asked.seen().field() == field);
    BOOST_TEST(asked.seen().arguments.at(2) == channel());
    BOOST_TEST(client.stats().holds == 0U);
    respond(asked, released());
    BOOST_TEST(done.succeeded());
    BOOST_TEST(events->count("released") == 1);
    BOOST_TEST((events->last_held == 120ms));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(the_second_time_succeeds_and_sends_nothing)
{
    auto mine = held();
    server->expect(scripts::release).reply(released());
    release(mine);
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(events->count("released") == 1);
}

// Another hold that was dropped before makes the client look for dropped holds first.
BOOST_AUTO_TEST_CASE(it_is_waited_for_although_the_hold_is_dropped_at_once)
{
    server->expect(scripts::acquire).reply(granted(1));
    auto other = std::move(acquire(mutex("other")).value());
    auto mine = held();
    server->serve = [](call const&) { return std::nullopt; };
    pending<> done;
    other = {};
    mine.release(done.token());
    mine = {};
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 2U);
    BOOST_TEST(!done.is_done());
}

BOOST_AUTO_TEST_CASE(an_empty_or_moved_from_hold_is_not_held)
{
    hold nothing;
    pending<> p, q, r;
    nothing.release(asio::bind_executor(context, p.token()));
    nothing.lost(asio::bind_executor(context, q.token()));
    nothing.extend(1s, asio::bind_executor(context, r.token()));
    auto const settled = [&] {
        time.settle();
        return p.is_done() && q.is_done() && r.is_done();
    };
    while (!settled())  // the system executor's thread posts to us
        std::this_thread::yield();
    BOOST_TEST((p.ec() == error::not_held && q.ec() == error::not_held));
    BOOST_TEST((r.ec() == error::not_held));
    BOOST_TEST(!nothing);
    BOOST_TEST(nothing.fencing_token() == 0U);
    BOOST_TEST(!nothing.valid_for(0s));
    BOOST_TEST(!nothing.stop_token().stop_possible());

    auto mine = held();
    auto moved = std::move(mine);
    BOOST_TEST(!mine);  // NOLINT(bugprone-use-after-move)
    BOOST_TEST(static_cast<bool>(moved));
    server->expect(scripts::release).reply(released());
    moved = hold{};
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 1U);
}

BOOST_AUTO_TEST_CASE(gone_at_the_server_is_lost)
{
    auto mine = held();
    server->expect(scripts::release).reply(gone());
    BOOST_TEST((release(mine).ec() == error::lost));
    BOOST_TEST(events->count("found_lost") == 1);
    BOOST_TEST(events->count("lost") == 0);
    BOOST_TEST(events->last_holder.starts_with(inside().uuid() + ':'));
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(
        log[0].starts_with("release k (" + events->last_holder + "): " + events->last_cause), log[0]
    );
}

BOOST_AUTO_TEST_CASE(gone_behind_the_end_of_its_lease_proves_nothing)
{
    auto mine = held({.lease = 500ms});
    auto& asked = server->expect(scripts::release);
    auto done = release(mine);
    time.advance(600ms);
    respond(asked, gone());
    BOOST_TEST((done.ec() == error::lost));
    BOOST_TEST(events->count("found_lost") == 0);
}

BOOST_AUTO_TEST_CASE(each_of_two_that_are_released_at_once_is_told)
{
    owner const me;
    auto outer = held({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    auto& asked = server->expect(scripts::extend);
    auto first = release(inner.value()), second = release(outer);
    respond(asked, not_there());
    BOOST_TEST((first.ec() == error::lost));
    BOOST_TEST((second.ec() == error::lost));
    BOOST_TEST(events->count("found_lost") == 2);
}

BOOST_AUTO_TEST_CASE(a_repeat_after_a_lost_answer_that_finds_nothing_is_success)
{
    auto mine = held();
    server->expect(scripts::release).lose();
    server->expect(scripts::release).reply(gone());
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(server->written()[1].field() == server->written()[2].field());
}

BOOST_AUTO_TEST_CASE(a_repeat_that_comes_after_the_lease_is_over_proves_nothing)
{
    auto mine = held();
    auto& first = server->expect(scripts::release);
    auto done = release(mine);
    first.lose();
    auto& second = server->expect(scripts::release);
    time.settle();
    BOOST_TEST_REQUIRE(second.has_come());
    time.jump(4s);
    respond(second, gone());
    BOOST_TEST((done.ec() == error::lost));
}

BOOST_AUTO_TEST_CASE(one_that_the_server_refuses_is_told_to_the_log)
{
    {
        auto const dropped = held();
        server->expect(scripts::release).fail(error::server_refused);
    }
    time.settle();
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(log[0].find("release of k (") == 0U, log[0]);
}

BOOST_AUTO_TEST_CASE(without_a_link_it_stays_owed_until_the_lease_is_over)
{
    auto mine = held();
    server->all_down();
    time.settle();
    auto done = release(mine);
    time.advance(2'001ms);
    BOOST_TEST((done.ec() == error::unavailable));
    BOOST_TEST(server->unsent() == 1U);
    time.advance(1s);
    BOOST_TEST(server->unsent() == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_destroyed_is_released)
{
    {
        auto const mine = held();
        server->expect(scripts::release).reply(released());
    }
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 1U);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(cancelling_ends_the_waiting_and_the_release_goes_on)
{
    auto mine = held();
    auto& asked = server->expect(scripts::release);
    auto done = release(mine);
    cancel(done);
    BOOST_TEST(done.aborted());
    asked.lose();
    server->expect(scripts::release).reply(released());
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 2U);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_refused_publish_is_a_release_and_a_warning)
{
    auto mine = held();
    server->expect(scripts::release).reply(released(-1));
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(log.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lost_hold_is_still_released_and_says_lost)
{
    auto mine = held({.lease = 400ms});
    time.advance(400ms);
    BOOST_TEST(!mine);
    server->expect(scripts::release).reply(released());
    BOOST_TEST((release(mine).ec() == error::lost));
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(a_partial_one_that_is_refused_drops_no_renewal)
{
    owner const me;
    auto outer = held({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    cut();
    time.advance(1'100ms);  // the renewal is due, and waits for the link
    auto& lower = server->expect(scripts::extend);
    auto gone = release(inner.value());
    mend();
    BOOST_TEST_REQUIRE(lower.has_come());
    auto& renewal = server->expect(scripts::renew);
    lower.fail(error::server_refused);
    time.settle();
    BOOST_TEST((gone.ec() == error::server_refused));
    BOOST_TEST_REQUIRE(renewal.has_come());
    respond(renewal, done());
    BOOST_TEST(bool{outer});
    server->expect(scripts::release).reply(released());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
