// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server can do to its clients.
#include "integration/suites.hpp"
#include "support/fixture.hpp"
#include "support/patience.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(server_faults)

BOOST_AUTO_TEST_CASE(no_server_and_a_limited_wait)
{
    redis_server server{server_kind::redis, {}, false};
    lab at{server};
    auto& by_socket = at.connect();
    auto& by_port = at.connect(quick(server.by_port()));
    at.run_only([&]() -> asio::awaitable<void> {
        for (auto* c : {&by_socket, &by_port}) {
            lock const mine{c->client, unique_name("nobody")};
            stopwatch const watch;
            auto const none = co_await mine.try_acquire_for(200ms);
            BOOST_TEST(!none.has_value());
            BOOST_TEST(watch.ms() >= 200);
            BOOST_TEST(c->client.stats().waiters == 0U);
        }
    });
}

BOOST_AUTO_TEST_CASE(no_server_and_no_wait)
{
    redis_server server{server_kind::redis, {}, false};
    lab at{server};
    auto& c = at.connect(quick(server.by_port()));
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("nobody")};
        stopwatch const watch;
        auto const [tried, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST(tried == asio::error::connection_refused);
        BOOST_TEST(watch.ms() >= 1'000);  // config::timeout
        auto const [asked, locked] = co_await mine.is_locked(tuple);
        BOOST_TEST(asked == asio::error::connection_refused);
    });
}

BOOST_AUTO_TEST_CASE(no_server_until_later)
{
    redis_server server{server_kind::redis, {}, false};
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("later")};
        hold held;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        bool const tried = co_await eventually([&] { return c.log->count("no connection") > 0; });
        BOOST_TEST(tried);
        BOOST_TEST(c.client.stats().waiters == 1U);
        server.start();
        co_await all.join(5s);
        BOOST_TEST(bool{held});
        BOOST_TEST(exists(server, mine.name()));
    });
}

BOOST_DATA_TEST_CASE(killed_and_restarted_empty, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 10s;  // so that not time tells the holder, but the server
    auto& b = at.connect(settings);
    auto const seen = std::make_shared<diary>();
    settings.links = 1;
    settings.observer = seen;
    auto& a = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("restart");
        hold old = co_await lock{a.client, name}.acquire();
        hold next;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            next = co_await lock{b.client, name}.acquire();
        });
        co_await eventually([&] { return is_waiting(b.client, name); });
        server.restart();
        auto const [lost] = co_await old.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!lost);
        BOOST_TEST(!old);
        BOOST_TEST(seen->losses() == 1);
        BOOST_TEST(seen->told_after().count() >= 0);
        co_await all.join(5s);
        BOOST_TEST(bool{next});
        BOOST_TEST(next.fencing_token() > old.fencing_token());
        auto const [released] = co_await old.release(tuple);
        BOOST_TEST(released == error::lost);
        BOOST_TEST(server.ask("HLEN", name).number == 1);
    });
}

BOOST_AUTO_TEST_CASE(killed_for_good)
{
    redis_server server;
    lab at{server};
    auto settings = at.settings();
    settings.lease = 2s;
    auto& c = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, unique_name("killed")}.acquire();
        auto const stop = held.stop_token();
        server.kill();
        auto const promised = held.valid_until();
        BOOST_TEST(bool{held});  // the lease still runs
        co_await held.lost();
        BOOST_TEST((hold::clock::now() < promised));
        BOOST_TEST((hold::clock::now() > promised - settings.lease / 4));
        BOOST_TEST(!held);
        bool const told = co_await eventually([&] { return stop.stop_requested(); });
        BOOST_TEST(told);
        auto const [closed] = co_await c.client.close(tuple);
        BOOST_TEST((!closed || closed == error::unavailable));
    });
}

BOOST_DATA_TEST_CASE(scripts_flushed, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("flush")};
        owner const me;
        auto const flush = [&] { BOOST_TEST(server.ask("SCRIPT", "FLUSH").text == "OK"); };
        flush();
        hold held = co_await mine.acquire({.as = me});
        flush();
        hold again = co_await mine.acquire({.as = me});
        flush();
        auto const until = held.valid_until();
        bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
        BOOST_TEST(renewed);
        flush();
        bool const locked = co_await mine.is_locked();
        BOOST_TEST(locked);
        flush();
        co_await again.release();
        flush();
        co_await held.release();
        BOOST_TEST(!exists(server, mine.name()));
        BOOST_TEST(c.client.stats().reconnects == 0U);
    });
}

/// A hold is lost for want of a renewal, and somebody waits; but the server answers, be it with
/// errors, so connections stand.
void lose_a_hold_but_no_connection(
    redis_server& server, std::function<void()> const& begin, std::function<void()> const& end
)
{
    lab at{server};
    auto settings = quick(server.by_socket());
    // More than five times what a link waits for a sign of life.
    settings.lease = std::max(1'200ms, within(400ms));
    settings.links = 1;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("errors")};
        hold held = co_await mine.acquire();
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { co_await mine.acquire(tuple); });
        co_await eventually([&] { return c.client.stats().links_up == 2; });
        auto const connections = [&] {
            return server.info("stats", "total_connections_received:");
        };
        auto const before = connections();
        begin();
        auto const [lost] = co_await held.lost(asio::cancel_after(3 * settings.lease, tuple));
        BOOST_TEST(!lost);
        end();
        co_await all.join(5s);
        co_await mine.acquire();
        BOOST_TEST(connections() == before);
    });
}

