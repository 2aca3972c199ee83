// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `countdown_latch` beside Redisson's.
#include "interop/shared_object.hpp"

#include <chrono>
#include <string>

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
            auto const set = co_await s.ask("trySetCount", two);
            BOOST_TEST(set == "true");
            bool const again = co_await s.mine.try_set_count(3);
            BOOST_TEST(!again);
            std::chrono::steady_clock::time_point passed;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                co_await s.mine.wait();
                passed = std::chrono::steady_clock::now();
            });
            co_await s.subscribed(channel, 1);
            co_await s.mine.count_down();
            auto const left = co_await s.ask("getCount");
            BOOST_TEST(left == "1");
            auto before = std::chrono::steady_clock::now();
            co_await s.ask("countDown");
            co_await all.join(2s);
            to_us.push_back(ms_since(before, passed));

            co_await s.subscribed(channel, 0);
            co_await s.mine.try_set_count(2);
            auto const waiting = s.begin("await", 20'000ms);
            co_await s.subscribed(channel, 1);
            co_await s.ask("countDown");
            auto const count = co_await s.mine.count();
            BOOST_TEST(count == 1);
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
        bool const was_there = co_await s.mine.remove();
        BOOST_TEST(was_there);
        auto const got = co_await waiting.wait(2s);
        BOOST_TEST(got.text == "true");
        co_await s.ask("trySetCount", three);
        auto const removed = co_await s.ask("delete");
        BOOST_TEST(removed == "true");
        bool const is_open = co_await s.mine.wait_for(0ms);
        BOOST_TEST(is_open);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
