// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Work under a lock: released on every way out.
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <stdexcept>

namespace colock::test {

/// Whether `what` throws, and the code of that; none for another exception.
template <class Work>
asio::awaitable<std::optional<error_code>> thrown_by(Work what)
{
    try {
        co_await what();
    } catch (boost::system::system_error const& e) {
        co_return e.code();
    } catch (std::exception const&) {
        co_return error_code{};
    }
    co_return std::nullopt;
}

/// Stays until it is cancelled, and notes that.
inline asio::awaitable<void> stay(bool& was_cancelled)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, 10s};
    auto const [ec] = co_await timer.async_wait(tuple);
    was_cancelled = ec == asio::error::operation_aborted;
}

/// Cancels `what` as soon as `is_so`; gives what it threw.
template <class Work>
asio::awaitable<std::exception_ptr> cancelled_when(std::function<bool()> is_so, Work what)
{
    asio::cancellation_signal cancel;
    std::optional<std::exception_ptr> ended;
    auto end = [&](std::exception_ptr thrown) { ended = thrown; };
    auto const executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, std::move(what), asio::bind_cancellation_slot(cancel.slot(), end));
    bool const ready = co_await eventually(std::move(is_so));
    BOOST_TEST(ready);
    cancel.emit(asio::cancellation_type::terminal);
    bool const over = co_await eventually([&] { return ended.has_value(); });
    BOOST_REQUIRE(over);
    co_return *ended;
}

BOOST_AUTO_TEST_SUITE(with_a_lock)

BOOST_DATA_TEST_CASE(gives_what_the_work_gives, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("value")};
        auto const text = co_await with_lock(mine, [&](hold& held) -> asio::awaitable<std::string> {
            BOOST_TEST(bool{held});
            BOOST_TEST(exists(server, mine.name()));
            co_return "done";
        });
        BOOST_TEST(text == "done");
        BOOST_TEST(!exists(server, mine.name()));
        bool ran = false;
        co_await with_lock(mine, {.lease = 5s}, [&](hold& held) -> asio::awaitable<void> {
            BOOST_TEST(held.valid_for(4s));
            ran = true;
            co_return;
        });
        BOOST_TEST(ran);
        BOOST_TEST(!exists(server, mine.name()));
        // What can only be moved, and is not made by default.
        auto const number =
            co_await with_lock(mine, [](hold&) -> asio::awaitable<std::unique_ptr<int const>> {
                co_return std::make_unique<int const>(7);
            });
        BOOST_TEST(*number == 7);
    });
}

BOOST_DATA_TEST_CASE(throws_what_the_work_throws, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("throws")};
        std::string text;
        try {
            co_await with_lock(mine, [](hold&) -> asio::awaitable<int> {
                throw std::logic_error{"in the work"};
                co_return 1;
            });
        } catch (std::logic_error const& e) {
            text = e.what();
        }
        BOOST_TEST(text == "in the work");
        // The hold goes with the frame, in the background.
        bool const freed =
            co_await eventually([&] { return !exists(server, mine.name()); }, within(200ms));
        BOOST_TEST(freed);
        auto const refused = co_await thrown_by([&]() -> asio::awaitable<void> {
            return with_lock(lock{c.client, ""}, [](hold&) -> asio::awaitable<void> { co_return; });
        });
        BOOST_TEST((refused == error::invalid_argument));
    });
}

BOOST_DATA_TEST_CASE(a_loss_cancels_the_work, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("loss")};
        for (bool const by_time : {true, false}) {
            bool was_cancelled = false;
            acquire_options options;
            if (by_time)
                options.lease = 200ms;
            stopwatch const watch;
            auto const thrown = co_await thrown_by([&]() -> asio::awaitable<void> {
                return with_lock(mine, options, [&](hold& held) -> asio::awaitable<void> {
                    if (!by_time)
                        server.ask("DEL", mine.name());
                    co_await stay(was_cancelled);
                    BOOST_TEST(!held);
                });
            });
            BOOST_TEST((thrown == error::lost));
            BOOST_TEST(was_cancelled);
            BOOST_TEST(watch.ms() < within(300));
            bool const freed =
                co_await eventually([&] { return !exists(server, mine.name()); }, within(300ms));
            BOOST_TEST(freed);
        }
        // Work that does not listen runs to its end, and what it gives is dropped.
        auto const thrown = co_await thrown_by([&]() -> asio::awaitable<void> {
            auto const value =
                co_await with_lock(mine, {.lease = 50ms}, [&](hold& held) -> asio::awaitable<int> {
                    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation()
                    );
                    co_await held.lost(tuple);
                    asio::steady_timer longer{at.context(), 20ms};
                    co_await longer.async_wait(tuple);
                    co_return 1;
                });
            BOOST_TEST(value == 0, "a value in spite of the loss");
        });
        BOOST_TEST((thrown == error::lost));
    });
}

BOOST_DATA_TEST_CASE(cancelled_from_outside, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{a.client, unique_name("outside")};
        // In the work.
        bool was_cancelled = false;
        bool begun = false;
        auto in_work = [&]() -> asio::awaitable<void> {
            co_await with_lock(mine, [&](hold&) -> asio::awaitable<void> {
                begun = true;
                co_await stay(was_cancelled);
            });
        };
        co_await cancelled_when([&] { return begun; }, in_work);
        BOOST_TEST(was_cancelled);
        bool const freed =
            co_await eventually([&] { return !exists(server, mine.name()); }, within(300ms));
        BOOST_TEST(freed);
        // In the acquire.
        hold const other = co_await lock{b.client, mine.name()}.acquire();
        bool ran = false;
        auto in_acquire = [&]() -> asio::awaitable<void> {
            co_await with_lock(mine, [&](hold&) -> asio::awaitable<void> {
                ran = true;
                co_return;
            });
        };
        auto const aborted =
            co_await cancelled_when([&] { return a.client.stats().waiters == 1; }, in_acquire);
        BOOST_TEST(bool{aborted});
        BOOST_TEST(!ran);
        BOOST_TEST(a.client.stats().waiters == 0U);
    });
}

BOOST_AUTO_TEST_CASE(closed_under_the_work)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("close")};
        bool was_cancelled = false;
        tasks all{at.context()};
        std::optional<error_code> thrown;
        all.start([&]() -> asio::awaitable<void> {
            thrown = co_await thrown_by([&]() -> asio::awaitable<void> {
                return with_lock(mine, [&](hold&) -> asio::awaitable<void> {
                    co_await stay(was_cancelled);
                });
            });
        });
        co_await eventually([&] { return c.client.stats().holds == 1; });
        co_await c.client.close();
        BOOST_TEST(!exists(server, mine.name()));
        // The lock is gone from under the work: it may not go on as if nothing had happened.
        co_await all.join(1s);
        BOOST_TEST(was_cancelled);
        BOOST_TEST((thrown == error::closed));
    });
}

BOOST_AUTO_TEST_CASE(released_early_by_the_work)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("early")};
        auto const value = co_await with_lock(mine, [&](hold& held) -> asio::awaitable<int> {
            co_await held.release();
            BOOST_TEST(!exists(server, mine.name()));
            asio::steady_timer rest{at.context(), 50ms};  // what needs no lock goes on
            co_await rest.async_wait(asio::deferred);
            co_return 7;
        });
        BOOST_TEST(value == 7);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
