// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks that count as held only once replicas have them: every kind that offers `sync_replicas`.
#include "unit/harness.hpp"
#include "unit/service/replicas.hpp"
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/spin_lock.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

/// A kind of lock, as the tests use it.
struct replicated_kind {
    char const* name;
    scripts::script const& taking;
    scripts::script const& releasing;
    std::function<void(client const&, pending_hold&, acquire_options)> acquire;
    std::function<void(client const&, pending_try&, acquire_options)> try_acquire;
};

std::ostream& operator<<(std::ostream& to, replicated_kind const& k) { return to << k.name; }

template <class Make>
replicated_kind kind_of_lock(
    char const* name, scripts::script const& taking, scripts::script const& releasing, Make make
)
{
    return {
        name,
        taking,
        releasing,
        [make](client const& c, pending_hold& p, acquire_options const& options) {
            make(c).acquire(options, p.token());
        },
        [make](client const& c, pending_try& p, acquire_options const& options) {
            make(c).try_acquire(options, p.token());
        }};
}

auto kinds_with_replicas()
{
    std::vector<replicated_kind> all{
        kind_of_lock(
            "lock",
            scripts::acquire,
            scripts::release,
            [](client const& c) {
                return lock{c, "k"};
            }
        ),
        kind_of_lock(
            "fenced_lock",
            scripts::acquire,
            scripts::release,
            [](client const& c) {
                return fenced_lock{c, "k"};
            }
        ),
        kind_of_lock(
            "spin_lock",
            scripts::acquire,
            scripts::release,
            [](client const& c) {
                return spin_lock{c, "k"};
            }
        ),
        kind_of_lock(
            "fair_lock",
            scripts::fair_acquire,
            scripts::fair_release,
            [](client const& c) {
                return fair_lock{c, "k"};
            }
        ),
        kind_of_lock(
            "read_lock",
            scripts::read_acquire,
            scripts::read_release,
            [](client const& c) {
                return read_write_lock{c, "k"}.read();
            }
        ),
        kind_of_lock(
            "write_lock",
            scripts::write_acquire,
            scripts::write_release,
            [](client const& c) {
                return read_write_lock{c, "k"}.write();
            }
        )};
    return boost::unit_test::data::make(std::move(all));
}

/// A client whose locks wait for replicas.
struct replicated_client : harness {
    pending_hold take(replicated_kind const& kind, acquire_options const& options = on_two_replicas)
    {
        pending_hold p;
        kind.acquire(client, p, options);
        time.settle();
        return p;
    }
    pending_try take_once(replicated_kind const& kind)
    {
        pending_try p;
        kind.try_acquire(client, p, on_two_replicas);
        time.settle();
        return p;
    }
    bool has_nothing() const
    {
        auto const now = client.stats();
        return now.holds == 0 && now.waiters == 0 && now.owed_releases == 0;
    }
};

BOOST_FIXTURE_TEST_SUITE(service_replicas, replicated_client)

BOOST_DATA_TEST_CASE_F(replicated_client, what_replicas_have_is_held, kinds_with_replicas(), kind)
{
    auto& asked = server->expect(kind.taking);
    asked.reply(granted(3));
    auto const got = take(kind);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(bool{got.value()});
    BOOST_TEST(asked.seen().replicas == 2U);
    auto& back = server->expect(kind.releasing);
    back.reply(released());
    BOOST_TEST(release(got.value()).succeeded());
    BOOST_TEST_REQUIRE(back.has_come());
    BOOST_TEST(back.seen().replicas == 0U);  // a release is not waited for
}

BOOST_DATA_TEST_CASE_F(
    replicated_client, without_the_option_no_replica_is_asked, kinds_with_replicas(), kind
)
{
    auto& asked = server->expect(kind.taking);
    asked.reply(granted(3));
    auto const got = take(kind, {});
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(asked.seen().replicas == 0U);
    server->expect(kind.releasing).reply(released());
    BOOST_TEST(release(got.value()).succeeded());
}

BOOST_DATA_TEST_CASE_F(
    replicated_client, who_tries_once_is_told_and_it_is_given_back, kinds_with_replicas(), kind
)
{
    auto& asked = server->expect(kind.taking);
    asked.unsynced(granted(3));
    auto& back = server->expect(kind.releasing);
    auto const tried = take_once(kind);
    BOOST_TEST((tried.ec() == error::not_replicated));
    BOOST_TEST(!tried.value().has_value());
    BOOST_TEST_REQUIRE(back.has_come());
    BOOST_TEST(back.seen().field() == asked.seen().field());
    BOOST_TEST(client.stats().owed_releases == 1U);
    respond(back, released());
    BOOST_TEST(has_nothing());
}

