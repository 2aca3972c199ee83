// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Pools of subscriptions that run out, and what is left of those who have waited.
#include "family/kinds.hpp"
#include "replay/replay.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace colock::test {

inline std::size_t channels(redis_server& server, std::string const& name)
{
    return server.ask("PUBSUB", "CHANNELS", "*" + name + "*").items.size();
}

BOOST_AUTO_TEST_SUITE(subscriptions)

BOOST_DATA_TEST_CASE(more_wait_than_there_are_subscriptions, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("pool");
        auto const nth = [&](std::size_t i) { return name + ":" + std::to_string(i); };
        constexpr std::size_t many = 500;
        for (std::size_t i = 0; i != many; ++i)
            take_by_hand(at.server(), nth(i), 60s);
        std::size_t entered = 0;
        tasks all{at.context()};
        for (std::size_t i = 0; i != many; ++i)
            for (int twice = 0; twice != 2; ++twice)
                all.start([&, i]() -> asio::awaitable<void> {
                    hold held = co_await lock{c.client, nth(i)}.acquire();
                    ++entered;
                    co_await held.release();
                });
        bool const subscribed =
            co_await eventually([&] { return channels(at.server(), name) == many; });
        BOOST_TEST(subscribed);
        BOOST_TEST(c.client.stats().links_up <= 3U);  // two for commands, one for all of these
        for (std::size_t i = 0; i != many; ++i)
            release_by_hand(at.server(), nth(i));
        co_await all.join(4s);
        BOOST_TEST(entered == 2 * many);
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_subscription_disables_its_channel, each_server(), kind)
{
    far_lab at{kind};
    auto settings = calm(at.patient());
    settings.linger = 0ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("disabled")};
        auto const channel = "redisson_lock__channel:{" + mine.name() + "}";
        for (int round = 0; round != 20; ++round) {
            take_by_hand(at.server(), mine.name());
            auto const asked = at.network.seen("SUBSCRIBE");
            asio::cancellation_signal leave;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                auto const [ec, none] =
                    co_await mine.acquire(asio::bind_cancellation_slot(leave.slot(), tuple));
                BOOST_TEST(ec == asio::error::operation_aborted);
            });
            // While it is being subscribed, or just after. A subscription of the round before that
            // was not confirmed when the lock was granted is used again.
            bool const asking = co_await eventually([&] {
                return at.network.seen("SUBSCRIBE") > asked || at.server().listeners(channel) != 0;
            });
            BOOST_TEST(asking);
            leave.emit(asio::cancellation_type::terminal);
            hold held;
            all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
            bool const waits = co_await eventually([&] { return c.client.stats().waiters == 1; });
            BOOST_TEST(waits);
            bool const listens = co_await is_waited_for(at.server(), mine.name());
            BOOST_TEST(listens);
            release_by_hand(at.server(), mine.name());
            co_await all.join(3s);
            co_await held.release();
        }
    });
}

BOOST_DATA_TEST_CASE(channels_are_never_unsubscribed, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.linger = 10ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("channels");
        for (int i = 0; i != 50; ++i) {
            lock const mine{c.client, name + ":" + std::to_string(i)};
            take_by_hand(at.server(), mine.name());
            auto const none = co_await mine.try_acquire_for(5ms);
            BOOST_TEST(!none.has_value());
            at.server().ask("DEL", mine.name());
        }
        bool const gone = co_await eventually([&] {
            return channels(at.server(), name) == 0 && c.client.stats().subscriptions == 0;
        });
        BOOST_TEST(gone);
    });
}

