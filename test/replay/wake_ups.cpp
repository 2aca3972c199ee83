// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Pools of subscriptions that run out, and what is left of those who have waited.
#include "family/kinds.hpp"
#include "replay/replay.hpp"
#include <colock/countdown_latch.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <string>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(subscriptions)

BOOST_DATA_TEST_CASE(a_cache_of_locks_drops_one_that_is_held, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 3s));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("kept")};
        hold held = co_await mine.acquire();
        auto const name = unique_name("others");
        for (int i = 0; i != 2'000; ++i) {
            hold other = co_await lock{c.client, name + ":" + std::to_string(i)}.acquire();
            co_await other.release(tuple);
        }
        BOOST_TEST(bool{held});
        auto const until = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
        BOOST_TEST(is_refused(co_await mine.try_acquire()));
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(!ec, ec.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Wake-ups that are missed. The poll cap is 30 s here: what a message should bring comes by one.

/// Has a connection that is known to the network as that of subscriptions, and on which no change
/// is under way; but no mailbox, which a latch does not need.
inline asio::awaitable<void> listen_once(far_lab& at, running_client& c)  // NOLINT(*-reference-*)
{
    auto const name = unique_name("listen");
    at.server().ask("SET", name, "1");
    countdown_latch const other{c.client, name};
    tasks all{at.context()};
    asio::cancellation_signal leave;
    all.start([&]() -> asio::awaitable<void> {
        auto const [ec] = co_await other.wait(asio::bind_cancellation_slot(leave.slot(), tuple));
        BOOST_TEST(ec == asio::error::operation_aborted);
    });
    auto const channel = "redisson_countdownlatch__channel__{" + name + "}";
    BOOST_TEST(co_await eventually([&] { return at.server().listeners(channel) == 1; }));
    leave.emit(asio::cancellation_type::terminal);
    co_await all.join(4s);
    bool const over = co_await eventually([&] {
        return c.client.stats().subscriptions == 0 && at.server().listeners(channel) == 0;
    });
    BOOST_TEST(over);
    at.server().ask("DEL", name);
}

using listening = boost::mpl::list<plain, fenced, fair, writing>;

BOOST_AUTO_TEST_SUITE(wake_ups)

BOOST_AUTO_TEST_CASE_TEMPLATE(
    an_unlock_between_the_failed_try_and_the_subscription, Kind, listening
)
{
    for (auto const server : installed_servers()) {
        far_lab at{server};
        auto& a = at.connect(calm(at.settings()));
        auto& b = at.connect(calm(at.patient()));
        at.run([&]() -> asio::awaitable<void> {
            auto const name = unique_name("between");
            co_await listen_once(at, b);
            hold first = co_await Kind::of(a.client, name).acquire({.lease = 30s});
            at.network.hold_back(proxy::way::to_server, proxy::link::push);
            auto const asked = at.network.seen("SUBSCRIBE");
            hold second;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                second = co_await Kind::of(b.client, name).acquire();
            });
            BOOST_TEST(co_await eventually([&] { return at.network.seen("SUBSCRIBE") > asked; }));
            co_await first.release();  // and nobody hears it
            BOOST_TEST(!second);       // who only begins to listen has not got in by that
            stopwatch const watch;
            at.network.let_through();
            co_await all.join(4s);
            BOOST_TEST(bool{second});
            BOOST_TEST(watch.ms() < 3'000);
        });
    }
}

BOOST_DATA_TEST_CASE(who_leaves_takes_the_subscription_of_others_along, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = calm(at.settings());
    settings.linger = 0ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("leaves")};
        take_by_hand(at.server(), mine.name());
        hold held;
        tasks all{at.context()};
        asio::cancellation_signal leave;
        all.start([&]() -> asio::awaitable<void> {
            auto const [ec, none] =
                co_await mine.acquire(asio::bind_cancellation_slot(leave.slot(), tuple));
            BOOST_TEST(ec == asio::error::operation_aborted);
        });
        all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        BOOST_TEST(co_await is_waited_for(at.server(), mine.name()));
        leave.emit(asio::cancellation_type::terminal);
        BOOST_TEST(co_await eventually([&] { return c.client.stats().waiters == 1; }));
        auto const ran = at.server().script_calls();
        co_await pause_for(100ms);
        BOOST_TEST(at.server().script_calls() <= ran + 2);  // no busy loop either
        BOOST_TEST(release_by_hand(at.server(), mine.name()) == 1);
        co_await all.join(3s);
        BOOST_TEST(bool{held});
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