BOOST_DATA_TEST_CASE_F(
    replicated_client, who_waits_is_in_once_replicas_have_it, kinds_with_replicas(), kind
)
{
    server->serve = [&](call const& c) -> std::optional<answer> {
        if (c.what != &kind.taking)
            return answer{answer::kind::replied, released(), {}, {}};
        bool const has_replicas = server->count(kind.taking) > 3;
        auto const missing = has_replicas ? error_code{} : error_code{error::not_replicated};
        return answer{answer::kind::replied, granted(3), {}, {}, false, missing};
    };
    auto const waiting = take(kind);
    BOOST_TEST(time.advance_until([&] { return waiting.is_done(); }, 1s));
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(bool{waiting.value()});
    BOOST_TEST(server->count(kind.taking) == 4U);
    BOOST_TEST(server->count(kind.releasing) == 3U);  // what too few had is given back each time
    BOOST_TEST(client.stats().holds == 1U);
    BOOST_TEST(client.stats().owed_releases == 0U);
    release(waiting.value());
}

BOOST_DATA_TEST_CASE_F(
    replicated_client, a_server_that_cannot_ask_replicas_ends_the_wait, kinds_with_replicas(), kind
)
{
    server->expect(kind.taking).unsynced(granted(3), error::unsupported);
    server->expect(kind.releasing).reply(released());
    auto const waiting = take(kind);
    time.advance(1ms);
    BOOST_TEST((waiting.ec() == error::unsupported));
    BOOST_TEST(server->all_came());
    BOOST_TEST(has_nothing());
}

BOOST_DATA_TEST_CASE_F(
    replicated_client, cancelled_while_replicas_are_asked, kinds_with_replicas(), kind
)
{
    auto& asked = server->expect(kind.taking);
    auto waiting = take(kind);
    cancel(waiting);
    BOOST_TEST(waiting.aborted());
    auto& back = server->expect(kind.releasing);
    asked.unsynced(granted(3));
    time.advance(1ms);
    BOOST_TEST_REQUIRE(back.has_come());
    BOOST_TEST(back.seen().field() == asked.seen().field());
    respond(back, released());
    BOOST_TEST(has_nothing());
}

BOOST_AUTO_TEST_CASE(a_re_entry_does_not_keep_the_renewals_waiting_for_too_long)
{
    auto settings = short_leases();
    settings.sync_timeout = 10s;
    harness slow{settings};
    owner const me;
    auto outer = slow.held({.lease = 2s, .as = me, .renew = true});
    auto& entering = slow.server->expect(scripts::extend);
    auto inner = slow.acquire({.lease = 60s, .as = me, .sync_replicas = 1});
    slow.time.settle();
    BOOST_TEST_REQUIRE(entering.has_come());
    BOOST_TEST((entering.seen().replica_limit <= 500ms));
    entering.reply(done());
    slow.time.settle();
    BOOST_TEST(inner.succeeded());
    slow.server->serve = [](call const&) {
        return answer{answer::kind::replied, released(), {}, {}};
    };
}

