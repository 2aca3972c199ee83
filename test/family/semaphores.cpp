// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `semaphore`: what callers see, and what is in Redis.
#include "family/counters.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(semaphores)

BOOST_DATA_TEST_CASE(set_taken_given_and_drained, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        auto const left = [&](std::int64_t expected) -> asio::awaitable<void> {
            auto const n = co_await mine.available();
            BOOST_TEST(n == expected);
        };
        co_await left(0);
        bool done = co_await mine.try_acquire();
        BOOST_TEST(!done);
        done = co_await mine.try_set_permits(5);
        BOOST_TEST(done);
        done = co_await mine.try_set_permits(7);
        BOOST_TEST(!done);
        co_await mine.acquire();
        co_await mine.acquire(2);
        co_await left(2);
        BOOST_TEST(at.stored() == "2");
        done = co_await mine.try_acquire(3);
        BOOST_TEST(!done);
        done = co_await mine.try_acquire_for(20ms, 3);
        BOOST_TEST(!done);
        done = co_await mine.try_acquire(2);
        BOOST_TEST(done);
        co_await mine.release(5);
        auto const drained = co_await mine.drain();
        BOOST_TEST(drained == 5);
        co_await left(0);
        co_await mine.release();
        co_await left(1);
    });
}

BOOST_DATA_TEST_CASE(a_waiter_is_woken_by_a_release, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    auto& b = at.connect();
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        semaphore const of_b{b.client, mine.name()};
        co_await mine.try_set_permits(2);
        co_await mine.acquire(2);
        int got = 0;
        tasks all{at.context()};
        for (int i = 0; i != 2; ++i)
            all.start([&]() -> asio::awaitable<void> {
                co_await of_b.acquire();
                ++got;
            });
        bool const waiting = co_await eventually([&] { return at.listeners("redisson_sc:") == 1; });
        BOOST_TEST(waiting);
        BOOST_TEST(got == 0);
        co_await mine.release();
        bool const one = co_await eventually([&] { return got == 1; }, 1s);
        BOOST_TEST(one);
        BOOST_TEST(b.client.stats().waiters == 1U);
        co_await mine.release();
        co_await all.join(1s);
        BOOST_TEST(at.stored() == "0");
    });
}

BOOST_AUTO_TEST_CASE(messages_and_records_are_as_documented)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    redis_cli listens{server.unix_socket()};
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& name : {unique_name("semaphore"), "a{tag}" + unique_name("semaphore")}) {
            semaphore const mine{c.client, name};
            auto const braced = name.find('{') == name.npos ? "{" + name + "}" : name;
            listens("SUBSCRIBE", "redisson_sc:" + braced);
            co_await mine.try_set_permits(3);
            BOOST_TEST(listens.read().items.at(2).text == "3");
            co_await mine.acquire(2);
            co_await mine.release(2);
            BOOST_TEST(listens.read().items.at(2).text == "3");
            listens("UNSUBSCRIBE", "redisson_sc:" + braced);
            auto const records = server.ask("KEYS", "colock_once:*");
            BOOST_TEST(records.items.size() == 2U);
            for (auto const& key : records.items) {
                BOOST_TEST(key.text.rfind("colock_once:" + braced + ":", 0) == 0U);
                BOOST_TEST(server.ask("PTTL", key.text).number > 3'500'000);
            }
            server.ask("FLUSHALL");
        }
    });
}

BOOST_AUTO_TEST_CASE(arguments_are_checked)
{
    counter_lab<semaphore> at;
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        semaphore const nameless{at.client, ""};
        semaphore const endless{at.client, std::string(10'001, 'x')};
        co_await mine.available();
        auto const calls = at.server().script_calls();
        for (std::int64_t const n : {std::int64_t{-1}, std::int64_t{1} << 31}) {
            auto const [acquired] = co_await mine.acquire(n, tuple);
            BOOST_TEST(acquired == error::invalid_argument);
            auto const [released] = co_await mine.release(n, tuple);
            BOOST_TEST(released == error::invalid_argument);
            auto const [tried, got] = co_await mine.try_acquire(n, tuple);
            BOOST_TEST(tried == error::invalid_argument);
            BOOST_TEST(!got);
            auto const [set, done] = co_await mine.try_set_permits(n, tuple);
            BOOST_TEST(set == error::invalid_argument);
        }
        auto const [negative, none] = co_await mine.try_acquire_for(-1ms, 1, tuple);
        BOOST_TEST(negative == error::invalid_argument);
        for (auto const* each : {&nameless, &endless}) {
            auto const [acquired] = co_await each->acquire(tuple);
            BOOST_TEST(acquired == error::invalid_argument);
            auto const [drained, n] = co_await each->drain(tuple);
            BOOST_TEST(drained == error::invalid_argument);
            auto const [asked, left] = co_await each->available(tuple);
            BOOST_TEST(asked == error::invalid_argument);
        }
        BOOST_TEST(at.server().script_calls() == calls);
    });
}

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
            bool const set = co_await mine.try_set_permits(1);
            BOOST_TEST(!set);
            at.server().ask("DEL", mine.name());
        }
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
        bool const idle = co_await eventually([&] { return at.client.stats().keys == 0; });
        BOOST_TEST(idle);
        BOOST_TEST(at.stored() == "1");
        BOOST_TEST(at.client.stats().waiters == 0U);
    });
}

BOOST_DATA_TEST_CASE(the_queue_is_in_order, each_server(), kind)
{
    counter_lab<semaphore> at{kind};
    at.run([&](semaphore const& mine) -> asio::awaitable<void> {
        co_await mine.try_set_permits(3);
        co_await mine.acquire(3);
        std::vector<int> order;
        tasks all{at.context()};
        for (int i = 0; i != 3; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                co_await mine.acquire(3 - i);
                order.push_back(i);
            });
        co_await eventually([&] { return at.client.stats().waiters == 3; });
        co_await eventually([&] { return at.client.stats().subscriptions == 2; });
        bool const tried = co_await mine.try_acquire(1);  // others are before it
        BOOST_TEST(!tried);
        for (int i = 0; i != 6; ++i)
            co_await mine.release();
        co_await all.join(2s);
        BOOST_TEST((order == std::vector{0, 1, 2}));
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
