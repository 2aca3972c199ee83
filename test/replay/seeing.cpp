// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Who waits, who holds, and what an error says. Last: servers that offer less.
#include "replay/replay.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(seeing)

BOOST_DATA_TEST_CASE(who_waits_is_counted_by_nobody, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = calm(at.settings());
    auto const seen = std::make_shared<counts>();
    settings.observer = seen;
    settings.max_tenure = 0ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("counted")};
        hold held = co_await mine.acquire();
        tasks all{at.context()};
        for (int i = 0; i != 10; ++i)
            all.start([&]() -> asio::awaitable<void> {
                hold next = co_await mine.acquire();
                co_await next.release();
            });
        BOOST_TEST(co_await eventually([&] { return c.client.stats().waiters == 10; }));
        BOOST_TEST(c.client.stats().holds == 1U);
        co_await held.release();
        co_await all.join(5s);
        BOOST_TEST(c.client.stats().waiters == 0U);
        BOOST_TEST(seen->entries == 11U);
        BOOST_TEST(seen->releases == 11U);
        BOOST_TEST(seen->attempts >= 11U);  // tries are told, not only successes
        BOOST_TEST(seen->losses == 0U);
    });
}

BOOST_DATA_TEST_CASE(an_error_that_does_not_say_what_happened, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.lease = 1'500ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("says")};
        hold held = co_await mine.acquire();
        auto const field = at.server().ask("HKEYS", mine.name()).items.at(0).text;
        at.server().ask("DEL", mine.name());
        take_by_hand(at.server(), mine.name());
        co_await held.lost();
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(ec == error::lost);  // "already taken" by somebody else comes to the same
        // The lock, its owner, what happened and what to do.
        BOOST_TEST(c.log->count("hold " + mine.name() + " (" + field + "): lost: ") == 1U);
        BOOST_TEST(c.log->count("expired, deleted or forced") == 1U);
        BOOST_TEST(c.log->count("stop the work it protects") == 1U);
        BOOST_TEST(at.server().ask("HEXISTS", mine.name(), "somebody:1").number == 1);
        at.server().ask("DEL", mine.name());
    });
}

BOOST_DATA_TEST_CASE(a_server_that_refuses_wait, each_server(), kind)
{
    redis_server server{kind, {"user app on >pw ~* &* +@all -wait"}};
    lab at{server};
    auto settings = calm(at.settings());
    settings.username = "app";
    settings.password = "pw";
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("no-wait")};
        hold held = co_await mine.acquire();
        co_await held.release();
        auto const [ec, none] = co_await mine.try_acquire({.sync_replicas = 1}, tuple);
        BOOST_TEST((ec == error::unsupported), ec.message());
        BOOST_TEST(co_await eventually([&] { return !exists(server, mine.name()); }));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
