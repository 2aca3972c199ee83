// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `countdown_latch` beside Redisson's.
#include "interop/shared_object.hpp"

#include <chrono>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(latch)

BOOST_AUTO_TEST_CASE(each_opens_it_for_the_other)
{
    java_lab at;
    shared_object<countdown_latch> s{at, "latch"};
    at.run([&]() -> asio::awaitable<void> {
        auto const channel = "redisson_countdownlatch__channel__{" + s.name + "}";
        std::vector<std::int64_t> to_us, to_them;
        for (int i = 0; i != rounds; ++i) {
            BOOST_TEST(co_await s.ask("trySetCount", two) == "true");
            BOOST_TEST(!co_await s.mine.try_set_count(3));
            std::chrono::steady_clock::time_point passed;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                co_await s.mine.wait();
                passed = std::chrono::steady_clock::now();
            });
            co_await s.subscribed(channel, 1);
            co_await s.mine.count_down();
            BOOST_TEST(co_await s.ask("getCount") == "1");
            auto before = std::chrono::steady_clock::now();
            co_await s.ask("countDown");
            co_await all.join(2s);
            to_us.push_back(ms_since(before, passed));

            co_await s.subscribed(channel, 0);
            co_await s.mine.try_set_count(2);
            auto const waiting = s.begin("await", 20'000ms);
            co_await s.subscribed(channel, 1);
            co_await s.ask("countDown");
            BOOST_TEST(co_await s.mine.count() == 1);
            BOOST_TEST(!waiting.is_done());
            before = std::chrono::steady_clock::now();
            co_await s.mine.count_down();
            auto const got = co_await waiting.wait();
            BOOST_TEST(got.text == "true");
            to_them.push_back(ms_since(before, got.at));
            co_await s.subscribed(channel, 0);
        }
        BOOST_TEST(median(to_us) < longest_hand_over);
        BOOST_TEST(median(to_them) < longest_hand_over);
    });
}

BOOST_AUTO_TEST_CASE(a_removal_of_ours_lets_redisson_pass)
{
    java_lab at;
    shared_object<countdown_latch> s{at, "latch"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.ask("trySetCount", three);
        auto const waiting = s.begin("await", 20'000ms);
        co_await s.subscribed("redisson_countdownlatch__channel__{" + s.name + "}", 1);
        BOOST_TEST(co_await s.mine.remove());
        BOOST_TEST((co_await waiting.wait(2s)).text == "true");
        co_await s.ask("trySetCount", three);
        BOOST_TEST(co_await s.ask("delete") == "true");
        BOOST_TEST(co_await s.mine.wait_for(0ms));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
