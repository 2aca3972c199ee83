// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What a server refuses for the moment: for a want of memory, of replicas, of a disk, or because it
// is busy.
#include "unit/service/counters.hpp"
#include "unit/service/fair.hpp"
#include "unit/service/group.hpp"
#include "unit/service/read_write.hpp"

namespace colock::test {

namespace {

/// Refuses what comes next, for the moment, so many times.
void refuse(harness& at, scripts::script const& what, int times = 3)
{
    for (int i = 0; i != times; ++i)
        at.server->expect(what).out_of_memory();
}

std::optional<answer> refuse_all(call const&)
{
    return answer{answer::kind::failed, {}, error::server_refused, {}, true};
}

// ---- Releases ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(service_refused_release)

BOOST_FIXTURE_TEST_CASE(of_a_lock_is_repeated, harness)
{
    auto mine = held();
    refuse(*this, scripts::release);
    server->expect(scripts::release).reply(released());
    auto done = release(mine);
    BOOST_TEST(client.stats().owed_releases == 1U);
    time.advance(500ms);
    BOOST_TEST(done.succeeded());
    BOOST_TEST(server->all_came());
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(log.empty());
}

BOOST_FIXTURE_TEST_CASE(of_a_lock_whose_connection_is_refused_is_owed, harness)
{
    auto mine = held();
    server->down_reason_to_tell = error::server_refused;
    server->link_down(link());
    auto gives = release(mine);
    BOOST_TEST(client.stats().owed_releases == 1U);
    time.advance(500ms);
    server->expect(scripts::release).reply(released());
    server->down_reason_to_tell = {};
    server->link_up(link());
    time.advance(500ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_FIXTURE_TEST_CASE(of_an_undone_acquire_is_repeated, harness)
{
    auto& slow = server->expect(scripts::acquire);
    auto cancelled = acquire();
    cancel(cancelled);
    refuse(*this, scripts::release);
    server->expect(scripts::release).reply(released());
    slow.reply(granted(1));
    time.advance(500ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_FIXTURE_TEST_CASE(of_an_inner_hold_is_repeated, harness)
{
    owner const me;
    auto outer = held({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    refuse(*this, scripts::extend);
    auto& last = server->expect(scripts::extend);
    last.reply(done());
    auto released_inner = release(inner.value());
    time.advance(500ms);
    BOOST_TEST(released_inner.succeeded());
    BOOST_TEST_REQUIRE(last.has_come());
    BOOST_TEST(last.seen().depth() == "1");
    BOOST_TEST(bool{outer});
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(outer).succeeded());
}

// Who asks for a longer lease hears at once that he does not get it.
BOOST_FIXTURE_TEST_CASE(does_not_keep_an_extension_waiting, harness)
{
    owner const me;
    auto outer = held({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    auto& first = server->expect(scripts::extend);
    auto released_inner = release(inner.value());
    auto extended = extend(outer, 5s);
    server->expect(scripts::extend).out_of_memory();
    server->expect(scripts::extend).reply(done());
    first.out_of_memory();
    time.advance(25ms);
    BOOST_TEST((extended.is_done() && extended.ec() == error::server_refused));
    BOOST_TEST(!released_inner.is_done());
    time.advance(475ms);
    BOOST_TEST(released_inner.succeeded());
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(outer).succeeded());
}

/// A server that takes only every fourth release.
struct short_of_memory : served {
    short_of_memory()
    {
        server->serve = [this, serve = server->serve](call const& c) -> std::optional<answer> {
            bool const gives_back = std::string_view{c.what->name}.ends_with("release");
            return gives_back && ++releases % 4 != 0 ? refuse_all(c) : serve(c);
        };
    }
    template <class Lock>
    bool gives_back(Lock const& of)
    {
        std::optional<hold> mine = std::move(take(of).value());
        BOOST_TEST(redis.is_locked("k"));
        mine.reset();
        time.advance(500ms);
        return !redis.is_locked("k");
    }

    unsigned releases = 0;
};

BOOST_FIXTURE_TEST_CASE(of_a_dropped_hold_of_every_kind_is_repeated, short_of_memory)
{
    BOOST_TEST(gives_back(mutex()));
    BOOST_TEST(gives_back(read_write_lock{client, "k"}.read()));
    BOOST_TEST(gives_back(read_write_lock{client, "k"}.write()));
    BOOST_TEST(gives_back(fair_lock{client, "k"}));
    permit_semaphore const leased{client, "p"};
    BOOST_TEST(leased.try_set_permits(1, settled()).value());
    leased.acquire(settled()).value() = {};
    BOOST_TEST(redis.permits_out("p") == 1);
    time.advance(500ms);
    BOOST_TEST(redis.permits_out("p") == 0);
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(log.empty());
}

BOOST_FIXTURE_TEST_CASE(of_a_place_is_repeated, short_of_memory)
{
    redis.occupy("k", 1h);
    auto waits = take(fair_lock{client, "k"});
    BOOST_TEST(redis.queue_length("k") == 1);
    waits.cancel();
    time.advance(500ms);
    BOOST_TEST(redis.queue_length("k") == 0);
}

BOOST_FIXTURE_TEST_CASE(ends_with_the_lease, harness)
{
    auto mine = held();
    server->serve = refuse_all;
    auto told = release(mine);
    time.advance(2'001ms);
    BOOST_TEST((told.ec() == error::server_refused));  // and it goes on
    BOOST_TEST(client.stats().owed_releases == 1U);
    auto const sent = server->count(scripts::release);
    BOOST_TEST(sent >= 2'000U / 100);     // pauses grow to 100 ms …
    BOOST_TEST(sent <= 2'000U / 50 + 4);  // … and are shortened by up to half by chance
    time.advance(1'100ms);                // it may be resting when the lease ends
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Acquires ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(service_refused_acquire)

// The server may have been mended since.
BOOST_FIXTURE_TEST_CASE(of_a_lock_is_not_told_to_who_came_after_it, harness)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire(), later = acquire();
    server->expect(scripts::acquire).reply(granted(1));
    asked.fail(error::server_refused);
    time.settle();
    BOOST_TEST((first.ec() == error::server_refused));
    BOOST_TEST(later.succeeded());
}

BOOST_FIXTURE_TEST_CASE(of_permits_is_not_told_to_who_came_after_it, counters)
{
    auto& asked = server->expect(scripts::permit_acquire);
    auto first = take_leased(), later = take_leased();
    server->expect(scripts::permit_acquire).reply(taken());
    asked.fail(error::server_refused);
    time.settle();
    BOOST_TEST((first.ec() == error::server_refused));
    BOOST_TEST(later.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

// ---- A busy server -----------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(service_busy_server)

struct busy : counters {
    busy()
    {
        server->serve = [](call const&) {
            return answer{answer::kind::not_now, {}, error::unavailable, {}};
        };
    }
    /// How often it is asked in two seconds by what the test has begun.
    std::size_t asked()
    {
        auto const before = server->written().size();
        time.advance(2s);
        return server->written().size() - before;
    }
};

// Of a lease of 3 s: 20, 40 and 80 ms, then 100, and each up to half as long by chance.
constexpr std::size_t least = 2'000 / 100;
constexpr std::size_t most = 2'000 / 50 + 4;

BOOST_AUTO_TEST_CASE(is_left_alone_more_and_more)
{
    auto const check = [](auto begin) {
        busy at;
        auto const p = begin(at);
        auto const times = at.asked();
        BOOST_TEST(times >= least);
        BOOST_TEST(times <= most);
    };
    check([](busy& at) { return at.acquire(); });
    check([](busy& at) {
        pending_hold p;
        read_write_lock{at.client, "k"}.read().acquire(p.token());
        return p;
    });
    check([](busy& at) {
        pending_hold p;
        fair_lock{at.client, "k"}.acquire(p.token());
        return p;
    });
    check([](busy& at) { return at.take(); });
    check([](busy& at) { return at.take_leased(); });
    check([](busy& at) { return at.give(); });
    check([](busy& at) {
        pending<bool> p;
        at.mutex().is_locked(p.token());
        return p;
    });
}

BOOST_FIXTURE_TEST_CASE(is_asked_at_once_when_it_is_reached_anew, busy)
{
    auto p = read_write_lock{client, "k"}.read().acquire(settled());
    time.advance(500ms);
    cut();
    server->expect(scripts::read_acquire).reply(granted(0));
    mend();
    BOOST_TEST(p.succeeded());
}

/// A server that has 50 ms between two scripts of 350 ms.
struct hardly_free : served {
    hardly_free() : served{with_lease(2s)}
    {
        server->serve = [this, serve = server->serve](call const& c) -> std::optional<answer> {
            auto const since = std::chrono::duration_cast<milliseconds>(time.now() - began);
            if (is_busy && since.count() % 400 >= 50)
                return answer{answer::kind::not_now, {}, error::unavailable, {}};
            return serve(c);
        };
    }

    time_point began = virtual_time::now();
    bool is_busy = false;
};

BOOST_FIXTURE_TEST_CASE(that_is_free_now_and_then_loses_no_hold, hardly_free)
{
    std::vector<pending_hold> all;
    for (int i = 0; i != 40; ++i) {
        all.push_back(acquire(mutex(std::to_string(i))));
        time.advance(17ms);
    }
    is_busy = true;
    time.advance(60s);
    for (auto const& each : all)
        BOOST_TEST(bool{each.value()});
    BOOST_TEST(events->count("lost") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Releases that nobody waits for, of acquires that waited for replicas ----------------------

BOOST_AUTO_TEST_SUITE(service_owed_release)

/// An acquire whose answer is lost with its link, and which is cancelled.
struct in_doubt : harness {
    in_doubt()
    {
        auto& asked = server->expect(scripts::acquire);
        auto waits = acquire();
        BOOST_TEST_REQUIRE(asked.has_come());
        waits.cancel();
        cut_all();
        BOOST_TEST(waits.aborted());
        BOOST_TEST(client.stats().owed_releases == 1U);
    }
};

BOOST_FIXTURE_TEST_CASE(ends_with_its_lease, in_doubt)
{
    time.advance(3'001ms);
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(client.stats().keys == 0U);
    BOOST_TEST(server->unsent() == 0U);
}

BOOST_FIXTURE_TEST_CASE(shuts_the_lock_no_longer_than_that, in_doubt)
{
    auto next = try_for(6s);
    BOOST_TEST(!next.is_done());
    time.advance(3'001ms);
    server->expect(scripts::acquire).reply(granted(2));
    server->all_up();
    time.advance(1ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST_REQUIRE(next.value().has_value());
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(*next.value()).succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

// ---- The password is wrong ---------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(service_refused_connection)

struct locked_out : harness {
    locked_out()
    {
        server->serve = [](call const& c) -> std::optional<answer> {
            if (c.what == &scripts::look)
                return answer{answer::kind::replied, reply::of(std::vector<reply>{}), {}, {}};
            return answer{answer::kind::replied, refused(30'000), {}, {}};
        };
    }
    void be_refused()
    {
        server->down_reason_to_tell = error::server_refused;
        cut_all();
    }
};

BOOST_FIXTURE_TEST_CASE(reaches_those_who_sleep, locked_out)
{
    std::vector<pending_hold> waiting;
    for (int i = 0; i != 3; ++i)
        waiting.push_back(acquire());
    waiting.push_back(acquire(mutex("other")));
    waiting.emplace_back();
    read_write_lock{client, "rw"}.write().acquire(waiting.back().token());
    for (int i = 0; i != 3; ++i) {
        waiting.emplace_back();
        read_write_lock{client, "rw2"}.read().acquire(waiting.back().token());
        waiting.emplace_back();
        fair_lock{client, "fair"}.acquire(waiting.back().token());
        time.settle();
    }
    time.advance(100ms);
    be_refused();
    time.advance(1'100ms);
    for (auto const& each : waiting)
        BOOST_TEST((each.is_done() && each.ec() == error::server_refused));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
