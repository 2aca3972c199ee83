// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that belongs to a thread.
#include "replay/replay.hpp"

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <thread>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(ownership)

BOOST_DATA_TEST_CASE(only_the_thread_that_locked_may_unlock, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("thread")};
        hold held = co_await mine.acquire();
        std::atomic<bool> done = false;
        error_code result = error::not_held;
        std::thread other{[&, given = std::move(held)]() mutable {
            auto const [ec] = given.release(asio::as_tuple(asio::use_future)).get();
            result = ec;
            done = true;
        }};
        bool const released = co_await eventually([&] { return done.load(); });
        BOOST_TEST(released);
        other.join();
        BOOST_TEST(!result, result.message());
        BOOST_TEST(!exists(at.server(), mine.name()));
    });
}

BOOST_DATA_TEST_CASE(two_tasks_of_a_thread_mix_up_their_tokens, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("tasks")};
        section critical;
        std::vector<std::string> fields;
        tasks all{at.context()};
        for (int i = 0; i != 4; ++i)
            all.start([&]() -> asio::awaitable<void> {
                hold held = co_await shared.acquire({.lease = 5s});
                fields.push_back(at.server().ask("HKEYS", shared.name()).items.at(0).text);
                co_await critical.stay(5ms);
                auto const [ec] = co_await held.release(tuple);
                BOOST_TEST(!ec, ec.message());
            });
        co_await all.join(5s);
        BOOST_TEST(critical.visits() == 4);
        BOOST_TEST(fields.size() == 4U);
    });
}

// One task's release with the other's token would be the way to let a third one in.
BOOST_DATA_TEST_CASE(a_late_release_removes_the_lock_of_the_next_one, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const shared{c.client, unique_name("late")};
        hold old = co_await shared.acquire({.lease = 100ms});
        co_await old.lost();
        hold next = co_await shared.acquire();
        auto const [ec] = co_await old.release(tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(bool{next});
        BOOST_TEST(exists(at.server(), shared.name()));
        auto const third = co_await shared.try_acquire();
        BOOST_TEST(!third.has_value());
    });
}

BOOST_DATA_TEST_CASE(a_failed_release_blocks_the_name_in_its_process, each_server(), kind)
{
    far_lab at{kind};
    auto settings = at.by_network();
    settings.timeout = 100ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("blocked")};
        hold held = co_await mine.acquire();
        at.network.hold_back_all(proxy::way::both);
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(bool{ec});
        at.network.let_through();
        auto const again = co_await mine.try_acquire_for(5s);
        BOOST_TEST(again.has_value());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
