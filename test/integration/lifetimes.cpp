// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients end: in order, at once, or with their context.
#include "integration/suites.hpp"
#include "support/patience.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(lifetimes)

BOOST_DATA_TEST_CASE(closed_with_holds_and_waiters, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const free{a.client, unique_name("close")};
        lock const taken{a.client, unique_name("close")};
        hold of_b = co_await lock{b.client, taken.name()}.acquire();
        hold held = co_await free.acquire();
        error_code waited, behind, lost;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] = co_await taken.acquire(tuple);
            waited = ec;
        });
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] = co_await free.try_acquire_for(10s, tuple);
            behind = ec;
        });
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec] = co_await held.lost(tuple);
            lost = ec;
        });
        co_await eventually([&] {
            return a.client.stats().waiters == 2 && is_waiting(a.client, taken.name());
        });
        co_await a.client.close();
        BOOST_TEST(!exists(server, free.name()));  // released, not run out
        co_await all.join(1s);
        BOOST_TEST(waited == error::closed);
        BOOST_TEST(behind == error::closed);
        BOOST_TEST(lost == error::closed);
        BOOST_TEST(!held);
        auto const [refused, none] = co_await free.acquire(tuple);
        BOOST_TEST(refused == error::closed);
        auto const [asked, locked] = co_await free.is_locked(tuple);
        BOOST_TEST(asked == error::closed);
        auto const [run] = co_await a.client.run(tuple);
        BOOST_TEST(run == error::closed);
        auto const [again] = co_await a.client.close(tuple);
        BOOST_TEST(again == error::closed);
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(!released);
        BOOST_TEST(bool{of_b});
    });
}

BOOST_DATA_TEST_CASE(closed_with_an_acquire_under_way, each_server(), kind)
{
    auto& server = shared_server(kind);
    proxy network{server.port()};
    lab at{server};
    auto settings = quick(server.by_port());
    settings.addresses.front().port = network.port();
    settings.lease = 10s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("close")};
        co_await mine.is_locked();
        network.delay(50ms);
        error_code waited;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] = co_await mine.acquire(tuple);
            waited = ec;
        });
        co_await eventually([&] { return network.seen(mine.name()) == 2; });
        co_await c.client.close();
        BOOST_TEST(waited == error::closed);
        co_await all.join(1s);
        // The end of its connections comes behind all that the client has sent.
        bool const heard_all = co_await eventually([&] {
            return server.ask("CLIENT", "LIST").text.find(" addr=127.0.0.1:") == std::string::npos;
        });
        BOOST_TEST(heard_all);
        BOOST_TEST(!exists(server, mine.name()));
    });
}

BOOST_AUTO_TEST_CASE(closed_while_nobody_answers)
{
    redis_server server;
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 600ms;
    settings.close_timeout = 200ms;
    auto& c = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, unique_name("close")}.acquire();
        server.pause();
        stopwatch const watch;
        auto const [ec] = co_await c.client.close(tuple);
        BOOST_TEST(ec == error::unavailable);
        BOOST_TEST(watch.ms() >= 200);
        server.resume();
        bool const ended = co_await eventually([&] { return c.ended->has_value(); });
        BOOST_TEST(ended);
    });
}

BOOST_DATA_TEST_CASE(stopped_and_run_again, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 1s;
    auto& a = at.connect(settings);
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{a.client, unique_name("stop")}, taken{a.client, unique_name("stop")};
        for (int round = 0; round != 3; ++round) {
            hold held = co_await mine.acquire();
            hold of_b = co_await lock{b.client, taken.name()}.acquire();
            error_code waited;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                auto const [ec, none] = co_await taken.acquire(tuple);
                waited = ec;
            });
            co_await eventually([&] { return a.client.stats().waiters == 1; });
            a.client.stop();
            co_await all.join(1s);
            BOOST_TEST(waited == error::closed);
            if (round != 1)  // else in the same breath
                co_await eventually([&] {
                    return a.ended->has_value() && a.client.stats().links_up == 0;
                });
            BOOST_TEST(bool{held});  // its lease still runs
            BOOST_TEST(exists(server, mine.name()));
            a.run();
            auto const until = held.valid_until();
            bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
            BOOST_TEST(renewed);
            BOOST_TEST(bool{held});
            co_await held.release();
            BOOST_TEST(!exists(server, mine.name()));
            tasks more{at.context()};
            more.start([&]() -> asio::awaitable<void> {
                hold const next = co_await taken.acquire();
                BOOST_TEST(bool{next});
            });
            co_await eventually([&] { return is_waiting(a.client, taken.name()); });
            co_await of_b.release();
            co_await more.join(2s);
        }
    });
}

