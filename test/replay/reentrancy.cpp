// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Re-entry, leases that stay in shared objects, and tokens.
#include "replay/replay.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(reentrancy)

BOOST_DATA_TEST_CASE(reentry_shortens_the_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("shortens")};
        owner const me;
        auto const left = [&] { return at.server().ask("PTTL", mine.name()).number; };
        hold outer = co_await mine.acquire({.lease = 30s, .as = me});
        hold inner = co_await mine.acquire({.lease = 200ms, .as = me});
        BOOST_TEST(left() > 20'000);
        co_await inner.lost();  // alone
        BOOST_TEST(bool{outer});
        co_await inner.release(tuple);
        BOOST_TEST(left() > 20'000);
        BOOST_TEST(outer.valid_for(20s));
        co_await outer.release();
        BOOST_TEST(!exists(at.server(), mine.name()));
    });
}

BOOST_DATA_TEST_CASE(reentry_ends_the_renewal_of_the_outer_hold, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 900ms));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("outer")};
        owner const me;
        hold outer = co_await mine.acquire({.as = me});
        hold inner = co_await mine.acquire({.lease = 100ms, .as = me});
        co_await inner.release();
        for (int i = 0; i != 4; ++i) {  // more than the lease
            auto const until = outer.valid_until();
            bool const renewed = co_await eventually([&] { return outer.valid_until() > until; });
            BOOST_TEST(renewed);
        }
        BOOST_TEST(bool{outer});
    });
}

BOOST_DATA_TEST_CASE(the_lease_of_an_earlier_hold_is_used_again, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 1s));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("earlier")};
        auto const left = [&] { return at.server().ask("PTTL", shared.name()).number; };
        hold held = co_await shared.acquire({.lease = 30s});
        BOOST_TEST(left() > 20'000);
        co_await held.release();
        held = co_await shared.acquire();
        BOOST_TEST(left() <= 1'000);
        auto const until = held.valid_until();
        bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
        BOOST_TEST(renewed);
        BOOST_TEST(left() <= 1'000);
    });
}

template <class Lock>
asio::awaitable<void> enter_twice(running_client& c)  // NOLINT(*-reference-coroutine-*)
{
    Lock const mine{c.client, unique_name("token")};
    owner const me;
    fence resource;
    hold outer = co_await mine.acquire({.as = me});
    hold inner = co_await mine.acquire({.as = me});
    BOOST_TEST(inner.fencing_token() == outer.fencing_token());
    BOOST_TEST(resource.admit(inner.fencing_token()));
    BOOST_TEST(resource.admit(outer.fencing_token()));
    co_await inner.release();
    co_await outer.release();
    hold next = co_await mine.acquire();
    BOOST_TEST(next.fencing_token() > outer.fencing_token());
    BOOST_TEST(resource.admit(next.fencing_token()));
    BOOST_TEST(!resource.admit(outer.fencing_token()));
    co_await next.release();
}

BOOST_DATA_TEST_CASE(the_outer_hold_is_refused_after_the_inner_has_written, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        co_await enter_twice<lock>(c);
        co_await enter_twice<fenced_lock>(c);
        co_await enter_twice<fair_lock>(c);
    });
}

BOOST_DATA_TEST_CASE(a_lease_that_is_asked_for_is_ignored, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        fenced_lock const mine{c.client, unique_name("ignored")};
        hold held = co_await mine.acquire({.lease = 20s});
        auto const left = at.server().ask("PTTL", mine.name()).number;
        BOOST_TEST(left > 10'000);
        BOOST_TEST(left <= 20'000);
        BOOST_TEST(!held.valid_for(20s));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
