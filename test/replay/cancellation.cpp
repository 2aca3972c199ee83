// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Cancelled or out of time, but still locked; and limits that nobody has set.
#include "replay/replay.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <stdexcept>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(cancellation)

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
            BOOST_TEST(co_await thrown_by([] {
                           return pause_for(1min);
                       }) == asio::error::operation_aborted);
            co_await held.release();  // throws: this coroutine may await nothing any more
            has_released = true;
        };
        asio::co_spawn(
            at.context(),
            request,
            asio::bind_cancellation_slot(hang_up.slot(), [&](std::exception_ptr) { ended = true; })
        );
        BOOST_TEST(co_await eventually([&] { return c.client.stats().holds == 1; }));
        hang_up.emit(asio::cancellation_type::terminal);
        BOOST_TEST(co_await eventually([&] { return !exists(at.server(), mine.name()); }));
        BOOST_TEST(ended);
        BOOST_TEST(!has_released);  // it went with the frame
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
        BOOST_TEST(is_refused(co_await mine.try_acquire_for(20ms)));
        co_await held.release();
        co_await c.client.close();
    });
    at.context().restart();
    at.context().run_for(5s);
    BOOST_TEST(at.context().stopped());  // nothing is left to wait for
    at.check_no_key_is_left();
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
