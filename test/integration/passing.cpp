// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A release that gives the lock to the next client (`config::passing`).
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace colock::test {

namespace {

config passing(lab const& at)
{
    auto settings = at.settings();
    settings.lease = 10s;
    settings.max_tenure = 0ms;
    settings.passing = true;
    return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passing_locks)

BOOST_DATA_TEST_CASE(processes_in_turn_need_one_script_each, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    std::array clients{
        &at.connect(passing(at)), &at.connect(passing(at)), &at.connect(passing(at))};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("passed");
        std::array<int, 3> entered{};
        int inside = 0;
        std::uint64_t last = 0;
        auto const before = server.script_calls();
        tasks all{at.context()};
        for (std::size_t i = 0; i != clients.size(); ++i)
            for (int task = 0; task != 2; ++task)  // the next one waits when the first releases
                all.start([&, i]() -> asio::awaitable<void> {
                    lock const mine{clients[i]->client, name};
                    while (std::ranges::min(entered) < 200) {
                        auto held = co_await mine.acquire();
                        BOOST_TEST(++inside == 1);
                        BOOST_TEST(held.fencing_token() > last);
                        last = held.fencing_token();
                        co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
                        BOOST_TEST(--inside == 0);
                        ++entered[i];
                        co_await held.release();
                    }
                });
        co_await all.join(15s);
        auto const turns = entered[0] + entered[1] + entered[2];
        auto const scripts = server.script_calls() - before;
        BOOST_TEST_MESSAGE(turns << " turns with " << scripts << " scripts");
        BOOST_TEST(scripts < std::int64_t{turns} * 3 / 2);
        BOOST_TEST(std::ranges::max(entered) < 3 * std::ranges::min(entered));
    });
}

BOOST_DATA_TEST_CASE(a_lock_passed_on_is_renewed, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = passing(at);
    settings.poll_cap = 200ms;  // a claim of 600 ms
    auto& first = at.connect(settings);
    auto& second = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("renewed");
        auto held = co_await lock{first.client, name}.acquire();
        tasks waits{at.context()};
        hold next;
        waits.start([&]() -> asio::awaitable<void> {
            next = co_await lock{second.client, name}.acquire();
        });
        bool const stands =
            co_await eventually([&] { return exists(server, "colock_wait:{" + name + "}"); });
        BOOST_TEST(stands);
        co_await held.release();
        co_await waits.join(5s);
        co_await time_passes(1'500ms);
        BOOST_TEST(bool{next});
        BOOST_TEST(exists(server, name));
        co_await next.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
