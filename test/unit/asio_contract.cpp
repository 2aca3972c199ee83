// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What src/ takes for granted of Asio, but its documentation doesn't promise in so many words. If a
// release changes one of these, it shows here first.
#include "base/clock.hpp"
#include "base/timer.hpp"
#include "support/virtual_time.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock::test {

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;

/// Says that it was destroyed.
struct witness {
    explicit witness(int& count) : gone{&count} {}
    witness(witness&& other) noexcept : gone{std::exchange(other.gone, nullptr)} {}
    ~witness()
    {
        if (gone)
            ++*gone;
    }
    int* gone;
};

/// Keeps a handler until the context goes.
struct registry final : asio::execution_context::service {
    using key_type = registry;
    static inline asio::execution_context::id id;
    explicit registry(asio::execution_context& c) : service{c} {}
    void shutdown() override { held = nullptr; }
    asio::any_completion_handler<void()> held;
};

BOOST_AUTO_TEST_SUITE(asio_contract)

// F2: watchdog::watch relies on that watchdog::run looks at the schedule within the call.
BOOST_AUTO_TEST_CASE(a_coroutine_begins_inline_where_its_executor_runs)
{
    asio::io_context context;
    auto const strand = asio::make_strand(context);
    std::string order;
    asio::post(strand, [&] {
        order += '1';
        asio::co_spawn(
            strand,
            [&]() -> asio::awaitable<void, asio::strand<asio::io_context::executor_type>> {
                order += '2';
                co_return;
            },
            [&](std::exception_ptr) { order += '4'; }
        );
        order += '3';
    });
    context.run();
    BOOST_TEST(order == "1234");
}

// F4: a completion that is dispatched runs on the stack of whoever completes it. Hence the post in
// completion::operator().
BOOST_AUTO_TEST_CASE(dispatch_within_run_is_inline_and_post_is_not)
{
    asio::io_context context;
    bool dispatched = false, posted = false;
    asio::post(context, [&] {
        asio::dispatch(context, [&] { dispatched = true; });
        asio::post(context, [&] { posted = true; });
        BOOST_TEST(dispatched);
        BOOST_TEST(!posted);
    });
    context.run();
    BOOST_TEST(posted);
}

BOOST_AUTO_TEST_CASE(posting_a_bound_handler_ends_on_its_own_executor)
{
    asio::io_context ours, theirs;
    auto const strand = asio::make_strand(theirs);
    bool called = false;
    asio::any_completion_handler<void(error_code, int)> handler{
        asio::bind_executor(strand, [&](error_code, int value) {
            BOOST_TEST(strand.running_in_this_thread());
            BOOST_TEST(value == 7);
            called = true;
        })};
    asio::post(
        asio::any_io_executor{ours.get_executor()},
        asio::append(std::move(handler), error_code{}, 7)
    );
    ours.run();
    BOOST_TEST(!called);
    theirs.run();
    BOOST_TEST(called);
}

// F5
BOOST_AUTO_TEST_CASE(an_erased_handler_forwards_executor_and_slot)
{
    asio::io_context context;
    auto const strand = asio::make_strand(context);
    asio::cancellation_signal signal;
    asio::any_completion_handler<void()> handler{
        asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(strand, [] {}))};
    asio::any_completion_executor const none{context.get_executor()};
    BOOST_TEST(
        (asio::get_associated_executor(handler, none) == asio::any_completion_executor{strand})
    );
    int types = 0;
    auto slot = asio::get_associated_cancellation_slot(handler);
    BOOST_TEST_REQUIRE(slot.is_connected());
    slot.assign([&](asio::cancellation_type type) {
        types += type == asio::cancellation_type::total ? 1 : 100;
    });
    signal.emit(asio::cancellation_type::total);  // open to all types
    BOOST_TEST(types == 1);
    asio::any_completion_handler<void()> plain{[] {}};
    BOOST_TEST(!asio::get_associated_cancellation_slot(plain).is_connected());
    BOOST_TEST((asio::get_associated_executor(plain, none) == none));
}

BOOST_AUTO_TEST_CASE(an_erased_executor_keeps_its_context_at_work)
{
    asio::io_context context;
    asio::any_completion_executor work = asio::prefer(
        asio::any_completion_executor{context.get_executor()},
        asio::execution::outstanding_work.tracked
    );
    context.poll();
    BOOST_TEST(!context.stopped());
    work = nullptr;
    context.poll();
    BOOST_TEST(context.stopped());
}

// F7, F9: what with_lock's work and every coroutine of a user sees.
BOOST_AUTO_TEST_CASE(a_coroutine_is_cancelled_by_terminal_alone_and_then_each_await_throws)
{
    asio::io_context context;
    asio::cancellation_signal signal;
    int thrown = 0, resumed = 0;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
            for (int i = 0; i != 3; ++i)
                try {
                    co_await timer.async_wait(asio::deferred);
                    ++resumed;
                } catch (boost::system::system_error const& e) {
                    BOOST_TEST((e.code() == asio::error::operation_aborted));
                    ++thrown;
                }
        },
        asio::bind_cancellation_slot(signal.slot(), asio::detached)
    );
    context.poll();
    signal.emit(asio::cancellation_type::total);
    signal.emit(asio::cancellation_type::partial);
    context.poll();
    BOOST_TEST(thrown == 0);
    signal.emit(asio::cancellation_type::terminal);
    context.poll();
    BOOST_TEST(thrown == 3);
    BOOST_TEST(resumed == 0);
}

