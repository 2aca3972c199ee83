// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"
#include <colock/with_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>

#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>

namespace colock::test {

namespace {

using waiting_timer = asio::basic_waitable_timer<clock, clock_wait_traits, asio::any_io_executor>;

asio::awaitable<error_code> pause(milliseconds time)
{
    waiting_timer timer{co_await asio::this_coro::executor};
    timer.expires_at(clock::now() + time);
    error_code ec;
    co_await timer.async_wait(asio::redirect_error(asio::deferred, ec));
    co_return ec;
}

/// Runs one section on a server that knows the scripts, and keeps what it threw.
struct sections : harness {
    sections() { redis.attach(*server); }

    template <class Work>
    void begin(Work work, acquire_options options = {})
    {
        asio::co_spawn(
            context,
            [this, work, options]() -> asio::awaitable<void> {
                co_await with_lock(mutex(), options, work);
            },
            asio::bind_cancellation_slot(
                signals.emplace_back().slot(),
                [this](std::exception_ptr e) {
                    ended = true;
                    thrown = e;
                }
            )
        );
        time.settle();
    }
    error_code error_thrown() const
    {
        BOOST_TEST_REQUIRE((ended && thrown));
        try {
            std::rethrow_exception(thrown);
        } catch (boost::system::system_error const& e) {
            return e.code();
        }
    }

