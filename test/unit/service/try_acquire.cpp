// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/group.hpp"
#include <colock/read_write_lock.hpp>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_try_acquire, harness)

BOOST_AUTO_TEST_CASE(granted_or_empty)
{
    server->expect(scripts::acquire).reply(refused(1'000));
    auto none = try_acquire();
    BOOST_TEST(none.gave_nothing());
    BOOST_TEST(!server->pubsub_wanted());
    BOOST_TEST(client.stats().keys == 0U);
    server->expect(scripts::acquire).reply(granted(1));
    auto some = try_acquire();
    BOOST_TEST_REQUIRE(some.gave_something());
}

// Also one that no difference of clocks can tell.
BOOST_AUTO_TEST_CASE(a_moment_that_has_passed_tries_once)
{
    using wall = std::chrono::system_clock;
    auto const ends_at_once = [this](auto moment) {
        server->expect(scripts::acquire).reply(refused(1'000));
        auto p = mutex().try_acquire_until(moment, settled());
        BOOST_TEST(p.gave_nothing());
    };
    ends_at_once(hold::clock::time_point::min());
    ends_at_once(hold::clock::time_point{});
    ends_at_once(wall::time_point::min());
    ends_at_once(std::chrono::time_point<wall, std::chrono::hours>::min());
}

BOOST_AUTO_TEST_CASE(a_moment_may_be_as_late_as_can_be)
{
    using wall = std::chrono::system_clock;
    auto const waits = [](auto moment) {
        harness at;
        for (int i = 0; i != 2; ++i)
            at.server->expect(scripts::acquire).reply(refused(60'000));
        auto p = at.mutex().try_acquire_until(moment, at.settled());
        at.time.advance(10ms);
        BOOST_TEST(!p.is_done());
        at.server->expect(scripts::release).reply(gone());
        p.cancel();
        at.time.settle();
    };
    waits(hold::clock::time_point::max());
    waits(std::chrono::time_point<hold::clock, milliseconds>::max());
    waits(wall::time_point::max());
    waits(std::chrono::time_point<wall, std::chrono::hours>::max());
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_moved_from_has_no_name)
{
    auto from = mutex();
    auto const to = std::move(from);
    pending_hold p;
    from.acquire(p.token());  // NOLINT(bugprone-use-after-move)
    time.settle();
    BOOST_TEST((p.ec() == error::invalid_argument));
    server->expect(scripts::acquire).reply(granted(1));
    BOOST_TEST(acquire(to).succeeded());
}

BOOST_AUTO_TEST_CASE(empty_at_once_when_this_client_holds_it)
{
    auto const mine = held();
    auto none = try_acquire();
    BOOST_TEST(none.gave_nothing());
    BOOST_TEST(server->written().size() == 1U);
}

BOOST_AUTO_TEST_CASE(empty_at_once_when_others_sleep_in_the_queue)
{
    server->expect(scripts::acquire).reply(refused(1'000));
    server->expect(scripts::acquire).reply(refused(1'000));
    auto waiting = acquire();
    auto const sent = server->written().size();
    auto none = try_acquire();
    BOOST_TEST(none.gave_nothing());
    BOOST_TEST(server->written().size() == sent);
    waiting.cancel();
}

BOOST_AUTO_TEST_CASE(joins_an_attempt_in_flight)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = try_acquire(), second = try_acquire();
    respond(asked, granted(1));
    BOOST_TEST(first.gave_something());
    BOOST_TEST(second.gave_nothing());
    BOOST_TEST(server->written().size() == 1U);
}

BOOST_AUTO_TEST_CASE(takes_over_when_the_first_is_cancelled)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = try_acquire(), second = try_acquire();
    first.cancel();
    respond(asked, granted(1));
    BOOST_TEST(first.aborted());
    BOOST_TEST(second.gave_something());
}

BOOST_AUTO_TEST_CASE(without_a_link_it_ends_after_the_timeout)
{
    server->all_down();
    time.settle();
    auto got = try_acquire();
    time.advance(1'999ms);
    BOOST_TEST(!got.is_done());
    time.advance(2ms);
    BOOST_TEST((got.ec() == error::unavailable));
    BOOST_TEST(server->unsent() == 0U);
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_unavailable)
{
    auto& silent = server->expect(scripts::acquire);
    auto got = try_acquire();
    time.advance(2'001ms);
    BOOST_TEST((got.ec() == error::unavailable));
    server->expect(scripts::release).reply(released());
    respond(silent, granted(1));
    BOOST_TEST(server->count(scripts::release) == 1U);
}

BOOST_AUTO_TEST_CASE(a_limited_wait_that_no_server_answers_ends_in_time_with_an_error)
{
    auto& silent = server->expect(scripts::acquire);
    auto got = try_for(120ms);
    time.advance(119ms);
    BOOST_TEST(!got.is_done());
    time.advance(2ms);
    BOOST_TEST((got.ec() == error::unavailable));
    silent.reply(refused(10));
    time.settle();
    BOOST_TEST(client.stats().keys == 0U);

    cut_all();
    auto unsent = try_for(120ms);
    time.advance(121ms);
    BOOST_TEST((unsent.ec() == error::unavailable));
}

// Who came later has the answer to the first one, for as long as its server is reached.
BOOST_AUTO_TEST_CASE(a_limited_wait_for_a_lock_that_was_seen_taken_ends_with_nothing)
{
    server->expect(scripts::acquire).reply(refused(5'000));
    server->expect(scripts::acquire).reply(refused(5'000));
    auto first = try_for(120ms);
    time.advance(60ms);
    auto later = try_for(10ms);
    auto behind = try_for(120ms);
    time.advance(11ms);
    BOOST_TEST((later.succeeded() && !later.value()));
    server->expect(scripts::acquire).reply(refused(5'000));  // for the next one
    time.advance(60ms);
    BOOST_TEST((first.succeeded() && !first.value()));
    server->all_down();
    time.advance(120ms);
    BOOST_TEST((behind.ec() == error::unavailable));
}

BOOST_AUTO_TEST_CASE(a_limited_wait_for_a_lock_of_this_client_ends_with_nothing)
{
    auto const mine = held();
    auto got = try_for(120ms);
    time.advance(121ms);
    BOOST_TEST((got.succeeded() && !got.value()));
}

// Its limit comes between the release and the answer.
BOOST_AUTO_TEST_CASE(so_does_one_behind_a_hold_that_has_just_ended)
{
    auto mine = held();
    auto got = try_for(120ms);
    time.advance(119ms);
    server->expect(scripts::release).reply(released());
    auto& asked = server->expect(scripts::acquire);
    BOOST_TEST(release(mine).succeeded());
    time.advance(2ms);
    BOOST_TEST((got.succeeded() && !got.value()));
    server->expect(scripts::release).reply(released());
    asked.reply(granted(2));
    time.settle();
}

BOOST_FIXTURE_TEST_CASE(so_does_a_reader_behind_a_writer_that_has_just_left, served)
{
    read_write_lock const both{client, "k"};
    auto writes = take(both.write());
    auto const reads = take_for(both.read(), 120ms);
    time.advance(119ms);
    auto& leaves = server->expect(scripts::write_release);
    auto& asked = server->expect(scripts::read_acquire);
    auto const released = release(writes.value());
    respond(leaves, redis.run(leaves.seen()));
    BOOST_TEST(released.succeeded());
    BOOST_TEST_REQUIRE(asked.has_come());
    time.advance(2ms);
    BOOST_TEST(reads.gave_nothing());
    respond(asked, redis.run(asked.seen()));
    time.advance(100ms);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_limited_wait_gets_in_when_the_lock_comes_free)
{
    server->expect(scripts::acquire).reply(refused(50));
    server->expect(scripts::acquire).reply(refused(50));
    auto got = try_for(1s, {.lease = 10s});
    server->expect(scripts::acquire).reply(granted(2));
    time.advance(50ms);
    BOOST_TEST(!got.is_done());
    time.advance(2ms);
    BOOST_TEST(got.gave_something());
    time.advance(1s);
    BOOST_TEST(got.calls() == 1);
}

BOOST_AUTO_TEST_CASE(the_longest_wait_is_no_overflow)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = mutex().try_acquire_for(std::chrono::hours::max(), settled());
    time.advance(10ms);
    BOOST_TEST(!got.is_done());
    respond(asked, granted(1));
    BOOST_TEST(got.gave_something());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
