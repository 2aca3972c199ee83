// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `semaphore`: what callers see, and what is in Redis.
#include "family/counters.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(semaphores)

BOOST_DATA_TEST_CASE(a_key_of_another_type, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        for (auto const& make :
             {std::vector<std::string>{"HSET", mine.name(), "f", "1"},
              std::vector<std::string>{"SET", mine.name(), "text"}}) {
            redis_cli{at.server().unix_socket()}.command(make);
            auto const [acquired] = co_await mine.acquire(tuple);
            BOOST_TEST(acquired == error::wrong_type);
            auto const [tried, got] = co_await mine.try_acquire_for(10s, tuple);
            BOOST_TEST(tried == error::wrong_type);
            auto const [drained, n] = co_await mine.drain(tuple);
            BOOST_TEST(drained == error::wrong_type);
            auto const [asked, left] = co_await mine.available(tuple);
            BOOST_TEST(asked == error::wrong_type);
            auto const [released] = co_await mine.release(tuple);
            BOOST_TEST(bool{released});
            BOOST_TEST(!co_await mine.try_set_permits(1));
            at.server().ask("DEL", mine.name());
        }
    });
}

BOOST_DATA_TEST_CASE(a_limit_sets_what_is_not_there_and_sets_it_again, each_server(), kind)
{
    counter_lab<semaphore> at{kind, [](config& c) { c.poll_cap = 50ms; }};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        semaphore const two{at.client, mine.name(), 2};
        co_await two.acquire(2);
        BOOST_TEST(at.stored() == "0");
        BOOST_TEST(!co_await two.try_acquire());
        tasks all{at.context()};
        bool is_in = false;
        all.start([&]() -> asio::awaitable<void> {
            co_await two.acquire();
            is_in = true;
        });
        co_await eventually([&] { return at.client.stats().waiters == 1; });
        at.server().ask("DEL", mine.name());
        BOOST_TEST(co_await eventually([&] { return is_in; }));
        BOOST_TEST(at.stored() == "1");
        at.server().ask("DEL", mine.name());
        co_await two.release();
        BOOST_TEST(at.stored().empty());  // the next acquire makes it
        BOOST_TEST(co_await two.try_acquire_for(1s, 2));
        co_await all.join(1s);
    });
}

BOOST_DATA_TEST_CASE(a_limit_lets_those_in_that_waited_for_it, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        auto& other = at.connect(at.settings()).client;
        tasks all{at.context()};
        int in = 0;
        for (int i = 0; i != 2; ++i)
            all.start([&]() -> asio::awaitable<void> {
                co_await mine.acquire();
                ++in;
            });
        co_await eventually([&] { return at.listeners("redisson_sc:") == 1; });
        co_await semaphore{other, mine.name(), 3}.acquire();
        BOOST_TEST(co_await eventually([&] { return in == 2; }));
        BOOST_TEST(at.stored() == "0");
        co_await all.join(1s);
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_acquire_leaves_nothing, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(1);
        for (int i = 0; i != 200; ++i) {
            // Cancelled sooner or later than it is granted.
            auto const [ec] =
                co_await mine.acquire(asio::cancel_after(std::chrono::microseconds{10 * i}, tuple));
            if (!ec)
                co_await mine.release();
            else
                BOOST_TEST(ec == asio::error::operation_aborted);
        }
        BOOST_TEST(co_await eventually([&] { return at.client.stats().keys == 0; }));
        BOOST_TEST(at.stored() == "1");
        BOOST_TEST(at.client.stats().waiters == 0U);
    });
}

BOOST_DATA_TEST_CASE(closed_with_waiters, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(1);
        co_await mine.acquire();
        error_code waited, released;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec] = co_await mine.acquire(tuple);
            waited = ec;
        });
        co_await eventually([&] { return at.client.stats().waiters == 1; });
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec] = co_await mine.release(tuple);
            released = ec;
        });
        auto const [ec] = co_await at.client.close(tuple);
        BOOST_TEST(!ec);
        co_await all.join(1s);
        BOOST_TEST(waited == error::closed);
        BOOST_TEST((!released || released == error::closed));
        auto const [refused] = co_await mine.release(tuple);
        BOOST_TEST(refused == error::closed);
    });
}

BOOST_DATA_TEST_CASE(lost_answers_create_and_lose_nothing, each_server(), kind)
{
    check_that_it_adds_up<semaphore>(
        kind,
        [](semaphore const& mine, auto const& stay) -> asio::awaitable<void> {
            co_await mine.acquire();
            co_await stay();
            co_await mine.release();
        }
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