    script_server redis;
    std::deque<asio::cancellation_signal> signals;
    bool ended = false;
    std::exception_ptr thrown;
};

BOOST_FIXTURE_TEST_SUITE(api_with_lock, sections)

// The work is done, and the caller must not believe that it isn't.
BOOST_AUTO_TEST_CASE(a_cancelled_caller_gets_the_result_of_work_that_ended)
{
    int got = 0;
    asio::cancellation_signal signal;
    bool has_thrown = false;
    auto const work = [](hold&) -> asio::awaitable<int> {
        co_await pause(5ms);  // which absorbs a cancellation
        co_return 42;
    };
    asio::co_spawn(
        context,
        with_lock(mutex(), work),
        asio::bind_cancellation_slot(
            signal.slot(),
            [&](std::exception_ptr e, int result) {
                has_thrown = e != nullptr;
                got = result;
            }
        )
    );
    time.settle();
    BOOST_TEST(redis.is_locked("k"));
    signal.emit(asio::cancellation_type::terminal);
    time.advance(1ms);
    BOOST_TEST(!has_thrown);
    BOOST_TEST(got == 42);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(work_that_takes_the_hold_over_is_guarded_no_more)
{
    hold kept;
    bool is_done = false;
    begin([&](hold& h) -> asio::awaitable<void> {
        kept = std::move(h);
        co_await pause(5ms);
        is_done = true;
    });
    time.advance(6ms);
    BOOST_TEST((ended && !thrown));
    BOOST_TEST(is_done);
    BOOST_TEST(bool{kept});
    BOOST_TEST(redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(work_need_not_take_the_hold)
{
    bool was_locked = false;
    begin([&]() -> asio::awaitable<void> {
        was_locked = redis.is_locked("k");
        co_return;
    });
    BOOST_TEST((ended && !thrown));
    BOOST_TEST(was_locked);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(gives_what_the_work_returns_and_releases)
{
    std::string got;
    auto const work = [this](hold& h) -> asio::awaitable<std::string> {
        BOOST_TEST(redis.is_locked("k"));
        BOOST_TEST(static_cast<bool>(h));
        co_await pause(5ms);
        co_return "seven";
    };
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> { got = co_await with_lock(mutex(), work); },
        [](std::exception_ptr e) { BOOST_TEST(!e); }
    );
    time.advance(6ms);
    BOOST_TEST(got == "seven");
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(what_the_work_returns_may_be_movable_alone)
{
    std::unique_ptr<int const> got;
    auto const work = [](hold&) -> asio::awaitable<std::unique_ptr<int const>> {
        co_return std::make_unique<int const>(7);
    };
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> { got = co_await with_lock(mutex(), work); },
        [](std::exception_ptr e) { BOOST_TEST(!e); }
    );
    time.settle();
    BOOST_TEST_REQUIRE(got);
    BOOST_TEST(*got == 7);
}

BOOST_AUTO_TEST_CASE(an_acquire_that_fails_is_thrown_and_nothing_is_run)
{
    server->expect(scripts::acquire).fail(error::server_refused);
    bool ran = false;
    begin([&](hold&) -> asio::awaitable<void> {
        ran = true;
        co_return;
    });
    BOOST_TEST((error_thrown() == error::server_refused));
    BOOST_TEST(!ran);
}

// What needs no lock goes on.
BOOST_AUTO_TEST_CASE(work_may_release_early)
{
    error_code seen = asio::error::fault;
    begin([&](hold& h) -> asio::awaitable<void> {
        co_await h.release();
        BOOST_TEST(!redis.is_locked("k"));
        seen = co_await pause(5ms);
    });
    time.advance(6ms);
    BOOST_TEST((ended && !thrown));
    BOOST_TEST(!seen);
}

BOOST_AUTO_TEST_CASE(what_the_work_throws_is_thrown_and_the_lock_released)
{
    begin([](hold&) -> asio::awaitable<void> {
        co_await pause(1ms);
        throw std::runtime_error{"no"};
    });
    time.advance(2ms);
    BOOST_TEST_REQUIRE(ended);
    BOOST_CHECK_THROW(std::rethrow_exception(thrown), std::runtime_error);
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_loss_cancels_the_work_and_is_thrown)
{
    error_code seen;
    begin(
        [&](hold& h) -> asio::awaitable<void> {
            co_await asio::this_coro::throw_if_cancelled(false);
            seen = co_await pause(10s);
            BOOST_TEST(!h);
        },
        {.lease = 200ms}
    );
    time.advance(200ms);
    BOOST_TEST((seen == asio::error::operation_aborted));
    BOOST_TEST((error_thrown() == error::lost));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(work_that_will_not_end_is_waited_for)
{
    begin(
        [](hold&) -> asio::awaitable<void> {
            co_await asio::this_coro::throw_if_cancelled(false);
            co_await pause(10s);
            waiting_timer stubborn{co_await asio::this_coro::executor};
            co_await asio::this_coro::reset_cancellation_state();
            stubborn.expires_at(clock::now() + 300ms);
            co_await stubborn.async_wait(asio::deferred);
        },
        {.lease = 200ms}
    );
    time.advance(400ms);
    BOOST_TEST(!ended);
    time.advance(100ms);
    BOOST_TEST((error_thrown() == error::lost));
}

BOOST_AUTO_TEST_CASE(a_loss_beats_what_the_work_throws_for_it)
{
    begin([](hold&) -> asio::awaitable<void> {
        if (co_await pause(10s))
            throw std::runtime_error{"cancelled"};
    });
    redis.clear();
    time.advance(1'001ms);
    BOOST_TEST((error_thrown() == error::lost));
}

BOOST_AUTO_TEST_CASE(work_that_sees_the_loss_for_itself_and_returns_has_lost_too)
{
    begin(
        [](hold& h) -> asio::awaitable<void> { co_await h.lost(asio::as_tuple(asio::deferred)); },
        {.lease = 200ms}
    );
    time.advance(200ms);
    BOOST_TEST((error_thrown() == error::lost));
}

BOOST_AUTO_TEST_CASE(work_that_sees_by_the_clock_that_it_has_slept_is_told_so_too)
{
    begin(
        [this](hold& h) -> asio::awaitable<void> {
            time.jump(300ms);
            BOOST_TEST(!h);
            co_return;
        },
        {.lease = 200ms}
    );
    BOOST_TEST((error_thrown() == error::lost));
}

BOOST_AUTO_TEST_CASE(work_that_sees_the_closing_for_itself_and_returns_is_told_so_too)
{
    begin([](hold& h) -> asio::awaitable<void> {
        co_await h.lost(asio::as_tuple(asio::deferred));
    });
    auto closed = client.close(settled());
    BOOST_TEST((error_thrown() == error::closed));
}

BOOST_AUTO_TEST_CASE(cancelling_ends_the_waiting)
{
    redis.occupy("k", 1h);
    begin([](hold&) -> asio::awaitable<void> {
        BOOST_ERROR("must not run");
        co_return;
    });
    signals.back().emit(asio::cancellation_type::terminal);
    time.settle();
    BOOST_TEST((error_thrown() == asio::error::operation_aborted));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(cancelling_ends_the_work_and_releases)
{
    begin([](hold&) -> asio::awaitable<void> {
        if (auto const ec = co_await pause(10s))
            throw boost::system::system_error{ec};
    });
    BOOST_TEST(redis.is_locked("k"));
    signals.back().emit(asio::cancellation_type::terminal);
    time.settle();
    BOOST_TEST((error_thrown() == asio::error::operation_aborted));
    BOOST_TEST(!redis.is_locked("k"));
}

// The caller decides which cancellations it takes, and all of these end the work.
BOOST_AUTO_TEST_CASE(each_cancellation_that_the_caller_takes_ends_the_work)
{
    using type = asio::cancellation_type;
    for (auto const how : {type::terminal, type::partial, type::total}) {
        BOOST_TEST_CONTEXT("type " << static_cast<unsigned>(how))
        {
            error_code seen;
            bool is_over = false;
            asio::cancellation_signal signal;
            asio::co_spawn(
                context,
                [&]() -> asio::awaitable<void> {
                    co_await asio::this_coro::reset_cancellation_state(
                        asio::enable_total_cancellation()
                    );
                    auto work = [&](hold&) -> asio::awaitable<void> { seen = co_await pause(10s); };
                    co_await with_lock(mutex(), work);
                },
                asio::bind_cancellation_slot(
                    signal.slot(), [&](std::exception_ptr) { is_over = true; }
                )
            );
            time.settle();
            BOOST_TEST(redis.is_locked("k"));
            signal.emit(how);
            time.settle();
            BOOST_TEST((seen == asio::error::operation_aborted));
            BOOST_TEST(is_over);
            BOOST_TEST(!redis.is_locked("k"));
            time.advance(11s);  // ends the work that was not cancelled
        }
    }
}

BOOST_AUTO_TEST_CASE(work_is_cancelled_by_what_its_caller_takes_alone)
{
    bool is_over = false;
    asio::cancellation_signal signal;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto work = [&](hold&) -> asio::awaitable<void> { co_await pause(10s); };
            co_await with_lock(mutex(), work);
        },
        asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { is_over = true; })
    );
    time.settle();
    signal.emit(asio::cancellation_type::total);
    time.settle();
    BOOST_TEST(!is_over);
    time.advance(11s);
    BOOST_TEST(is_over);
}

BOOST_AUTO_TEST_CASE(a_closed_client_ends_the_work)
{
    begin([](hold&) -> asio::awaitable<void> { co_await pause(10s); });
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((error_thrown() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_release_that_fails_is_not_thrown)
{
    begin([this](hold&) -> asio::awaitable<void> {
        server->expect(scripts::release).fail(error::server_refused);
        co_return;
    });
    BOOST_TEST((ended && !thrown));
}

// The work is done, but another owner may have been inside as well.
BOOST_AUTO_TEST_CASE(a_loss_that_only_the_release_finds_is_thrown)
{
    begin([this](hold&) -> asio::awaitable<void> {
        redis.clear();
        co_return;
    });
    BOOST_TEST((error_thrown() == error::lost));
    BOOST_TEST(events->count("found_lost") == 1);
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(log[0].find("another owner may have had it") != std::string::npos, log[0]);
}

BOOST_AUTO_TEST_CASE(what_the_work_throws_comes_before_that)
{
    begin([this](hold&) -> asio::awaitable<void> {
        redis.clear();
        throw boost::system::system_error{error::wrong_type};
        co_return;
    });
    BOOST_TEST((error_thrown() == error::wrong_type));
}

BOOST_AUTO_TEST_CASE(one_section_at_a_time)
{
    int inside_now = 0, done = 0;
    auto const work = [&](hold&) -> asio::awaitable<void> {
        BOOST_TEST(++inside_now == 1);
        co_await pause(3ms);
        --inside_now;
        ++done;
    };
    for (int i = 0; i != 10; ++i)
        begin(work);
    time.advance(40ms);
    BOOST_TEST(done == 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
