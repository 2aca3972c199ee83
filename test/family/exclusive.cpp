// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What every lock with one owner at a time can do, tried with each of them.
#include "family/kinds.hpp"
#include "integration/suites.hpp"
#include "support/cancel_after.hpp"
#include "support/child_process.hpp"
#include "support/places.hpp"

#include <string>

namespace colock::test {

/// Two clients at one server, and a lock of this kind that no other test has.
template <class Kind>
struct family_lab : lab {
    explicit family_lab(milliseconds lease = 10s)
        : lab{shared_server(installed_servers().front())}
        , one{connect(lasting(lease))}
        , two{connect(lasting(lease))}
    {}

    auto lock_of(running_client& at) const { return Kind::of(at.client, key); }
    bool is_any_left()
    {
        return std::ranges::any_of(Kind::keys(key), [this](auto const& name) {
            return exists(server(), name);
        });
    }
    void take_away()
    {
        for (auto const& name : Kind::keys(key))
            server().ask("DEL", name);
    }

    std::string key = unique_name(Kind::name);
    running_client& one;
    running_client& two;

private:
    config lasting(milliseconds lease) const
    {
        auto c = settings();
        c.lease = lease;
        return c;
    }
};

BOOST_AUTO_TEST_SUITE(family)

BOOST_AUTO_TEST_CASE_TEMPLATE(one_at_a_time_of_64_tasks, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run(
        [&]() -> asio::awaitable<void> {
            section critical;
            tasks all{at.context()};
            for (int i = 0; i != 64; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    auto const mine = at.lock_of(i % 2 ? at.one : at.two);
                    for (int round = 0; round != 3; ++round) {
                        auto held = co_await mine.acquire();
                        co_await critical.stay(0ms);
                        BOOST_TEST(bool{held});
                        co_await held.release();
                    }
                });
            co_await all.join(40s);
            BOOST_TEST(critical.visits() == 64 * 3);
            BOOST_TEST(!at.is_any_left());
        },
        50s
    );
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_wait_leaves_nothing, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto held = co_await at.lock_of(at.one).acquire();
        auto const waiting = at.lock_of(at.two);
        auto const [ec, none] = co_await waiting.acquire(asio::cancel_after(50ms, tuple));
        BOOST_TEST(ec == asio::error::operation_aborted);
        BOOST_TEST(!none);
        co_await held.release();
        co_await eventually([&] { return !at.is_any_left(); });
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_owner_enters_again, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        owner const me;
        auto outer = co_await mine.acquire({.as = me});
        auto inner = co_await mine.acquire({.as = me});
        if (auto const count = co_await mine.hold_count(me); count != 2)
            BOOST_ERROR("counts " << count);
        BOOST_TEST(inner.fencing_token() == outer.fencing_token());
        co_await outer.release();
        BOOST_TEST(bool{inner});
        if (auto const none = co_await at.lock_of(at.two).try_acquire())
            BOOST_ERROR("granted");
        co_await inner.release();
        if (auto const count = co_await mine.hold_count(me); count != 0)
            BOOST_ERROR("counts " << count);
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_is_renewed_and_its_lease_can_be_seen, Kind, exclusive)
{
    family_lab<Kind> at{brief_lease};
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        if (bool const flag = co_await mine.is_locked())
            BOOST_ERROR("it is");
        if (auto const none = co_await mine.remaining_lease())
            BOOST_ERROR("granted");
        auto held = co_await mine.acquire();
        auto const first = held.valid_until();
        if (bool const flag = co_await mine.is_locked(); !flag)
            BOOST_ERROR("it is not");
        auto const left = co_await mine.remaining_lease();
        BOOST_TEST_REQUIRE(left.has_value());
        BOOST_TEST((*left <= brief_lease && *left > 0ms));
        co_await eventually([&] { return held.valid_until() > first + 300ms; }, 3s);
        BOOST_TEST((held.valid_until() > first + 300ms));
        BOOST_TEST(bool{held});
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(its_loss_is_told, Kind, exclusive)
{
    family_lab<Kind> at{brief_lease};
    at.run([&]() -> asio::awaitable<void> {
        auto held = co_await at.lock_of(at.one).acquire();
        auto const stop = held.stop_token();
        at.take_away();
        co_await held.lost(asio::cancel_after(10s));
        BOOST_TEST(!held);
        BOOST_TEST((held.valid_until() == hold::clock::time_point{}));
        co_await eventually([&] { return stop.stop_requested(); });
        BOOST_TEST(stop.stop_requested());
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(ec == error::lost);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(it_can_be_forced, Kind, exclusive)
{
    family_lab<Kind> at{brief_lease};
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = at.lock_of(at.one);
        if (bool const flag = co_await mine.force_release())
            BOOST_ERROR("it is");
        auto held = co_await mine.acquire();
        if (bool const flag = co_await at.lock_of(at.two).force_release(); !flag)
            BOOST_ERROR("it is not");
        if (bool const flag = co_await mine.is_locked())
            BOOST_ERROR("it is");
        co_await held.lost(asio::cancel_after(10s));
        BOOST_TEST(!held);
        auto next = co_await at.lock_of(at.two).try_acquire();
        BOOST_TEST_REQUIRE(next.has_value());
        co_await next->release();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_killed_process_held_ends_with_its_lease, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        child_process doomed{
            {beside_this_program("colock-worker-holder"),
             "unix://" + at.server().unix_socket(),
             Kind::name,
             at.key},
            "/dev/stderr"};
        auto const wanted = at.lock_of(at.two);
        bool held = false;
        for (stopwatch watch; !held && watch.ms() < 10'000;)
            held = co_await wanted.is_locked();
        BOOST_TEST_REQUIRE(held);
        doomed.kill();
        auto next = co_await wanted.acquire(asio::cancel_after(10s));  // its lease is 1 s
        co_await next.release();
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_key_that_is_no_lock_is_an_error, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : Kind::keys(at.key))
            at.server().ask("SET", name, "text");
        auto const [ec, none] = co_await at.lock_of(at.one).acquire(tuple);
        BOOST_TEST(ec == error::wrong_type);
        at.take_away();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_lease_of_its_own_can_be_made_longer, Kind, exclusive)
{
    family_lab<Kind> at;
    at.run([&]() -> asio::awaitable<void> {
        auto held = co_await at.lock_of(at.one).acquire({.lease = 300ms});
        BOOST_TEST(!held.valid_for(1s));
        co_await held.extend(5s);
        BOOST_TEST(held.valid_for(4s));
        co_await held.release();
        BOOST_TEST(!at.is_any_left());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
