// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The lock is gone, and nobody says so.
#include "replay/replay.hpp"
#include "support/patience.hpp"

#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(loss)

BOOST_DATA_TEST_CASE(the_old_holder_goes_on_believing, each_server(), kind)
{
    far_lab at{kind};
    auto& cut_off = at.connect(with_lease(at.by_network(), brief_lease));
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
            BOOST_TEST(co_await eventually([&] { return at.network.seen(mine.name()) > sent; }));
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
    auto& c = at.connect(brief(at.settings()));
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
    auto settings = with_lease(at.by_network(), brief_lease);
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
        BOOST_TEST(watch.ms() < 2'000);
        at.network.let_through();
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Renewal ends too early, or never.

/// Renewed once more than until now.
inline asio::awaitable<bool> is_renewed(hold const& held)  // NOLINT(*-reference-coroutine-*)
{
    auto const until = held.valid_until();
    co_return co_await eventually([&] { return held.valid_until() > until; });
}

BOOST_AUTO_TEST_SUITE(renewal)

BOOST_DATA_TEST_CASE(after_an_error_later_holds_of_the_name_are_not_renewed, each_server(), kind)
{
    far_lab at{kind};
    auto& c = at.connect(with_lease(at.by_network(), 1s));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("later")};
        hold held = co_await mine.acquire();
        at.network.hold_back_all(proxy::way::both);
        co_await held.lost();
        at.network.let_through();
        held = co_await mine.acquire();
        for (int i = 0; i != 2; ++i) {
            BOOST_TEST(co_await is_renewed(held));
        }
        BOOST_TEST(bool{held});
    });
}

BOOST_DATA_TEST_CASE(a_reader_that_entered_again_is_renewed_for_ever, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 1s));
    at.run([&]() -> asio::awaitable<void> {
        auto const mine = read_write_lock{c.client, unique_name("readers")}.read();
        owner const me;
        std::vector<hold> all;
        for (int i = 0; i != 5; ++i)
            all.push_back(co_await mine.acquire({.as = me}));
        bool const renewed = co_await is_renewed(all.front());
        BOOST_TEST(renewed);
        for (auto& held : all)
            co_await held.release();
        BOOST_TEST(!exists(at.server(), mine.name()));
        BOOST_TEST(co_await eventually([&] { return c.client.stats().keys == 0; }));
        auto const ran = at.server().script_calls();
        co_await pause_for(400ms);  // in which each would have been renewed
        BOOST_TEST(at.server().script_calls() == ran);
    });
}

BOOST_DATA_TEST_CASE(renewals_that_nobody_answers_block_the_threads, each_server(), kind)
{
    redis_server silent{kind};
    lab at{shared_server(kind)};
    auto settings = brief(silent.by_socket());
    auto const seen = std::make_shared<counts>();
    settings.observer = seen;
    auto& stuck = at.connect(settings);
    auto& healthy = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        std::vector<hold> held;
        for (int i = 0; i != 200; ++i)
            held.push_back(co_await lock{stuck.client, unique_name("many")}.acquire());
        silent.pause();
        // On the same thread, until the last of them has been told.
        lock const other{healthy.client, unique_name("beside")};
        int entered = 0;
        for (stopwatch const watch; seen->losses != held.size() && watch.ms() < 5'000; ++entered) {
            hold inside = co_await other.acquire();
            co_await inside.release();
        }
        BOOST_TEST(seen->losses == held.size());
        BOOST_TEST(entered > 5);
        silent.resume();
        held.clear();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
