// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `countdown_latch`.
#include "family/counters.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(latches)

BOOST_DATA_TEST_CASE(set_counted_down_and_passed, each_server(), kind)
{
    counter_lab<countdown_latch> at{kind};
    auto& b = at.connect();
    at.run([&](countdown_latch const& mine) -> asio::awaitable<void> {
        countdown_latch const of_b{b.client, mine.name()};
        co_await of_b.wait();  // one that is not there is open
        bool set = co_await mine.try_set_count(2);
        BOOST_TEST(set);
        set = co_await of_b.try_set_count(3);
        BOOST_TEST(!set);
        bool open = co_await of_b.wait_for(20ms);
        BOOST_TEST(!open);
        open = co_await of_b.wait_for(0ms);
        BOOST_TEST(!open);
        int passed = 0;
        tasks all{at.context()};
        for (auto const* each : {&mine, &of_b, &of_b})
            all.start([&, each]() -> asio::awaitable<void> {
                co_await each->wait();
                ++passed;
            });
        bool const waiting = co_await eventually([&] {
            return at.listeners("redisson_countdownlatch__channel__") == 2;
        });
        BOOST_TEST(waiting);
        co_await mine.count_down();
        BOOST_TEST(co_await of_b.count() == 1);
        BOOST_TEST(passed == 0);
        co_await of_b.count_down();
        co_await all.join(1s);
        BOOST_TEST(passed == 3);
        BOOST_TEST(!exists(at.server(), mine.name()));
        co_await of_b.count_down();  // of an open one
        BOOST_TEST(!exists(at.server(), mine.name()));
        open = co_await of_b.wait_for(1s);
        BOOST_TEST(open);
    });
}

BOOST_DATA_TEST_CASE(deleted_by_hand_it_opens_at_the_poll_cap, each_server(), kind)
{
    counter_lab<countdown_latch> at{kind, [](config& c) { c.poll_cap = 100ms; }};
    at.run([&](countdown_latch const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_count(1);
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { co_await mine.wait(); });
        co_await eventually([&] { return at.client.stats().waiters == 1; });
        at.server().ask("DEL", mine.name());
        co_await all.join(1s);
        BOOST_TEST(at.client.stats().waiters == 0U);
        BOOST_TEST(co_await mine.count() == 0);
    });
}

// Each count takes effect once, though connections go in the middle of them.
BOOST_DATA_TEST_CASE(lost_answers_count_once, each_server(), kind)
{
    proxy network{shared_server(kind).port()};
    counter_lab<countdown_latch> at{kind, through(network, kind)};
    at.run(
        [&](countdown_latch const& mine) -> asio::awaitable<void> {
            co_await mine.try_set_count(10'000);
            for (int i = 0; i != 10; ++i) {  // each connects more slowly than the one before
                network.cut_reply("EVALSHA", i % 2 == 0 ? 0 : 3);
                co_await mine.count_down();
                BOOST_TEST(co_await mine.count() == 10'000 - i - 1);
            }
        },
        30s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
