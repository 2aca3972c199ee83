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
        auto const left = co_await of_b.count();
        BOOST_TEST(left == 1);
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

BOOST_DATA_TEST_CASE(counted_down_by_many_at_once, each_server(), kind)
{
    counter_lab<countdown_latch> at{kind};
    auto& b = at.connect();
    at.run([&](countdown_latch const& mine) -> asio::awaitable<void> {
        countdown_latch const of_b{b.client, mine.name()};
        co_await mine.try_set_count(1'000);
        tasks all{at.context()};
        bool passed = false;
        all.start([&]() -> asio::awaitable<void> {
            co_await of_b.wait();
            passed = true;
        });
        for (int i = 0; i != 999; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                co_await (i % 2 == 0 ? mine : of_b).count_down();
            });
        bool const almost = co_await eventually([&] { return at.stored() == "1"; });
        BOOST_TEST(almost);
        BOOST_TEST(!passed);
        co_await mine.count_down();
        co_await all.join(1s);
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

BOOST_AUTO_TEST_CASE(wrong_calls)
{
    counter_lab<countdown_latch> at;
    at.run([&](countdown_latch const& mine) -> asio::awaitable<void> {
        countdown_latch const nameless{at.client, ""};
        for (std::int64_t const n : {std::int64_t{0}, std::int64_t{-1}}) {
            auto const [ec, set] = co_await mine.try_set_count(n, tuple);
            BOOST_TEST(ec == error::invalid_argument);
        }
        auto const [waited] = co_await nameless.wait(tuple);
        BOOST_TEST(waited == error::invalid_argument);
        auto const [negative, open] = co_await mine.wait_for(-1ms, tuple);
        BOOST_TEST(negative == error::invalid_argument);
        at.server().ask("HSET", mine.name(), "f", "1");
        auto const [typed] = co_await mine.wait(tuple);
        BOOST_TEST(typed == error::wrong_type);
        auto const [counted] = co_await mine.count_down(tuple);
        BOOST_TEST(counted == error::wrong_type);
        auto const [asked, n] = co_await mine.count(tuple);
        BOOST_TEST(asked == error::wrong_type);
        at.server().ask("DEL", mine.name());
        auto const [cancelled] = co_await nameless.count_down(tuple);
        BOOST_TEST(cancelled == error::invalid_argument);
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_wait_leaves_nothing, each_server(), kind)
{
    counter_lab<countdown_latch> at{kind};
    at.run([&](countdown_latch const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_count(1);
        auto const [ec] = co_await mine.wait(asio::cancel_after(30ms, tuple));
        BOOST_TEST(ec == asio::error::operation_aborted);
        bool const idle = co_await eventually([&] {
            return at.client.stats().keys == 0 && at.client.stats().subscriptions == 0;
        });
        BOOST_TEST(idle);
        co_await mine.count_down();
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
                auto const left = co_await mine.count();
                BOOST_TEST(left == 10'000 - i - 1);
            }
        },
        30s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
