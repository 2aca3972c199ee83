// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A released lock that stays with its client for a while (`config::keep`).
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace colock::test {

namespace {

config keeping(lab const& at, milliseconds keep)
{
    auto settings = at.settings();
    settings.lease = 10s;
    settings.keep = keep;
    settings.max_tenure = 5s;
    return settings;
}

/// Takes the lock and releases it until it is kept.
asio::awaitable<void> make_kept(lock which, redis_server& server)
{
    for (int tries = 0; tries != 100; ++tries) {
        auto held = co_await which.acquire();
        co_await held.release();
        if (exists(server, which.name()))
            co_return;
    }
    BOOST_FAIL("the lock is never kept");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kept_locks)

BOOST_DATA_TEST_CASE(a_lock_that_comes_back_costs_no_command, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& keeper = at.connect(keeping(at, 2s));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{keeper.client, unique_name("kept")};
        co_await make_kept(mine, server);
        auto const before = server.script_calls();
        std::uint64_t last = 0;
        int const rounds = 1'000;
        for (int i = 0; i != rounds; ++i) {
            auto held = co_await mine.acquire();
            BOOST_TEST(bool{held});
            BOOST_TEST(held.fencing_token() > last);
            last = held.fencing_token();
            co_await held.release();
        }
        auto const scripts = server.script_calls() - before;
        BOOST_TEST_MESSAGE(rounds << " pairs with " << scripts << " scripts");
        BOOST_TEST(scripts < rounds / 10);
    });  // and closing leaves no key
}

BOOST_DATA_TEST_CASE(another_process_gets_in_at_once, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& keeper = at.connect(keeping(at, 4s));
    auto& other = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("wanted");
        co_await make_kept(lock{keeper.client, name}, server);
        stopwatch const watch;
        auto held = co_await lock{other.client, name}.acquire();
        BOOST_TEST_MESSAGE("after " << watch.ms() << " ms");
        BOOST_TEST(watch.ms() < within(500));
        co_await held.release();
    });
}

BOOST_DATA_TEST_CASE(who_only_polls_gets_in_when_the_time_is_over, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& keeper = at.connect(keeping(at, 300ms));
    auto& other = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("polled");
        co_await make_kept(lock{keeper.client, name}, server);
        stopwatch const watch;
        std::optional<hold> held;
        while (!held) {
            held = co_await lock{other.client, name}.try_acquire();
            co_await time_passes(1ms);
        }
        BOOST_TEST_MESSAGE("after " << watch.ms() << " ms");
        BOOST_TEST(watch.ms() < within(300 + 200));
        co_await held->release();
    });
}

BOOST_DATA_TEST_CASE(a_client_that_is_destroyed_releases_what_it_keeps, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("destroyed");
        {
            client keeper{co_await asio::this_coro::executor, keeping(at, 4s)};
            co_await make_kept(lock{keeper, name}, server);
        }
        bool const is_free = co_await eventually([&] { return !exists(server, name); });
        BOOST_TEST(is_free);
    });
}

BOOST_DATA_TEST_CASE(two_processes_that_keep_share_it, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    std::array clients{&at.connect(keeping(at, 2s)), &at.connect(keeping(at, 2s))};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("shared");
        std::array<int, 2> entered{};
        int inside = 0;
        tasks both{at.context()};
        for (std::size_t i = 0; i != 2; ++i)
            both.start([&, i]() -> asio::awaitable<void> {
                lock const mine{clients[i]->client, name};
                while (std::ranges::min(entered) < 200) {
                    auto held = co_await mine.acquire();
                    BOOST_TEST(++inside == 1);
                    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
                    BOOST_TEST(--inside == 0);
                    ++entered[i];
                    co_await held.release();
                }
            });
        co_await both.join(15s);
        BOOST_TEST(std::ranges::max(entered) < 20 * std::ranges::min(entered));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
