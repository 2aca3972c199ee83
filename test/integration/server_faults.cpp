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
#include <variant>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(server_faults)

BOOST_AUTO_TEST_CASE(no_server_and_no_wait)
{
    redis_server server{server_kind::redis, {}, false};
    lab at{server};
    auto& c = at.connect(quick(server.by_port()));
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("nobody")};
        stopwatch const watch;
        auto const [tried, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST(tried == error::unavailable);
        BOOST_TEST(watch.ms() >= 1'000);  // config::timeout
        auto const [asked, locked] = co_await mine.is_locked(tuple);
        BOOST_TEST(asked == error::unavailable);
        colock::diagnostics said;
        auto const [ec, nothing] =
            co_await mine.try_acquire_for(50ms, with_diagnostics(said, tuple));
        BOOST_TEST(ec == error::unavailable);
        auto const words =
            "no connection to 127.0.0.1:" + std::to_string(server.port()) + ": Connection refused";
        BOOST_TEST(
            said.text() == "try_acquire_for " + std::string{mine.name()} + ": " + words, said.text()
        );
    });
}

BOOST_AUTO_TEST_CASE(of_several_servers_the_error_says_why_none_is_reached)
{
    redis_server one{server_kind::redis, {}, false}, two{server_kind::redis, {}, false};
    lab at{one};
    auto settings = quick(one.by_port());
    settings.addresses.push_back(two.by_port().addresses.front());
    settings.timeout = 1s;
    for (auto const kind : {topology::cluster, topology::replicated}) {
        settings.topology = kind;
        auto& c = at.connect(settings);
        at.run_only([&]() -> asio::awaitable<void> {
            colock::diagnostics said;
            auto const [ec, none] = co_await lock{c.client, unique_name("nobody")}.try_acquire(
                with_diagnostics(said, tuple)
            );
            BOOST_TEST(ec == error::unavailable);
            BOOST_TEST(
                said.text().find(": no connection to 127.0.0.1:") != std::string::npos, said.text()
            );
            BOOST_TEST(said.text().ends_with(": Connection refused"), said.text());
        });
    }
}

/// Why a connection has gone.
struct link_reason final : observer {
    void on_event(client_event const& what) noexcept override
    {
        if (auto const* const down = std::get_if<events::link_down>(&what))
            why = down->why;
    }

    error_code why;
};

// The place in Asio's source is of no use to an observer, and `what()` would print it.
BOOST_AUTO_TEST_CASE(an_observer_is_told_the_reason_without_a_place_in_a_source)
{
    redis_server server{server_kind::redis};
    lab at{server};
    auto settings = quick(server.by_port());
    auto const seen = std::make_shared<link_reason>();
    settings.observer = seen;
    auto& c = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        co_await c.client.ping();
        server.kill();
        co_await eventually([&] { return bool{seen->why}; });
        BOOST_TEST(seen->why != error::unavailable);
        BOOST_TEST(!seen->why.has_location());
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
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
        flush();
        BOOST_TEST(co_await mine.is_locked());
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
        auto const again = co_await mine.acquire();
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

BOOST_DATA_TEST_CASE(stopped_with_our_acquire_in_its_buffer, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("sigstop")};
        co_await mine.is_locked();  // its link is up
        server.pause();
        auto const [ec, none] = co_await mine.try_acquire_for(150ms, tuple);
        BOOST_TEST((ec == error::unavailable));
        BOOST_TEST(co_await eventually([&] { return c.client.stats().links_up == 0; }));
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
