// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The lock is gone, and nobody says so.
#include "replay/replay.hpp"

#include <array>

namespace colock::test {

/// Told after 0.9 s, and 300 ms before anybody else can have the lock.
inline config told_early(config settings)
{
    settings.lease = 1'200ms;
    settings.loss_margin = 300ms;
    settings.observer = std::make_shared<counts>();
    return settings;
}

BOOST_AUTO_TEST_SUITE(loss)

BOOST_DATA_TEST_CASE(a_failed_renewal_is_told_to_nobody, each_server(), kind)
{
    far_lab at{kind};
    auto const settings = told_early(at.by_network());
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("unreachable")};
        hold held = co_await mine.acquire();
        auto const stop = held.stop_token();
        at.network.serve(false);
        at.network.cut();
        auto const [told] = co_await held.lost(tuple);
        auto const left = at.server().ask("PTTL", mine.name()).number;
        BOOST_TEST(!told);
        BOOST_TEST(left > 0);
        BOOST_TEST(!held);
        bool const stopped = co_await eventually([&] { return stop.stop_requested(); });
        BOOST_TEST(stopped);
        BOOST_TEST(static_cast<counts const&>(*settings.observer).losses == 1U);
        BOOST_TEST(c.log->count("stop the work it protects") == 1U);
        at.network.serve(true);
    });
}

BOOST_DATA_TEST_CASE(a_loss_that_no_error_announces, each_server(), kind)
{
    far_lab at{kind};
    auto settings = told_early(at.patient());
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("silent")};
        hold held = co_await mine.acquire();
        auto const promised = held.valid_until();
        at.network.hold_back_all(proxy::way::both);  // the connection stays, and nothing fails
        co_await held.lost();
        auto const left = at.server().ask("PTTL", mine.name()).number;
        BOOST_TEST(left > 0);
        BOOST_TEST((hold::clock::now() < promised));
        BOOST_TEST(c.client.stats().links_up > 0U);
        at.network.let_through();
    });
}

BOOST_DATA_TEST_CASE(the_old_holder_goes_on_believing, each_server(), kind)
{
    far_lab at{kind};
    auto& cut_off = at.connect(at.by_network());
    auto& healthy = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("two");
        hold old = co_await lock{cut_off.client, name}.acquire();
        at.network.hold_back_all(proxy::way::both);
        hold next = co_await lock{healthy.client, name}.acquire();
        BOOST_TEST(!old.valid_for(0ms));
        BOOST_TEST(!old);
        BOOST_TEST(next.fencing_token() > old.fencing_token());
        fence resource;
        BOOST_TEST(resource.admit(next.fencing_token()));
        BOOST_TEST(!resource.admit(old.fencing_token()));
        at.network.let_through();
    });
}

BOOST_DATA_TEST_CASE(a_late_renewal_takes_the_lock_again, each_server(), kind)
{
    far_lab at{kind};
    auto& server = at.server();
    auto& c = at.connect(with_lease(at.patient(), 2s));
    at.run([&]() -> asio::awaitable<void> {
        for (bool const somebody_has_it : {true, false}) {
            lock const mine{c.client, unique_name("late")};
            hold held = co_await mine.acquire();
            auto const sent = at.network.seen(mine.name());
            auto const calls = [&] {
                return server.script_calls() + server.info("commandstats", "cmdstat_eval:calls=");
            };
            auto const ran = calls();
            at.network.hold_back(proxy::way::to_server);
            bool const under_way =
                co_await eventually([&] { return at.network.seen(mine.name()) > sent; });
            BOOST_TEST(under_way);
            server.ask("DEL", mine.name());
            take_by_hand(server, mine.name());
            if (!somebody_has_it)
                server.ask("DEL", mine.name());
            at.network.let_through();
            co_await held.lost();
            BOOST_TEST(calls() > ran);  // it did run there
            BOOST_TEST(
                !server.ask("HEXISTS", mine.name(), "somebody:1").number == !somebody_has_it
            );
            BOOST_TEST(server.ask("HLEN", mine.name()).number == (somebody_has_it ? 1 : 0));
            server.ask("DEL", mine.name());
        }
    });
}

BOOST_DATA_TEST_CASE(a_machine_that_slept_goes_on_working, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& server = at.server();
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("asleep")};
        hold held = co_await mine.acquire();
        // Nothing in this process runs, for longer than the lease.
        wait_until("the end of the lease", 5s, [&] { return !exists(server, mine.name()); });
        take_by_hand(server, mine.name());
        BOOST_TEST(!held.valid_for(0ms));  // before it could be told anything
        co_await held.lost();
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
        BOOST_TEST(server.ask("HLEN", mine.name()).number == 1);
        BOOST_TEST(server.ask("HEXISTS", mine.name(), "somebody:1").number == 1);
        BOOST_TEST(server.ask("PTTL", mine.name()).number > 5'000);  // as he has set it
        server.ask("DEL", mine.name());
    });
}

BOOST_DATA_TEST_CASE(the_release_after_a_loss_goes_on_for_seconds, each_server(), kind)
{
    far_lab at{kind};
    auto settings = at.by_network();
    settings.timeout = 20s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("after")};
        stopwatch const watch;
        auto const thrown = co_await thrown_by([&]() -> asio::awaitable<void> {
            return with_lock(mine, [&](hold&) -> asio::awaitable<void> {
                at.network.hold_back_all(proxy::way::both);
                co_await pause_for(1min);
            });
        });
        BOOST_TEST((thrown == error::lost), thrown.message());
        BOOST_TEST(watch.ms() < 2'000);  // the lease was 400 ms
        at.network.let_through();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
