// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks that stay taken for a time, whoever releases them when.
#include "unit/api/running.hpp"
#include "unit/service/group.hpp"
#include <colock/fair_lock.hpp>
#include <colock/once_per.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>

#include <stdexcept>

namespace colock::test {

namespace {

struct kept : served {
    hold taken(acquire_options options)
    {
        auto got = acquire(options);
        BOOST_TEST_REQUIRE(got.succeeded());
        return std::move(got.value());
    }

    /// Somebody else takes the lock where it is free.
    bool is_free() { return !redis.is_locked("k"); }
};

BOOST_FIXTURE_TEST_SUITE(service_at_least, kept)

BOOST_AUTO_TEST_CASE(a_lock_that_is_released_early_stays_taken)
{
    auto mine = taken({.at_least = 1min});
    auto const fields = redis.fields("k");
    time.advance(20s);
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST((redis.fields("k") == fields));
    BOOST_TEST((redis.lease_left("k") <= 40s && redis.lease_left("k") >= 39'900ms));
    BOOST_TEST(server->count(scripts::release) == 0U);
    BOOST_TEST(client.stats().holds == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    time.advance(39'800ms);
    BOOST_TEST(!is_free());
    time.advance(300ms);
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_released_late_is_free_at_once)
{
    auto mine = taken({.at_least = 5s});
    time.advance(6s);
    BOOST_TEST(static_cast<bool>(mine));
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_dropped_leaves_its_lock_taken)
{
    {
        auto const mine = taken({.at_least = 1min});
    }
    time.advance(50s);
    BOOST_TEST(!is_free());
    time.advance(10'100ms);
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(a_client_that_closes_leaves_it_taken)
{
    auto const mine = taken({.at_least = 1min});
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((redis.lease_left("k") > 59s));
}

BOOST_AUTO_TEST_CASE(also_if_its_lease_is_shortened)
{
    auto mine = taken({.at_least = 1min});
    BOOST_TEST(extend(mine, 200ms).succeeded());
    BOOST_TEST((redis.lease_left("k") > 59s));
    BOOST_TEST(!mine.valid_for(200ms));
    time.advance(1s);  // renewals say the same
    BOOST_TEST((redis.lease_left("k") > 58s));
    BOOST_TEST(static_cast<bool>(mine));
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST((redis.lease_left("k") > 58s));
}

BOOST_AUTO_TEST_CASE(who_waits_here_gets_in_when_the_time_is_over)
{
    auto mine = taken({.at_least = 10s});
    auto next = acquire();
    time.advance(1s);
    release(mine);
    time.advance(8'900ms);
    BOOST_TEST(!next.is_done());
    time.advance(1'200ms);
    BOOST_TEST(next.succeeded());
}

// The waiter needs a lease of its own, so nothing is handed over to it without a command.
BOOST_AUTO_TEST_CASE(a_lock_that_is_handed_over_stays_taken_from_then_on)
{
    auto mine = taken({});
    auto next = acquire({.at_least = 20s});
    time.advance(500ms);
    release(mine);
    time.advance(100ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST((redis.lease_left("k") > 19s));
    release(next.value());
    BOOST_TEST((redis.lease_left("k") > 19s));
}

BOOST_AUTO_TEST_CASE(a_re_entry_that_ends_early_keeps_its_time)
{
    owner const me;
    auto outer = taken({.as = me});
    auto inner = acquire({.as = me, .at_least = 20s});
    BOOST_TEST_REQUIRE(inner.succeeded());
    release(inner.value());
    time.advance(10s);
    BOOST_TEST((redis.lease_left("k") >= 9'900ms));
    release(outer);
    BOOST_TEST((redis.lease_left("k") >= 9'900ms));
    time.advance(10'100ms);
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(a_fair_lock_and_a_writer_stay_taken_too)
{
    pending_hold fair;
    fair_lock{client, "f"}.acquire({.at_least = 20s}, fair.token());
    read_write_lock const sides{client, "w"};
    auto writer = sides.write().acquire({.at_least = 20s}, settled());
    BOOST_TEST_REQUIRE((fair.succeeded() && writer.succeeded()));
    release(fair.value());
    release(writer.value());
    time.advance(19'900ms);
    BOOST_TEST((redis.is_locked("f") && redis.is_locked("w")));
    time.advance(200ms);
    BOOST_TEST((!redis.is_locked("f") && !redis.is_locked("w")));
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_handed_over_gets_its_whole_lease)
{
    redis.occupy("k", 1h);
    auto first = acquire(), second = acquire();
    auto const third = acquire({.at_least = 2s});
    redis.free("k");
    BOOST_TEST_REQUIRE(time.advance_until([&] { return first.is_done(); }, 2s));
    second.cancel();  // its token is left, so the third one needs no script for that
    time.advance(5ms);
    BOOST_TEST(release(first.value()).succeeded());
    BOOST_TEST_REQUIRE(third.succeeded());
    BOOST_TEST((redis.lease_left("k") == short_leases().lease));
}

// The reader would renew the hash, and the writer that stays in it with it.
BOOST_AUTO_TEST_CASE(a_writer_that_also_reads_is_refused)
{
    read_write_lock const sides{client, "w"};
    owner const me, other;
    pending_hold later;
    auto writer = sides.write().acquire({.as = me, .at_least = 1s}, settled());
    auto refused = sides.read().acquire({.as = me}, settled());
    BOOST_TEST(writer.succeeded());
    BOOST_TEST((refused.ec() == error::invalid_argument));
    BOOST_TEST(release(writer.value()).succeeded());
    time.advance(1'100ms);
    auto both = sides.write().acquire({.as = other}, settled());
    BOOST_TEST_REQUIRE(both.succeeded());
    auto reader = sides.read().acquire({.as = other}, settled());
    BOOST_TEST_REQUIRE(reader.succeeded());
    auto again = sides.write().acquire({.as = other, .at_least = 1s}, settled());
    BOOST_TEST((again.ec() == error::invalid_argument));
    reader.value() = hold{};  // it reads no more, although the server has not confirmed that
    sides.write().acquire({.as = other, .at_least = 1s}, later.token());
    time.settle();
    BOOST_TEST(later.succeeded());
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_for_again)
{
    auto mine = taken({.at_least = 1min});
    server->expect(scripts::extend).lose();
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST((redis.lease_left("k") > 59s));
    BOOST_TEST(client.stats().keys == 0U);
}

// The rest of the time was set, and is over before the answer is asked for again.
BOOST_AUTO_TEST_CASE(a_lost_answer_of_a_time_that_is_over_is_no_loss)
{
    auto mine = taken({.at_least = 2s});
    time.advance(1'900ms);
    auto& asked = server->expect(scripts::extend);
    auto done = release(mine);
    BOOST_TEST_REQUIRE(asked.has_come());
    BOOST_TEST(asked.seen().lease() == "100");
    server->link_down(link());
    asked.lose();
    redis.clear();
    time.advance(300ms);
    server->link_up(link());
    time.advance(50ms);
    BOOST_TEST(done.succeeded());
    BOOST_TEST(events->count("found_lost") == 0);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(nor_does_a_lost_answer_hide_a_loss)
{
    auto mine = taken({.at_least = 1min});
    redis.clear();
    server->expect(scripts::extend).lose();
    BOOST_TEST((release(mine).ec() == error::lost));
    BOOST_TEST(events->count("found_lost") == 1);
}

BOOST_AUTO_TEST_CASE(a_lock_that_was_taken_away_is_lost_and_not_taken_back)
{
    auto mine = taken({.at_least = 1min});
    redis.clear();
    BOOST_TEST((release(mine).ec() == error::lost));
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(a_force_frees_it)
{
    auto mine = taken({.at_least = 1min});
    release(mine);
    auto forced = mutex().force_release(settled());
    BOOST_TEST(forced.gave_something());
    BOOST_TEST(is_free());
}

BOOST_AUTO_TEST_CASE(where_it_cannot_be_kept_it_is_refused)
{
    std::vector<pending_hold> got(4);
    mutex().acquire({.lease = 1s, .at_least = 2s}, got[0].token());
    mutex().acquire({.at_least = -1ms}, got[1].token());
    mutex().acquire({.at_least = std::chrono::hours{24 * 10'000}}, got[2].token());
    read_write_lock{client, "w"}.read().acquire({.at_least = 1s}, got[3].token());
    multi_lock const both{mutex("a"), mutex("b")};
    auto stays = both.acquire({.at_least = 1s}, settled());
    auto enters = both.acquire({.re_entrant = false}, settled());
    auto permitted = permit_semaphore{client, "p"}.acquire({.at_least = 1s}, settled());
    for (auto const& each : got)
        BOOST_TEST((each.ec() == error::invalid_argument));
    BOOST_TEST((stays.ec() == error::invalid_argument));
    BOOST_TEST((enters.ec() == error::invalid_argument));
    BOOST_TEST((permitted.ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
}

BOOST_AUTO_TEST_CASE(an_acquire_that_gives_up_keeps_nothing)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire({.at_least = 1min});
    cancel(got);
    respond(asked, granted(1));
    BOOST_TEST(server->count(scripts::release) == 1U);
}

// ---- once_per ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_job_runs_once_per_period_in_the_whole_fleet)
{
    kept other;
    redis.attach(*other.server);
    int runs = 0;
    auto const tick = [&](kept& node) -> asio::awaitable<bool> {
        co_return co_await once_per(
            lock{node.client, "job"},
            30s,
            [&](hold&) -> asio::awaitable<void> {
                ++runs;
                co_await rest(10ms);
            }
        );
    };
    for (int period = 1; period != 4; ++period) {
        running const first{*this, [&] { return tick(*this); }};
        time.advance(100ms);
        running const second{other, [&] { return tick(other); }};
        time.advance(20s);
        running const late{other, [&] { return tick(other); }};
        BOOST_TEST((first.succeeded() && second.succeeded() && late.succeeded()));
        BOOST_TEST(runs == period);
        time.advance(40s);
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_throws_counts_as_a_run)
{
    auto const fails = [](hold&) -> asio::awaitable<int> {
        co_await rest(1ms);
        throw std::runtime_error{"no"};
    };
    running const first{
        *this, [&]() -> asio::awaitable<void> { (void)co_await once_per(mutex(), 30s, fails); }};
    time.advance(2ms);
    BOOST_TEST(first.said() == "no");
    std::optional<int> got = 7;
    running const second{
        *this, [&]() -> asio::awaitable<void> { got = co_await once_per(mutex(), 30s, fails); }};
    time.advance(2ms);
    BOOST_TEST((second.succeeded() && !got));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