BOOST_DATA_TEST_CASE(entries_of_waiters_and_renewals_are_left, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("entries");
        tasks all{at.context()};
        for (int task = 0; task != 20; ++task)
            all.start([&, task]() -> asio::awaitable<void> {
                for (int i = 0; i != 50; ++i) {
                    lock const mine{c.client, name + ":" + std::to_string((task + i * 7) % 100)};
                    auto [ec, held] = co_await mine.acquire(asio::cancel_after(2ms, tuple));
                    if (!ec && i % 3 != 0)
                        co_await held.release(tuple);
                }
            });
        co_await all.join(10s);
        bool const empty = co_await eventually([&] {
            auto const now = c.client.stats();
            return now.keys == 0 && now.waiters == 0 && now.holds == 0 && now.owed_releases == 0 &&
                now.subscriptions == 0;
        });
        BOOST_TEST(empty);
        auto const ran = at.server().script_calls();
        co_await pause_for(300ms);  // in which whatever is still renewed would be
        BOOST_TEST(at.server().script_calls() == ran);
    });
}

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
        bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
        BOOST_TEST(renewed);
        auto const second = co_await mine.try_acquire();
        BOOST_TEST(!second.has_value());
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST(!ec, ec.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Wake-ups that are missed. The poll cap is 30 s here: what a message should bring comes by one.

/// Has a connection that is known to the network as that of subscriptions.
inline asio::awaitable<void> listen_once(far_lab& at, running_client& c)  // NOLINT(*-reference-*)
{
    auto const name = unique_name("listen");
    take_by_hand(at.server(), name);
    auto const none = co_await lock{c.client, name}.try_acquire_for(50ms);
    BOOST_TEST(!none.has_value());
    // Until the server has been told so: one change is under way at a time.
    auto const channel = "redisson_lock__channel:{" + name + "}";
    bool const over = co_await eventually([&] {
        return c.client.stats().subscriptions == 0 &&
            at.server().ask("PUBSUB", "NUMSUB", channel).items.at(1).number == 0;
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
            bool const failed_once =
                co_await eventually([&] { return at.network.seen("SUBSCRIBE") > asked; });
            BOOST_TEST(failed_once);
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

BOOST_DATA_TEST_CASE(permits_given_back_before_the_subscription, each_server(), kind)
{
    far_lab at{kind};
    auto& a = at.connect(calm(at.settings()));
    auto& b = at.connect(calm(at.patient()));
    at.run([&]() -> asio::awaitable<void> {
        semaphore const of_a{a.client, unique_name("between")}, of_b{b.client, of_a.name()};
        co_await listen_once(at, b);
        co_await of_a.try_set_permits(1);
        co_await of_a.acquire();
        at.network.hold_back(proxy::way::to_server, proxy::link::push);
        auto const asked = at.network.seen("SUBSCRIBE");
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { co_await of_b.acquire(); });
        bool const failed_once =
            co_await eventually([&] { return at.network.seen("SUBSCRIBE") > asked; });
        BOOST_TEST(failed_once);
        co_await of_a.release();
        BOOST_TEST(b.client.stats().waiters == 1U);
        at.network.let_through();
        co_await all.join(3s);
        at.server().ask("DEL", of_a.name());
    });
}

BOOST_DATA_TEST_CASE(a_lost_message_costs_the_whole_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = calm(at.settings());
    settings.poll_cap = 200ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 3; ++i) {
            lock const mine{c.client, unique_name("no-message")};
            take_by_hand(at.server(), mine.name(), 30s);
            hold held;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
            bool const waits = co_await is_waited_for(at.server(), mine.name());
            BOOST_TEST(waits);
            at.server().ask("DEL", mine.name());  // a release whose message nobody gets
            stopwatch const watch;
            co_await all.join(5s);
            BOOST_TEST(watch.ms() < 4'000);
        }
    });
}

BOOST_DATA_TEST_CASE(a_second_to_get_in_among_four, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::int64_t longest = 0;
    std::vector<running_client*> clients;
    for (int i = 0; i != 4; ++i)
        clients.push_back(&at.connect(calm(at.settings())));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("four");
        section critical;
        tasks all{at.context()};
        for (auto* c : clients)
            all.start([&, c]() -> asio::awaitable<void> {
                for (int i = 0; i != 10; ++i) {
                    stopwatch const watch;
                    hold held = co_await lock{c->client, name}.acquire();
                    longest = std::max(longest, watch.ms());
                    co_await critical.stay(1ms);
                    co_await held.release();
                }
            });
        co_await all.join(10s);
        BOOST_TEST(critical.visits() == 40);
        BOOST_TEST(longest < 3'000);
    });
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
        bool const waits = co_await is_waited_for(at.server(), mine.name());
        BOOST_TEST(waits);
        leave.emit(asio::cancellation_type::terminal);
        bool const left = co_await eventually([&] { return c.client.stats().waiters == 1; });
        BOOST_TEST(left);
        auto const ran = at.server().script_calls();
        co_await pause_for(100ms);
        BOOST_TEST(at.server().script_calls() <= ran + 2);  // no busy loop either
        BOOST_TEST(release_by_hand(at.server(), mine.name()) == 1);
        co_await all.join(3s);
        BOOST_TEST(bool{held});
    });
}

BOOST_DATA_TEST_CASE(a_message_is_used_up_by_a_try_that_fails, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("used-up")};
        take_by_hand(at.server(), mine.name());
        hold held;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        bool const waits = co_await is_waited_for(at.server(), mine.name());
        BOOST_TEST(waits);
        // It asks a second time when it is subscribed.
        co_await pause_for(50ms);
        for (int i = 0; i != 5; ++i) {
            auto const ran = at.server().script_calls();
            // Somebody was quicker: free for no moment, and the message comes all the same.
            at.server().ask("PUBLISH", "redisson_lock__channel:{" + mine.name() + "}", "0");
            bool const tried =
                co_await eventually([&] { return at.server().script_calls() > ran; }, 3s);
            BOOST_TEST(tried);
            BOOST_TEST(!held);
        }
        BOOST_TEST(release_by_hand(at.server(), mine.name()) == 1);
        co_await all.join(3s);
        BOOST_TEST(bool{held});
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