// What one hold had without replicas is no hold for the next one, who wants them.
BOOST_AUTO_TEST_CASE(nobody_who_wants_replicas_is_handed_a_lock_without)
{
    auto first = held();
    server->serve = [](call const& c) -> std::optional<answer> {
        auto const value = c.what == &scripts::acquire ? granted(9)
            : c.what == &scripts::release              ? released()
            : c.what == &scripts::renew                ? reply::of(std::vector{done()})
                                                       : done();
        return answer{answer::kind::replied, value, {}, {}};
    };
    auto const next = acquire(on_two_replicas);
    time.advance(2ms);
    BOOST_TEST(!next.is_done());
    release(first);
    time.advance(20ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(server->count(scripts::release) == 1U);
    auto const all = server->written();
    auto const asked = std::ranges::find(all.rbegin(), all.rend(), &scripts::acquire, &call::what);
    BOOST_TEST_REQUIRE((asked != all.rend()));
    BOOST_TEST(asked->replicas == 2U);
}

// The replicas concerned the hold before.
BOOST_AUTO_TEST_CASE(a_script_that_hands_over_does_not_wait_for_replicas)
{
    server->serve = [](call const& c) -> std::optional<answer> {
        auto const value = c.what == &scripts::acquire ? granted(9)
            : c.what == &scripts::renew                ? reply::of(std::vector{done()})
                                                       : released();
        return answer{answer::kind::replied, value, {}, {}};
    };
    auto first = acquire(on_two_replicas);
    time.settle();
    BOOST_TEST_REQUIRE(first.succeeded());
    auto const next = acquire({.lease = 5s});
    time.settle();
    release(first.value());
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(server->count(scripts::release) == 0U);
    auto const all = server->written();
    auto const asked = std::ranges::find(all.rbegin(), all.rend(), &scripts::acquire, &call::what);
    BOOST_TEST(asked->replicas == 0U);
}

// The head of the queue wants one, and leaves while it is asked for; the next one wants two.
BOOST_AUTO_TEST_CASE(an_attempt_for_fewer_replicas_is_not_enough_for_the_next_one)
{
    auto& asked = server->expect(scripts::acquire);
    auto first = acquire({.sync_replicas = 1});
    auto second = acquire(on_two_replicas);
    first.cancel();
    auto& again = server->expect(scripts::acquire);
    asked.reply(granted(3));
    time.advance(1ms);
    BOOST_TEST(!second.is_done());
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().replicas == 2U);
    BOOST_TEST(again.seen().field() == asked.seen().field());
    respond(again, granted(4));
    BOOST_TEST(second.succeeded());
}

// The first hold of the owner has asked none.
struct re_entered : replicated_client {
    /// The lock is held, and so many re-entries are not acknowledged.
    void begin(replicated_kind const& kind, int in_vain)
    {
        server->serve = [this, &kind, in_vain](call const& c) -> std::optional<answer> {
            bool const is_asked = c.replicas != 0;
            asked += is_asked;
            auto const missing =
                is_asked && asked <= in_vain ? error_code{error::not_replicated} : error_code{};
            auto const value = c.what == &kind.taking ? granted(3)
                : c.what == &kind.releasing           ? released()
                                                      : done();
            return answer{answer::kind::replied, value, {}, {}, false, missing};
        };
        auto got = take(kind, {.as = me});
        BOOST_TEST_REQUIRE(got.succeeded());
        outer = std::move(got.value());
        BOOST_TEST(asked == 0);
    }

    owner me;
    hold outer;
    int asked = 0;  ///< calls for which replicas were waited for
};

BOOST_DATA_TEST_CASE_F(re_entered, who_re_enters_waits_for_replicas, kinds_with_replicas(), kind)
{
    begin(kind, 2);
    auto inner = take(kind, {.as = me, .sync_replicas = 2});
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST(bool{inner.value()});
    BOOST_TEST(asked == 3);
    BOOST_TEST(client.stats().holds == 2U);
    release(inner.value());
    release(outer);
    BOOST_TEST(has_nothing());
}

// Else the hash is gone before the reader is in it.
BOOST_FIXTURE_TEST_CASE(a_release_does_not_overtake_the_re_entry_of_a_reader, replicated_client)
{
    owner const me;
    read_write_lock const both{client, "k"};
    server->expect(scripts::write_acquire).reply(granted(3));
    pending_hold reading;
    auto writing = both.write().acquire({.as = me}, settled());
    BOOST_TEST_REQUIRE(writing.succeeded());
    auto& entering = server->expect(scripts::read_extend);
    both.read().acquire({.as = me, .sync_replicas = 2}, reading.token());
    time.settle();
    BOOST_TEST_REQUIRE(entering.has_come());
    auto& leaving = server->expect(scripts::write_release);
    auto const left = release(writing.value());
    BOOST_TEST_REQUIRE(leaving.has_come());
    entering.reply(done());
    respond(leaving, released());
    BOOST_TEST(left.succeeded());
    BOOST_TEST(reading.succeeded());
}

BOOST_DATA_TEST_CASE_F(re_entered, who_re_enters_once_is_told, kinds_with_replicas(), kind)
{
    begin(kind, 1);
    pending_try inner;
    kind.try_acquire(client, inner, {.as = me, .sync_replicas = 2});
    time.settle();
    BOOST_TEST((inner.ec() == error::not_replicated));
    BOOST_TEST(asked == 1);
    BOOST_TEST(last().depth() == "1");  // it is taken back
    BOOST_TEST(bool{outer});
    BOOST_TEST(client.stats().holds == 1U);
    release(outer);
    BOOST_TEST(has_nothing());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
