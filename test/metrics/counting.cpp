// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What `metrics` counts of a client on a scripted server, in virtual time.
#include "integration/suites.hpp"
#include "unit/harness.hpp"
#include <colock/metrics.hpp>
#include <colock/semaphore.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>
#include <variant>

namespace colock::test {

namespace {

/// A client whose events are counted, and then written down as well.
struct counted {
    counted() : client{detail::client_access::make(make_core())}
    {
        metrics->watch(client);
        client.run(run.token());
        redis.attach(*server);
        time.settle();
    }

    detail::core_ptr make_core()
    {
        auto settings = short_leases();
        settings.observer = metrics;
        return test::make_core(context.get_executor(), settings, [this](fake_transport& made) {
            server = &made;
        });
    }

    settling settled() { return {time}; }
    pending_hold acquire() { return lock{client, "k"}.acquire(settled()); }
    void release(pending_hold& of)
    {
        auto p = of.value().release(settled());
        BOOST_TEST(p.succeeded());
    }
    metrics_snapshot now() const { return metrics->snapshot(); }

    asio::io_context context;
    virtual_time time{context};
    fake_transport* server = nullptr;
    script_server redis;
    std::shared_ptr<recorder> events = std::make_shared<recorder>();
    std::shared_ptr<colock::metrics> metrics =
        std::make_shared<colock::metrics>(std::vector<std::string>{"k", "a", "k"}, events);
    pending<> run;
    colock::client client;
};

/// The class of a histogram that a time falls into.
std::size_t class_of(duration_histogram::microseconds d)
{
    std::size_t at = 0;
    while (at != duration_histogram::bounds.size() && d > duration_histogram::bounds[at])
        ++at;
    return at;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(counting, counted)

BOOST_AUTO_TEST_CASE(a_hold_and_its_release)
{
    auto held = acquire();
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(now().clients.holds == 1U);
    BOOST_TEST(now().acquired() == 1U);
    BOOST_TEST(now().waited.counts[0] == 1U);
    BOOST_TEST(now().attempts == 1U);
    BOOST_TEST(now().waits == 0U);
    BOOST_TEST(now().released() == 0U);
    time.advance(30ms);
    release(held);
    auto const after = now();
    BOOST_TEST(after.clients.holds == 0U);
    BOOST_TEST(after.released() == 1U);
    BOOST_TEST(after.held.counts[class_of(30ms)] == 1U);
    BOOST_TEST((after.held.sum == 30ms));
    BOOST_TEST(after.handed_over_here == 0U);
    BOOST_TEST(after.handed_over_there == 0U);
}

BOOST_AUTO_TEST_CASE(a_lock_that_goes_from_task_to_task)
{
    auto first = acquire();
    auto second = acquire();
    auto third = acquire();
    BOOST_TEST(now().clients.waiters == 2U);
    time.advance(2ms);
    release(first);  // with a script, for its tokens
    BOOST_TEST_REQUIRE(second.succeeded());
    release(second);
    BOOST_TEST_REQUIRE(third.succeeded());
    release(third);
    auto const after = now();
    BOOST_TEST(after.acquired() == 3U);
    BOOST_TEST(after.handed_over_here == 1U);
    BOOST_TEST(after.handed_over_there == 0U);
    BOOST_TEST(after.released() == 3U);
    BOOST_TEST(after.waited.counts[class_of(2ms)] == 2U);
    BOOST_TEST(after.clients.waiters == 0U);
}

BOOST_AUTO_TEST_CASE(a_lock_that_comes_from_another_client)
{
    redis.occupy("k", 10s);
    auto waits = acquire();
    BOOST_TEST(now().waits == 1U);
    BOOST_TEST(now().clients.waiters == 1U);
    time.advance(200ms);
    redis.free("k");
    time.advance(20ms);
    BOOST_TEST_REQUIRE(waits.succeeded());
    auto const after = now();
    BOOST_TEST(after.handed_over_there == 1U);
    BOOST_TEST(after.handed_over_here == 0U);
    BOOST_TEST(after.attempts >= 2U);
    BOOST_TEST(after.waited.counts[class_of(205ms)] == 1U);
    BOOST_TEST((after.waited.sum >= 200ms));
}

BOOST_AUTO_TEST_CASE(acquires_without_success)
{
    redis.occupy("k", 10s);
    pending_try waits, tries;
    lock{client, "k"}.try_acquire_for(200ms, waits.token());
    lock{client, "k"}.try_acquire(tries.token());
    auto cancelled = acquire();
    time.advance(250ms);
    BOOST_TEST(waits.gave_nothing());
    BOOST_TEST_REQUIRE(tries.succeeded());
    BOOST_TEST(now().gave_up == 1U);  // a call that only tries has not waited
    BOOST_TEST(now().cancelled == 0U);
    cancelled.cancel();
    time.settle();
    BOOST_TEST_REQUIRE(cancelled.aborted());
    BOOST_TEST(now().gave_up == 1U);
    BOOST_TEST(now().cancelled == 1U);
    BOOST_TEST(now().acquired() == 0U);
    auto const apart = metrics->by_name();
    BOOST_TEST_REQUIRE(apart.size() == 2U);
    BOOST_TEST(apart[0].name == "a");
    BOOST_TEST(apart[0].gave_up + apart[0].cancelled + apart[0].waits == 0U);
    BOOST_TEST(apart[1].name == "k");
    BOOST_TEST(apart[1].gave_up == 1U);
    BOOST_TEST(apart[1].cancelled == 1U);
    BOOST_TEST(apart[1].waits == now().waits);
}

BOOST_AUTO_TEST_CASE(permits_without_success)
{
    pending<bool> waits;
    pending<> cancelled;
    semaphore const few{client, "s"};
    few.try_acquire_for(200ms, waits.token());
    few.acquire(cancelled.token());
    time.advance(250ms);
    BOOST_TEST(waits.gave_nothing());
    cancelled.cancel();
    time.settle();
    BOOST_TEST(cancelled.aborted());
    BOOST_TEST(now().gave_up == 1U);
    BOOST_TEST(now().cancelled == 1U);
}

BOOST_AUTO_TEST_CASE(names_that_are_counted_apart)
{
    auto held = acquire();
    time.advance(30ms);
    release(held);
    metrics->on_event(events::acquired{"z", 1, 1ms, 1});  // not in the list
    metrics->on_event(events::lost{"a", {}, error::lost});
    auto const apart = metrics->by_name();
    BOOST_TEST_REQUIRE(apart.size() == 2U);
    BOOST_TEST(apart[0].lost == 1U);
    BOOST_TEST(apart[0].waited.total() == 0U);
    BOOST_TEST(apart[1].waited.total() == 1U);
    BOOST_TEST(apart[1].held.counts[class_of(30ms)] == 1U);
    BOOST_TEST(now().acquired() == 2U);
}

BOOST_AUTO_TEST_CASE(renewals_and_a_loss)
{
    auto held = acquire();
    time.advance(1'100ms);
    BOOST_TEST(now().renewals == 1U);
    server->all_down();
    server->pubsub_down();
    time.advance(3s);
    auto after = now();
    BOOST_TEST(after.lost == 1U);
    BOOST_TEST(after.clients.holds == 0U);
    BOOST_TEST(after.clients.links_up == 0U);
    BOOST_TEST(after.released() == 0U);  // it was lost before
    BOOST_TEST(after.links_lost > 0U);
    BOOST_TEST(after.reconnects == 0U);
    server->all_up();
    server->pubsub_up();
    time.settle();
    after = now();
    BOOST_TEST(after.reconnects == after.links_lost);
    BOOST_TEST(after.reconnects == client.stats().reconnects);
    BOOST_TEST(after.links_opened > after.reconnects);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_fails_is_counted_apart)
{
    auto held = acquire();
    server->serve = {};
    auto& renewal = server->expect(scripts::renew);
    time.advance(1'100ms);
    BOOST_TEST_REQUIRE(renewal.has_come());
    renewal.lose();
    redis.attach(*server);
    time.advance(500ms);
    BOOST_TEST(now().renewals_failed == std::uint64_t(events->count("renew_failed")));
    BOOST_TEST(now().renewals_failed > 0U);
    BOOST_TEST(now().lost == 0U);
}

BOOST_AUTO_TEST_CASE(a_subscription_that_is_refused)
{
    server->forbidden.insert("redisson_lock__channel:{k}");
    redis.occupy("k", 10s);
    auto waits = acquire();
    BOOST_TEST(now().subscriptions_refused == 1U);
}

BOOST_AUTO_TEST_CASE(a_semaphore_that_nobody_has_set)
{
    auto waits = semaphore{client, "s"}.acquire(settled());
    BOOST_TEST(now().no_permits_set == 1U);
    BOOST_TEST(events->count("no_permits_set") == 1);
    auto sets = semaphore{client, "s", 2}.acquire(settled());
    BOOST_TEST(sets.succeeded());
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(now().no_permits_set == 1U);
}

BOOST_AUTO_TEST_CASE(a_loss_that_the_release_finds)
{
    auto mine = acquire();
    redis.clear();
    auto done = mine.value().release(settled());
    BOOST_TEST((done.ec() == error::lost));
    BOOST_TEST(now().lost == 1U);
    BOOST_TEST(now().released() == 1U);
    BOOST_TEST(events->count("found_lost") == 1);
}

BOOST_AUTO_TEST_CASE(each_event_is_passed_on)
{
    auto first = acquire();
    auto second = acquire();
    auto third = acquire();
    release(first);
    release(second);
    time.advance(1'100ms);
    server->all_down();
    time.settle();
    server->all_up();
    time.settle();
    release(third);
    auto const after = now();
    auto const seen = [&](char const* what) { return std::uint64_t(events->count(what)); };
    BOOST_TEST(after.acquired() == seen("acquired"));
    BOOST_TEST(after.released() == seen("released"));
    BOOST_TEST(after.handed_over_here == seen("handed_over"));
    BOOST_TEST(after.renewals == seen("renewed"));
    BOOST_TEST(after.links_opened == seen("link_up"));
    BOOST_TEST(after.links_lost == seen("link_down"));
    for (auto const* what : {"acquired", "released", "handed_over", "renewed", "link_down"})
        BOOST_TEST(seen(what) > 0U, what);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_gone_is_forgotten)
{
    auto const shared = std::make_shared<colock::metrics>();
    {
        counted other;
        shared->watch(other.client);
        shared->watch(other.client);  // once is enough
        shared->watch(client);
        auto held = other.acquire();
        BOOST_TEST(shared->snapshot().clients.holds == 1U);
    }
    BOOST_TEST(shared->snapshot().clients.holds == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(histograms)

BOOST_AUTO_TEST_CASE(a_bound_belongs_to_its_class)
{
    metrics m;
    for (auto const bound : duration_histogram::bounds) {
        m.on_event(events::acquired{"k", 1, bound, 1});
        m.on_event(events::acquired{"k", 1, bound + 1us, 1});
    }
    auto const counts = m.snapshot().waited.counts;
    BOOST_TEST(counts.front() == 1U);
    for (std::size_t i = 1; i != counts.size() - 1; ++i)
        BOOST_TEST(counts[i] == 2U);
    BOOST_TEST(counts.back() == 1U);
    m.on_event(events::acquired{"k", 1, 0us, 1});
    m.on_event(events::acquired{"k", 1, -1us, 1});  // of a clock that isn't ours
    BOOST_TEST(m.snapshot().waited.counts.front() == 3U);
}

BOOST_AUTO_TEST_CASE(threads_count_together)
{
    metrics m;
    constexpr int each = 20'000;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t != 4; ++t)
            threads.emplace_back([&m] {
                for (int i = 0; i != each; ++i) {
                    m.on_event(events::acquired{"k", 1, 200us, 2});
                    m.on_event(events::released{"k", 3ms});
                }
            });
        BOOST_TEST(m.snapshot().acquired() <= 4U * each);
    }
    auto const all = m.snapshot();
    BOOST_TEST(all.acquired() == 4U * each);
    BOOST_TEST(all.attempts == 8U * each);
    BOOST_TEST(all.handed_over_there == 4U * each);
    BOOST_TEST((all.held.sum == each * 12ms));
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// What docs/metrics.md begins with.

asio::awaitable<metrics_snapshot> first_use(colock::config settings)
{
    auto const executor = co_await asio::this_coro::executor;
    // [switch_on
    auto const counted = std::make_shared<colock::metrics>();
    settings.observer = counted;  // before the client is made
    colock::client redis{executor, settings};
    counted->watch(redis);  // for what it is doing now: holds, waiters, connections
    redis.run(asio::detached);

    colock::hold held = co_await colock::lock{redis, "order:1"}.acquire();
    auto const now = counted->snapshot();
    std::printf("%zu held, %llu acquired\n", now.clients.holds, 0ULL + now.acquired());
    // switch_on]
    co_await held.release();
    co_await redis.close();
    co_return now;
}

// [own_observer
class loss_alarm final : public colock::observer {
public:
    void on_event(colock::client_event const& what) noexcept override
    {
        if (auto const* const lost = std::get_if<colock::events::lost>(&what))
            std::cerr << "lost " << lost->name << ": " << lost->cause << '\n';
    }
};
// own_observer]

}  // namespace

BOOST_AUTO_TEST_SUITE(page)

BOOST_AUTO_TEST_CASE(an_observer_of_ones_own)
{
    std::ostringstream said;
    auto* const before = std::cerr.rdbuf(said.rdbuf());
    metrics counts{std::make_shared<loss_alarm>()};
    counts.on_event(events::acquired{"k", 1, 0us, 1});
    counts.on_event(events::lost{"k", "c:1", error::lost, "expired"});
    std::cerr.rdbuf(before);
    BOOST_TEST(said.str() == "lost k: expired\n");
}

BOOST_DATA_TEST_CASE(first_lines, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    metrics_snapshot seen;
    at.run([&]() -> asio::awaitable<void> { seen = co_await first_use(at.settings()); });
    BOOST_TEST(seen.clients.holds == 1U);
    BOOST_TEST(seen.acquired() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
