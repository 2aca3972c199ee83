// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the articles about Redisson's locks measure and show with Java threads, here with
// coroutines: what a reader of them expects of a lock.
#include "integration/suites.hpp"

#include <array>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(seeds)

BOOST_DATA_TEST_CASE(of_a_thousand_who_try_once_one_wins, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect(), &at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("once");
        std::vector<hold> won;
        int tried = 0;
        tasks all{at.context()};
        for (unsigned i = 0; i != 1'000; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                lock mine{clients[i % 4]->client, name};
                auto held = co_await mine.try_acquire();
                ++tried;
                if (held)
                    won.push_back(std::move(*held));
            });
        co_await all.join(10s);
        BOOST_TEST(tried == 1'000);
        BOOST_REQUIRE(won.size() == 1U);
        BOOST_TEST(bool{won.front()});
        co_await won.front().release();
    });
}

BOOST_DATA_TEST_CASE(a_hundred_get_in_one_after_the_other, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect(), &at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("all");
        section critical;
        tasks all{at.context()};
        std::uint64_t last_token = 0;
        for (unsigned i = 0; i != 100; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                lock mine{clients[i % 4]->client, name};
                auto held = co_await mine.try_acquire_for(10s);
                BOOST_REQUIRE(held.has_value());
                BOOST_TEST(held->fencing_token() > last_token);
                last_token = held->fencing_token();
                co_await critical.stay(1ms);
                co_await held->release();
            });
        co_await all.join(15s);
        BOOST_TEST(critical.visits() == 100);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