BOOST_DATA_TEST_CASE(a_slow_script_costs_no_connection, each_server(), kind)
{
    redis_server server{kind, {"lua-time-limit 1"}};
    redis_cli other{server.unix_socket()};
    lose_a_hold_but_no_connection(
        server,
        [&] {
            other.send({"EVAL", "while true do end", "0"});
        },
        [&] { server.ask("SCRIPT", "KILL"); }
    );
}

BOOST_DATA_TEST_CASE(a_disk_that_fails_costs_no_connection, each_server(), kind)
{
    redis_server server{kind, {"enable-protected-configs yes"}};
    auto const gone = std::filesystem::path{server.folder()} / "gone";
    lose_a_hold_but_no_connection(
        server,
        [&] {
            std::filesystem::create_directory(gone);
            server.ask("CONFIG", "SET", "dir", gone.string());
            std::filesystem::remove(gone);
            server.ask("CONFIG", "SET", "save", "3600 1");
            server.ask("BGSAVE");
            stopwatch const watch;
            while (!server.ask("PING").text.starts_with("MISCONF") && watch.ms() < 5'000) {}
            BOOST_TEST(server.ask("PING").text.starts_with("MISCONF"));
        },
        [&] { server.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"); }
    );
}

BOOST_DATA_TEST_CASE(client_kill_of_the_commands, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 2s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("kill")};
        hold held = co_await mine.acquire();
        auto const until = held.valid_until();
        server.ask("CLIENT", "KILL", "TYPE", "normal");
        // A new connection confirms what is held at once.
        bool const confirmed =
            co_await eventually([&] { return held.valid_until() > until; }, within(600ms));
        BOOST_TEST(confirmed);
        BOOST_TEST(bool{held});
        BOOST_TEST(c.client.stats().reconnects >= 1U);
        server.ask("CLIENT", "KILL", "TYPE", "normal");
        co_await held.release();
        BOOST_TEST(!exists(server, mine.name()));
    });
}

BOOST_DATA_TEST_CASE(client_kill_of_the_push_connection, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto slow = quick(server.by_socket());
    slow.lease = 10s;  // whose end nobody waits for
    auto& a = at.connect(slow);
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("kill-push");
        auto const channel = "redisson_lock__channel:{" + name + "}";
        auto const subscribers = [&] { return server.listeners(channel); };
        for (auto* each : {&a, &b}) {  // from now on scripts go by their sums
            hold brief = co_await lock{each->client, name}.acquire();
            co_await brief.release();
        }
        for (bool const late : {false, true}) {
            auto const calls = server.script_calls();
            hold first = co_await lock{a.client, name}.acquire();
            hold second;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                second = co_await lock{b.client, name}.acquire();
            });
            // It has asked again after the subscription, and now only a message can wake it.
            co_await eventually([&] { return server.script_calls() == calls + 3; });
            BOOST_TEST(server.ask("CLIENT", "KILL", "TYPE", "pubsub").number == 1);
            if (late)
                co_await eventually([&] { return subscribers() == 1; });
            // Otherwise the message finds nobody, and the new subscription wakes who waits.
            stopwatch const watch;
            co_await first.release();
            co_await all.join(4s);
            BOOST_TEST(watch.ms() < within(2'000));
            co_await second.release();
            co_await eventually([&] { return b.client.stats().subscriptions == 0; });
        }
    });
}

BOOST_DATA_TEST_CASE(key_deleted_by_hand, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = at.settings();
    settings.lease = 3s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("deleted")};
        hold held = co_await mine.acquire();
        auto const until = held.valid_until();
        server.ask("DEL", mine.name());
        auto const [lost] = co_await held.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!lost);
        BOOST_TEST((hold::clock::now() < until));  // the next renewal, not the end of the lease
        BOOST_TEST(!exists(server, mine.name()));
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
        hold next = co_await mine.acquire();
        BOOST_TEST(next.fencing_token() > held.fencing_token());
    });
}

BOOST_DATA_TEST_CASE(stopped_with_our_acquire_in_its_buffer, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("sigstop")};
        co_await mine.is_locked();  // its link is up
        server.pause();
        auto const none = co_await mine.try_acquire_for(150ms);
        BOOST_TEST(!none.has_value());
        bool const noticed = co_await eventually([&] { return c.client.stats().links_up == 0; });
        BOOST_TEST(noticed);
        server.resume();
        bool const undone = co_await eventually([&] {
            return c.client.stats().owed_releases == 0 && c.client.stats().keys == 0;
        });
        BOOST_TEST(undone);
        BOOST_TEST(!exists(server, mine.name()));
        hold held = co_await mine.acquire();
        BOOST_TEST(server.ask("HLEN", mine.name()).number == 1);
    });
}

BOOST_DATA_TEST_CASE(a_silent_server_is_missed_after_silence_timeout, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 10s;
    settings.silence_timeout = 600ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("silent")};
        stopwatch const watch;
        co_await mine.is_locked();
        server.pause();
        bool const missed = co_await eventually([&] { return c.client.stats().links_up == 0; });
        server.resume();
        BOOST_TEST(missed);
        // The last answer is up to half of it old, for then it would have been asked again.
        BOOST_TEST(watch.ms() >= 290);
        co_await mine.acquire();
    });
}

BOOST_AUTO_TEST_CASE(an_answer_after_its_own_validity)
{
    redis_server server;
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 30s;  // the link waits long for an answer
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("late")};
        co_await mine.is_locked();
        server.pause();
        hold held;
        bool was_valid = false;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            held = co_await mine.acquire({.lease = 200ms});
            was_valid = held.valid_for(95ms);
        });
        asio::steady_timer longer{at.context(), 300ms};
        co_await longer.async_wait(asio::deferred);
        server.resume();
        co_await all.join(3s);
        BOOST_TEST(was_valid);
        BOOST_TEST(server.ask("HLEN", mine.name()).number == 1);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
