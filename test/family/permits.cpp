// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `permit_semaphore`: ids, leases, renewal, loss.
#include "family/counters.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(permits)

BOOST_DATA_TEST_CASE(taken_and_given_back, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        auto none = co_await mine.try_acquire();
        BOOST_TEST(!none.has_value());
        bool const made = co_await mine.try_set_permits(2);
        BOOST_TEST(made);
        permit a = co_await mine.acquire();
        permit b = co_await mine.acquire({.lease = 5s});
        BOOST_TEST(bool{a});
        BOOST_TEST(a.id().size() == 32U);
        BOOST_TEST(a.id() != b.id());
        BOOST_TEST(a.fencing_token() == 0U);
        BOOST_TEST(b.valid_for(4'800ms));
        BOOST_TEST(at.stored() == "0");
        BOOST_TEST(at.server().ask("ZCARD", at.leases()).number == 2);
        auto const left = co_await mine.available();
        BOOST_TEST(left == 0);
        none = co_await mine.try_acquire_for(20ms);
        BOOST_TEST(!none.has_value());
        co_await a.release();
        BOOST_TEST(!a);
        auto const [again] = co_await a.release(tuple);
        BOOST_TEST(!again);
        {
            auto const dropped = co_await mine.try_acquire();
            BOOST_TEST(dropped.has_value());
        }
        bool const back = co_await eventually([&] { return at.stored() == "1"; });
        BOOST_TEST(back);
        co_await b.release();
        BOOST_TEST(at.stored() == "2");
        BOOST_TEST(at.server().ask("ZCARD", at.leases()).number == 0);
        BOOST_TEST(at.client.stats().holds == 0U);
    });
}

BOOST_DATA_TEST_CASE(renewed_while_held, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    auto& b = at.connect();
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        permit_semaphore const of_b{b.client, mine.name()};
        co_await mine.try_set_permits(1);
        permit held = co_await mine.acquire();
        auto const none = co_await of_b.try_acquire_for(1s);  // more than two leases
        BOOST_TEST(!none.has_value());
        BOOST_TEST(bool{held});
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            permit next = co_await of_b.acquire();
            co_await next.release();
        });
        co_await eventually([&] { return b.client.stats().waiters == 1; });
        co_await held.release();
        co_await all.join(1s);
    });
}

BOOST_DATA_TEST_CASE(many_are_renewed_together, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind, [](config& c) { c.lease = 600ms; }};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(300);
        std::vector<permit> held;
        for (int i = 0; i != 300; ++i) {
            permit p = co_await mine.acquire();
            held.push_back(std::move(p));
        }
        co_await time_passes(1'500ms);
        BOOST_TEST(std::ranges::all_of(held, [](auto const& p) { return bool{p}; }));
        auto const none = co_await mine.try_acquire();
        BOOST_TEST(!none.has_value());
        for (auto& p : held)
            co_await p.release();
        BOOST_TEST(at.stored() == "300");
    });
}

BOOST_DATA_TEST_CASE(a_lease_of_its_own_runs_out, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    auto settings = at.settings();
    settings.lease = 5s;
    auto& b = at.connect(settings);
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        permit_semaphore const of_b{b.client, mine.name()};
        co_await mine.try_set_permits(1);
        permit held = co_await mine.acquire({.lease = 300ms});
        auto const token = held.stop_token();
        auto next = co_await of_b.try_acquire_for(5s);  // nobody publishes
        BOOST_REQUIRE(next.has_value());
        BOOST_TEST(!held);  // told before
        auto const [lost] = co_await held.lost(tuple);
        BOOST_TEST(!lost);
        BOOST_TEST(token.stop_requested());
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
        co_await next->release();
        BOOST_TEST(at.stored() == "1");
    });
}

BOOST_DATA_TEST_CASE(extended, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind, [](config& c) { c.lease = brief_lease; }};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(2);
        permit leased = co_await mine.acquire({.lease = 300ms});
        permit renewed = co_await mine.acquire();
        co_await leased.extend(20s);
        BOOST_TEST(leased.valid_for(19s));
        co_await renewed.extend(200ms);
        BOOST_TEST(!renewed.valid_for(200ms));
        co_await time_passes(500ms);
        BOOST_TEST(bool{leased});
        BOOST_TEST(bool{renewed});
        auto const [wrong] = co_await renewed.extend(1ms, tuple);
        BOOST_TEST(wrong == error::invalid_argument);
        co_await leased.release();
        auto const [released] = co_await leased.extend(1s, tuple);
        BOOST_TEST(released == error::not_held);
        co_await renewed.release();
    });
}

BOOST_DATA_TEST_CASE(lost_when_it_is_gone_at_the_server, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind, [](config& c) { c.lease = brief_lease; }};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(2);
        permit a = co_await mine.acquire(), b = co_await mine.acquire({.lease = 10s});
        at.server().ask("DEL", at.leases());
        auto const [lost] = co_await a.lost(asio::cancel_after(10s, tuple));  // at the next renewal
        BOOST_TEST(!lost);
        BOOST_TEST(!a);
        auto const [extended] = co_await b.extend(5s, tuple);
        BOOST_TEST(extended == error::lost);
        BOOST_TEST(!b);
        auto const [released] = co_await b.release(tuple);
        BOOST_TEST(released == error::lost);
        BOOST_TEST(at.stored() == "0");  // nothing is given twice
    });
}

BOOST_AUTO_TEST_CASE(with_lock_works_under_a_permit)
{
    counter_lab<permit_semaphore> at;
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(1);
        auto const answer = co_await with_lock(mine, [&](hold& held) -> asio::awaitable<int> {
            BOOST_TEST(bool{held});
            BOOST_TEST(at.stored() == "0");
            co_return 42;
        });
        BOOST_TEST(answer == 42);
        BOOST_TEST(at.stored() == "1");
    });
}

BOOST_DATA_TEST_CASE(closed_with_permits_and_waiters, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(1);
        permit held = co_await mine.acquire();
        error_code waited, lost;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] = co_await mine.acquire(tuple);
            waited = ec;
        });
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec] = co_await held.lost(tuple);
            lost = ec;
        });
        co_await eventually([&] { return at.client.stats().waiters == 1; });
        co_await at.client.close();
        BOOST_TEST(at.stored() == "1");
        co_await all.join(1s);
        BOOST_TEST(waited == error::closed);
        BOOST_TEST(lost == error::closed);
    });
}

BOOST_DATA_TEST_CASE(a_key_of_another_type, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        at.server().ask("HSET", mine.name(), "f", "1");
        auto const [acquired, none] = co_await mine.acquire(tuple);
        BOOST_TEST(acquired == error::wrong_type);
        auto const [asked, left] = co_await mine.available(tuple);
        BOOST_TEST(asked == error::wrong_type);
        at.server().ask("DEL", mine.name());
        at.server().ask("SET", at.leases(), "text");
        auto const [again, no] = co_await mine.try_acquire(tuple);
        BOOST_TEST(again == error::wrong_type);
    });
}

BOOST_DATA_TEST_CASE(lost_answers_create_and_lose_nothing, each_server(), kind)
{
    std::set<std::string> ids;
    check_that_it_adds_up<permit_semaphore>(
        kind,
        [&](permit_semaphore const& mine, auto const& stay) -> asio::awaitable<void> {
            permit held = co_await mine.acquire();
            BOOST_TEST(ids.insert(held.id()).second);
            co_await stay();
            co_await held.release();
        }
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