// F8
BOOST_AUTO_TEST_CASE(a_cancellation_is_dispatched_to_a_bound_coroutine)
{
    asio::io_context context;
    auto const strand = asio::make_strand(context);
    asio::cancellation_signal signal;
    bool ended = false;
    asio::co_spawn(
        strand,
        []() -> asio::awaitable<void, asio::strand<asio::io_context::executor_type>> {
            asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
            error_code ec;
            co_await timer.async_wait(asio::redirect_error(asio::deferred, ec));
        },
        asio::bind_cancellation_slot(
            signal.slot(),
            asio::bind_executor(
                strand,
                [&](std::exception_ptr) {
                    BOOST_TEST(strand.running_in_this_thread());
                    ended = true;
                }
            )
        )
    );
    context.poll();
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(!ended);  // not on this stack
    context.poll();
    BOOST_TEST(ended);
}

// F12: hence a hold that a loser of || got must release itself.
BOOST_AUTO_TEST_CASE(a_loser_that_succeeds_has_its_value_dropped)
{
    using namespace asio::experimental::awaitable_operators;
    asio::io_context context;
    int dropped = 0;
    std::size_t winner = 9;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto const fast = []() -> asio::awaitable<int> { co_return 1; };
            auto const stubborn = [&]() -> asio::awaitable<std::optional<witness>> {
                co_await asio::this_coro::throw_if_cancelled(false);
                asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
                error_code ec;
                co_await timer.async_wait(asio::redirect_error(asio::deferred, ec));
                co_return std::optional<witness>{std::in_place, dropped};
            };
            auto const both = co_await (fast() || stubborn());
            winner = both.index();
            BOOST_TEST(dropped == 1);
        },
        asio::detached
    );
    context.run();
    BOOST_TEST(winner == 0U);
}

// F17: hence core's timer handler looks at the clock, and watchdog::run looks again.
BOOST_AUTO_TEST_CASE(a_wait_that_is_due_succeeds_although_its_timer_is_moved)
{
    asio::io_context context;
    virtual_time time{context};
    asio::strand<asio::any_io_executor> const strand{asio::any_io_executor{context.get_executor()}};
    timer_type timer{strand};
    std::string seen;
    auto const wait = [&] { timer.async_wait([&](error_code ec) { seen += ec ? 'a' : 's'; }); };
    timer.expires_at(time.now() + 5ms);
    wait();
    timer.expires_at(time.now() + 7ms);  // ends the pending wait
    time.settle();
    BOOST_TEST(seen == "a");
    wait();
    time.jump(7ms);
    asio::post(strand, [&] { timer.expires_at(time.now() + 1s); });
    timer.cancel();
    time.settle();
    BOOST_TEST(seen == "aa");
    timer.cancel();  // before the wait begins: lost
    timer.expires_at(time.now());
    wait();
    time.settle();
    BOOST_TEST(seen == "aas");
}

// The clock of the tests: timers fire when it says so, at once, and not before.
BOOST_AUTO_TEST_CASE(timers_follow_the_virtual_clock)
{
    asio::io_context context;
    virtual_time time{context};
    asio::strand<asio::any_io_executor> const strand{asio::any_io_executor{context.get_executor()}};
    timer_type far{strand}, near{strand};
    int fired = 0;
    far.expires_at(time.now() + 1h);
    far.async_wait([&](error_code ec) { fired += ec ? 0 : 10; });
    near.expires_at(time.now() + 3ms);
    near.async_wait([&](error_code ec) { fired += ec ? 0 : 1; });
    time.advance(2ms);
    BOOST_TEST(fired == 0);
    time.advance(1ms);
    BOOST_TEST(fired == 1);
    time.jump(1h);
    time.settle();
    BOOST_TEST(fired == 11);
}

// F18: what is left when the context goes.
BOOST_AUTO_TEST_CASE(a_suspended_coroutine_is_destroyed_with_its_context)
{
    int gone = 0;
    {
        asio::io_context context;
        asio::co_spawn(
            context,
            [](witness seen) -> asio::awaitable<void> {
                asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
                co_await timer.async_wait(asio::deferred);
                static_cast<void>(seen);
            }(witness{gone}),
            asio::detached
        );
        context.poll();
        BOOST_TEST(gone == 0);
    }
    BOOST_TEST(gone == 1);
}

BOOST_AUTO_TEST_CASE(what_a_handler_holds_is_destroyed_while_services_are_whole)
{
    // client_registry::shutdown destroys handlers of users; their coroutines' frames are posted to
    // the context, which destroys them before its services.
    int gone = 0;
    {
        asio::io_context context;
        auto const strand = asio::make_strand(context);
        auto& keeper = asio::use_service<registry>(context);
        asio::co_spawn(
            context,
            [](witness seen, registry& r, auto s) -> asio::awaitable<void> {
                asio::steady_timer timer{s};  // destroyed with the frame
                co_await asio::async_initiate<asio::deferred_t const, void()>(
                    [&r](auto handler) { r.held = std::move(handler); }, asio::deferred
                );
                static_cast<void>(seen);
            }(witness{gone}, keeper, strand),
            asio::detached
        );
        context.poll();
    }
    BOOST_TEST(gone == 1);
}

BOOST_AUTO_TEST_CASE(a_strand_drops_what_comes_after_the_end)
{
    using strand = asio::strand<asio::io_context::executor_type>;
    struct poster {
        poster(strand to, int& g) noexcept : on{std::move(to)}, count{&g} {}
        poster(poster&& other) noexcept : on{other.on}, count{std::exchange(other.count, nullptr)}
        {}
        ~poster()
        {
            if (count)  // as a client or a hold in a frame does
                asio::post(on, [w = witness{*count}] { BOOST_ERROR("must not run"); });
        }
        strand on;
        int* count;
    };
    int gone = 0;
    {
        asio::io_context context;
        asio::post(context, [p = poster{asio::make_strand(context), gone}] {});
    }
    BOOST_TEST(gone == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
