// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Cancelled or out of time, but still locked; and limits that nobody has set.
#include "replay/replay.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <stdexcept>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(cancellation)

BOOST_DATA_TEST_CASE(a_cancelled_release_leaves_the_key, each_server(), kind)
{
    far_lab at{kind};
    auto& c = at.connect(with_lease(at.patient(), 30s));
    at.run([&]() -> asio::awaitable<void> {
        for (auto const way : {proxy::way::to_server, proxy::way::to_client}) {
            lock const mine{c.client, unique_name("release")};
            hold held = co_await mine.acquire();
            at.network.hold_back(way);
            auto const [ec] = co_await held.release(asio::cancel_after(20ms, tuple));
            BOOST_TEST(ec == asio::error::operation_aborted);
            at.network.let_through();
            bool const freed =
                co_await eventually([&] { return !exists(at.server(), mine.name()); });
            BOOST_TEST(freed);
            bool const settled =
                co_await eventually([&] { return c.client.stats().owed_releases == 0; });
            BOOST_TEST(settled);
        }
    });
}

BOOST_DATA_TEST_CASE(a_release_on_a_cancelled_request_holds_until_the_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(with_lease(at.settings(), 30s));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("request")};
        asio::cancellation_signal hang_up;
        bool has_released = false, ended = false;
        auto request = [&]() -> asio::awaitable<void> {
            hold held = co_await mine.acquire();
            auto const interrupted = co_await thrown_by([] { return pause_for(1min); });
            BOOST_TEST(interrupted == asio::error::operation_aborted);
            co_await held.release();  // throws: this coroutine may await nothing any more
            has_released = true;
        };
        asio::co_spawn(
            at.context(),
            request,
            asio::bind_cancellation_slot(hang_up.slot(), [&](std::exception_ptr) { ended = true; })
        );
        bool const holds = co_await eventually([&] { return c.client.stats().holds == 1; });
        BOOST_TEST(holds);
        hang_up.emit(asio::cancellation_type::terminal);
        bool const freed = co_await eventually([&] { return !exists(at.server(), mine.name()); });
        BOOST_TEST(freed);
        BOOST_TEST(ended);
        BOOST_TEST(!has_released);  // it went with the frame
    });
}

BOOST_DATA_TEST_CASE(an_answer_that_comes_too_late_leaves_the_lock_taken, each_server(), kind)
{
    far_lab at{kind};
    auto settings = at.patient();
    settings.lease = 30s;
    auto& c = at.connect(settings);
    auto& other = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("response")};
        co_await mine.is_locked();  // its link is up
        at.network.hold_back(proxy::way::to_client);
        auto const none = co_await mine.try_acquire_for(100ms);
        BOOST_TEST(!none.has_value());
        BOOST_TEST(exists(at.server(), mine.name()));  // it has been taken
        at.network.let_through();
        bool const undone = co_await eventually([&] { return !exists(at.server(), mine.name()); });
        BOOST_TEST(undone);
        auto const next = co_await lock{other.client, mine.name()}.try_acquire();
        BOOST_TEST(next.has_value());
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_try_that_wins_is_kept, each_server(), kind)
{
    far_lab at{kind};
    auto& c = at.connect(with_lease(at.patient(), 30s));
    at.run([&]() -> asio::awaitable<void> {
        for (auto const way : {proxy::way::to_server, proxy::way::to_client}) {
            lock const mine{c.client, unique_name("wins")};
            co_await mine.is_locked();
            at.network.hold_back(way);
            auto const sent = at.network.seen(mine.name());
            auto const [ec, none] = co_await mine.acquire(asio::cancel_after(20ms, tuple));
            BOOST_TEST(ec == asio::error::operation_aborted);
            bool const was_sent =
                co_await eventually([&] { return at.network.seen(mine.name()) > sent; });
            BOOST_TEST(was_sent);
            at.network.let_through();
            bool const settled = co_await eventually([&] {
                return c.client.stats().keys == 0 && !exists(at.server(), mine.name());
            });
            BOOST_TEST(settled);
        }
    });
}

BOOST_DATA_TEST_CASE(the_users_error_is_masked_by_that_of_the_release, each_server(), kind)
{
    far_lab at{kind};
    auto settings = with_lease(at.by_network(), brief_lease);
    settings.timeout = 20s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("masked")};
        std::string text;
        stopwatch const watch;
        try {
            co_await with_lock(mine, [&](hold&) -> asio::awaitable<void> {
                at.network.hold_back_all(proxy::way::both);
                co_await asio::post(at.context(), asio::deferred);
                throw std::logic_error{"in the work"};
            });
        } catch (std::exception const& e) {
            text = e.what();
        }
        BOOST_TEST(text == "in the work");
        BOOST_TEST(watch.ms() < 2'000);
        at.network.let_through();
    });
}

BOOST_DATA_TEST_CASE(timers_outlive_the_block, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.lease = 10min;
    settings.linger = 10min;
    auto& c = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("timers")};
        hold held = co_await mine.acquire();
        auto const waited = co_await mine.try_acquire_for(20ms);
        BOOST_TEST(!waited.has_value());
        co_await held.release();
        co_await c.client.close();
    });
    at.context().restart();
    at.context().run_for(5s);
    BOOST_TEST(at.context().stopped());  // nothing is left to wait for
    at.check_no_key_is_left();
}

BOOST_DATA_TEST_CASE(ends_that_look_the_same, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("ends")};
        take_by_hand(at.server(), mine.name(), 30s);
        auto const [busy, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST((!busy && !none));
        auto const [late, nothing] = co_await mine.try_acquire_for(30ms, tuple);
        BOOST_TEST((!late && !nothing));
        auto const [stopped, empty] = co_await mine.acquire(asio::cancel_after(30ms, tuple));
        BOOST_TEST(stopped == asio::error::operation_aborted);
        at.server().ask("DEL", mine.name());
        at.server().ask("SET", mine.name(), "1");
        auto const [wrong, no_lock] = co_await mine.acquire(tuple);
        BOOST_TEST(wrong == error::wrong_type);
        at.server().ask("DEL", mine.name());
        co_await c.client.close();
        auto const [closed, no_hold] = co_await mine.acquire(tuple);
        BOOST_TEST(closed == error::closed);
    });
}

BOOST_DATA_TEST_CASE(a_hidden_limit_as_long_as_the_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.lease = 100ms;
    settings.timeout = 100ms;
    settings.poll_cap = 50ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("limit")};
        take_by_hand(at.server(), mine.name(), 30s);
        bool got = false;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            hold const held = co_await mine.acquire();
            got = true;
        });
        auto const none = co_await mine.try_acquire_for(600ms);  // six leases
        BOOST_TEST(!none.has_value());
        BOOST_TEST(c.client.stats().waiters == 1U);
        release_by_hand(at.server(), mine.name());
        co_await all.join(5s);
        BOOST_TEST(got);
    });
}

BOOST_DATA_TEST_CASE(a_hidden_limit_of_each_try, each_server(), kind)
{
    far_lab at{kind};
    auto settings = at.by_network();
    settings.lease = 30s;
    auto const seen = std::make_shared<counts>();
    settings.observer = seen;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("slow")};
        co_await mine.is_locked();
        at.network.delay(225ms);
        hold held = co_await mine.acquire();
        BOOST_TEST(bool{held});
        BOOST_TEST(seen->attempts == 1U);
        at.network.delay(0ms);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