BOOST_AUTO_TEST_CASE(stopped_for_longer_than_the_lease)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect(brief(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("stop");
        hold held = co_await lock{c.client, name}.acquire();
        c.client.stop();
        auto const until = held.valid_until();
        auto const [lost] = co_await held.lost(asio::cancel_after(10s, tuple));
        BOOST_TEST(!lost);
        BOOST_TEST((hold::clock::now() < until));
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(bool{released});
        co_await eventually([&] { return !exists(server, name); });
    });
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cancelled_or_asked_for_twice)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const [twice] = co_await c.client.run(tuple);
        BOOST_TEST(twice == asio::error::already_started);
        c.client.stop();
        co_await eventually([&] { return c.ended->has_value(); });
        auto const [cancelled] = co_await c.client.run(asio::cancel_after(50ms, tuple));
        BOOST_TEST(cancelled == asio::error::operation_aborted);
        c.run();
        hold held = co_await lock{c.client, unique_name("again")}.acquire();
        BOOST_TEST(bool{held});
    });
}

// Nothing may run, crash or leak: the sanitizers see to the last two.
BOOST_AUTO_TEST_CASE(context_destroyed_with_all_pending)
{
    redis_server server;
    proxy network{server.port()};
    for (int after = 0; after != 12; ++after) {
        lab at{server};
        auto settings = quick(server.by_port());
        settings.addresses.front().port = network.port();
        auto& a = at.connect(settings);
        auto& b = at.connect(settings);
        auto const name = unique_name("context");
        auto work = [&]() -> asio::awaitable<void> {
            lock const of_a{a.client, name}, of_b{b.client, name};
            owner const me;
            hold first = co_await of_a.acquire({.as = me});
            hold again = co_await of_a.acquire({.as = me});
            auto wait = [&]() -> asio::awaitable<void> { co_await of_b.acquire(); };
            auto behind = [&]() -> asio::awaitable<void> { co_await of_a.acquire(); };
            auto watch = [&]() -> asio::awaitable<void> { co_await first.lost(); };
            tasks all{at.context()};
            all.start(wait);
            all.start(behind);
            all.start(watch);
            co_await of_a.is_locked();
            co_await again.release();
            co_await time_passes(1min);
        };
        // Between two handlers, ever later.
        int ends = 0;
        asio::co_spawn(at.context(), work, [&](std::exception_ptr) { ++ends; });
        for (int n = 0; n != after * 8; ++n)
            at.context().run_one_for(20ms);
        at.destroy_context();
        BOOST_TEST(ends == 0);
    }
    server.ask("FLUSHALL");
}

BOOST_AUTO_TEST_CASE(context_destroyed_while_the_server_is_busy)
{
    redis_server server{server_kind::redis, {"lua-time-limit 1"}};
    redis_cli other{server.unix_socket()};
    lab at{server};
    auto& c = at.connect();
    auto const name = unique_name("busy");
    at.run_only([&]() -> asio::awaitable<void> { co_await lock{c.client, name}.is_locked(); });
    other.send({"EVAL", "while true do end", "0"});
    bool done = false;
    lock{c.client, name}.is_locked([&](error_code, bool) { done = true; });
    while (server.ask("PING").text == "PONG") {}
    for (int n = 0; n != 40; ++n)
        at.context().run_one_for(5ms);
    BOOST_TEST(!done);
    server.ask("SCRIPT", "KILL");
    at.destroy_context();
    BOOST_TEST(!done);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
