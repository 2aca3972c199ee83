// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What callers may not ask for: refused, and nothing is sent.
#include "integration/suites.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(arguments)

BOOST_DATA_TEST_CASE(the_limits_themselves, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run(
        [&]() -> asio::awaitable<void> {
            std::string const longest(10'000, 'x');
            hold held = co_await lock{c.client, longest}.acquire();
            BOOST_TEST(exists(server, longest));
            auto const ten_years = std::chrono::hours{24 * 3'653};
            co_await held.extend(ten_years);
            BOOST_TEST(held.valid_for(ten_years * 98 / 100));
            BOOST_TEST(server.ask("PTTL", longest).number > 315'000'000'000);
            co_await held.extend(100ms);
            BOOST_TEST(!held.valid_for(100ms));
            BOOST_TEST(server.ask("PTTL", longest).number <= 100);
            co_await held.release();
            lock const other{c.client, unique_name("limit")};
            auto const once = co_await other.try_acquire_for(0ms, {.lease = 10ms});
            BOOST_TEST((once && !once->valid_for(10ms)));
            auto const endless = co_await other.try_acquire_for(milliseconds::max(), {.lease = 1s});
            BOOST_TEST(endless.has_value());
        },
        5s
    );
}

BOOST_DATA_TEST_CASE(a_key_of_another_type, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect(brief(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const wrong{c.client, "other:" + unique_name("string")};
        server.ask("SET", wrong.name(), "value");
        auto const [e1, h1] = co_await wrong.acquire(tuple);
        BOOST_TEST(e1 == error::wrong_type);
        auto const [e2, h2] = co_await wrong.try_acquire(tuple);
        BOOST_TEST(e2 == error::wrong_type);
        auto const [e3, is] = co_await wrong.is_locked(tuple);
        BOOST_TEST(e3 == error::wrong_type);
        auto const [e4, lease] = co_await wrong.remaining_lease(tuple);
        BOOST_TEST(e4 == error::wrong_type);
        auto const [e5, forced] = co_await wrong.force_release(tuple);
        BOOST_TEST(e5 == error::wrong_type);
        BOOST_TEST(server.ask("GET", wrong.name()).text == "value");
        BOOST_TEST(server.ask("KEYS", "colock_fence:*").items.empty());

        // It does not disturb those that go with it in one script call.
        tasks all{at.context()};
        int good = 0, bad = 0;
        auto const base = unique_name("beside");
        for (int i = 0; i != 20; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                bool const is_bad = i % 5 == 2;
                auto const name = is_bad ? wrong.name() : base + std::to_string(i);
                auto [ec, held] = co_await lock{c.client, name}.acquire(tuple);
                (is_bad ? bad : good) += is_bad ? ec == error::wrong_type : !ec && held;
            });
        co_await all.join(3s);
        BOOST_TEST(good == 16);
        BOOST_TEST(bad == 4);

        // Under a holder: what is gone is gone.
        lock const mine{c.client, "other:" + unique_name("replaced")};
        hold held = co_await mine.acquire();
        server.ask("SET", mine.name(), "value");
        auto const [lost] = co_await held.lost(asio::cancel_after(10s, tuple));
        BOOST_TEST(!lost);
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
        BOOST_TEST(server.ask("GET", mine.name()).text == "value");
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
