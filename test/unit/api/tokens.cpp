// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Every operation is an Asio operation: with any token, on the handler's executor, never inline
// and never on the client's strand.
#include "support/cancel_after.hpp"
#include "support/coroutine_of.hpp"
#include "unit/harness.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

namespace colock::test {

namespace {

/// A client whose server knows the scripts.
struct token_rig : harness {
    token_rig() { redis.attach(*server); }

    /// Runs a coroutine on the client's context until nothing is ready; false if it hasn't ended.
    template <class F>
    bool spawn(F f)
    {
        auto ended = std::make_shared<bool>(false);
        asio::co_spawn(context, coroutine_of(std::move(f)), [ended](std::exception_ptr thrown) {
            *ended = true;
            if (thrown)
                std::rethrow_exception(thrown);
        });
        time.settle();
        return *ended;
    }
    bool is_locked() { return redis.is_locked("k"); }

    script_server redis;
};

BOOST_FIXTURE_TEST_SUITE(api_tokens, token_rig)

BOOST_AUTO_TEST_CASE(callbacks)
{
    int calls = 0;
    auto const k = mutex();
    k.acquire([&](error_code ec, hold h) {
        BOOST_TEST(!ec);
        BOOST_TEST(static_cast<bool>(h));
        ++calls;
    });
    k.try_acquire([&](error_code ec, std::optional<hold> h) {
        BOOST_TEST(!ec);
        calls += h ? 0 : 10;
    });
    k.is_locked([&](error_code ec, bool) { calls += ec ? 0 : 100; });
    k.hold_count(owner{}, [&](error_code ec, std::int64_t n) { calls += ec || n ? 0 : 1'000; });
    k.remaining_lease([&](error_code ec, std::optional<milliseconds>) { calls += ec ? 0 : 10'000; }
    );
    BOOST_TEST(calls == 0);
    time.settle();
    BOOST_TEST(calls == 11'111);
    BOOST_TEST(!is_locked());  // the hold ended with its handler
}

BOOST_AUTO_TEST_CASE(the_default_is_deferred_and_can_be_awaited)
{
    bool ended = false;
    BOOST_TEST(!spawn([&]() -> asio::awaitable<void> {
        lock const k = mutex();
        hold h = co_await k.acquire();
        BOOST_TEST(is_locked());
        BOOST_TEST(co_await k.is_locked());
        BOOST_TEST((co_await k.hold_count(h.as())) == 1);
        BOOST_TEST(!(co_await k.try_acquire()).has_value());
        BOOST_TEST(!(co_await k.try_acquire_for(5ms, {.lease = 1s})).has_value());
        co_await h.extend(5s);
        co_await h.release();
        BOOST_TEST(!(co_await k.force_release()));
        ended = true;
    }));
    time.advance(5ms);
    BOOST_TEST(ended);
}

BOOST_AUTO_TEST_CASE(all_forms_of_the_calls_with_use_awaitable)
{
    BOOST_TEST(spawn([this]() -> asio::awaitable<void> {
        lock const k = mutex();
        auto const token = asio::use_awaitable;
        hold h = co_await k.acquire(token);
        co_await h.release(token);
        h = co_await k.acquire({.lease = 1s}, token);
        co_await h.extend(2s, token);
        h = hold{};
        auto o = co_await k.try_acquire(token);
        o.reset();
        o = co_await k.try_acquire({.lease = 1s}, token);
        o.reset();
        o = co_await k.try_acquire_for(1s, token);
        o.reset();
        o = co_await k.try_acquire_for(1s, {.lease = 1s}, token);
        BOOST_TEST(o.has_value());
        o.reset();
        BOOST_TEST(!co_await k.is_locked(token));
        BOOST_TEST(!co_await k.force_release(token));
        BOOST_TEST(!(co_await k.remaining_lease(token)).has_value());
        BOOST_TEST((co_await k.hold_count(owner{}, token)) == 0);
    }));
}

BOOST_AUTO_TEST_CASE(errors_are_thrown_or_given_as_the_token_says)
{
    redis.occupy("k", 1h);
    BOOST_TEST(spawn([this]() -> asio::awaitable<void> {
        lock const bad = mutex("");
        bool thrown = false;
        try {
            auto const held = co_await bad.acquire();
        } catch (boost::system::system_error const& e) {
            thrown = e.code() == error::invalid_argument;
        }
        BOOST_TEST(thrown);
        auto const [ec, h] = co_await bad.acquire(asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == error::invalid_argument));
        BOOST_TEST(!h);
        auto named = asio::as_tuple(asio::deferred);
        auto const [with_name, nothing] = co_await bad.try_acquire_for(1s, named);
        BOOST_TEST((with_name == error::invalid_argument));
        BOOST_TEST(!nothing);
        error_code given;
        auto const none = co_await bad.try_acquire(asio::redirect_error(asio::deferred, given));
        BOOST_TEST((given == error::invalid_argument));
    }));
}

BOOST_AUTO_TEST_CASE(use_future)
{
    auto got = mutex().acquire(asio::use_future);
    time.settle();
    hold h = got.get();
    BOOST_TEST(static_cast<bool>(h));
    auto done = h.release(asio::use_future);
    time.settle();
    done.get();
    auto bad = mutex("").acquire(asio::use_future);
    time.settle();
    BOOST_CHECK_THROW(static_cast<void>(bad.get()), boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(detached)
{
    mutex().acquire(asio::detached);
    time.settle();
    BOOST_TEST(!is_locked());
    BOOST_TEST(server->count(scripts::release) == 1U);
    hold h = std::move(acquire().value());
    h.release(asio::detached);
    time.settle();
    BOOST_TEST(!is_locked());
}

BOOST_AUTO_TEST_CASE(a_deferred_operation_starts_when_it_is_called)
{
    auto later = std::make_unique<lock>(mutex())->acquire(asio::deferred);  // the lock is gone
    time.settle();
    BOOST_TEST(server->written().empty());
    bool called = false;
    std::move(later)([&](error_code ec, hold h) { called = !ec && h; });
    time.settle();
    BOOST_TEST(called);

    hold h = std::move(acquire().value());
    auto release = h.release(asio::deferred);
    auto moved = std::move(h);
    time.settle();
    BOOST_TEST(is_locked());
    std::move(release)(asio::detached);
    time.settle();
    BOOST_TEST(!is_locked());
}

BOOST_AUTO_TEST_CASE(cancel_after_ends_an_operation)
{
    redis.occupy("k", 1h);
    clock::fake({});  // its timer is Asio's own: real time
    bool aborted = false;
    mutex().acquire(asio::cancel_after(1ms, [&](error_code ec, hold) {
        aborted = ec == asio::error::operation_aborted;
    }));
    while (!aborted)
        context.run_one();
    bool bare = false;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto const [ec, h] = co_await mutex().acquire(asio::as_tuple(asio::cancel_after(1ms)));
            bare = ec == asio::error::operation_aborted;
        },
        asio::detached
    );
    while (!bare)
        context.run_one();
    BOOST_TEST(client.stats().waiters == 0U);
}

BOOST_AUTO_TEST_CASE(each_cancellation_type_ends_each_operation)
{
    using type = asio::cancellation_type;
    for (auto const how : {type::terminal, type::partial, type::total, type::all}) {
        redis.occupy("k", 1h);
        auto a = acquire();
        auto t = try_for(10s);
        BOOST_TEST(!a.is_done());
        a.cancel(how);
        t.cancel(how);
        time.settle();
        BOOST_TEST((a.aborted() && t.aborted()));
        redis.clear();
        hold h = std::move(acquire().value());
        auto l = lost(h);
        l.cancel(how);
        time.settle();
        BOOST_TEST(l.aborted());
        cut_all();
        auto q = std::make_shared<pending<bool>>();
        mutex().is_locked(q->token());
        auto e = extend(h, 10s);
        q->cancel(how);
        e.cancel(how);
        auto r = release(h);
        r.cancel(how);
        time.settle();
        BOOST_TEST((q->aborted() && e.aborted() && r.aborted()));
        mend_all();
        BOOST_TEST(!is_locked());
    }
}

BOOST_AUTO_TEST_CASE(either_or_both)
{
    using namespace asio::experimental::awaitable_operators;
    redis.occupy("busy", 1h);
    BOOST_TEST(spawn([this]() -> asio::awaitable<void> {
        auto const either = co_await (
            mutex("free").acquire(asio::use_awaitable) || mutex("busy").acquire(asio::use_awaitable)
        );
        BOOST_TEST(either.index() == 0U);
        auto const [one, two] = co_await (
            mutex("one").acquire(asio::use_awaitable) && mutex("two").acquire(asio::use_awaitable)
        );
        BOOST_TEST((one && two));
        BOOST_TEST(redis.is_locked("one"));
    }));
    BOOST_TEST(client.stats().waiters == 0U);
    BOOST_TEST(client.stats().holds == 0U);
    for (auto const* name : {"free", "one", "two"})
        BOOST_TEST(!redis.is_locked(name), name);
}

BOOST_AUTO_TEST_CASE(of_two_that_both_get_in_the_loser_is_released)
{
    using namespace asio::experimental::awaitable_operators;
    bool ended = false;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            auto const either = co_await (
                mutex("a").acquire(asio::use_awaitable) || mutex("b").acquire(asio::use_awaitable)
            );
            auto const* const winner = either.index() == 0 ? "a" : "b";
            co_await asio::post(asio::deferred);
            BOOST_TEST(redis.is_locked(winner));
            ended = true;
        },
        asio::detached
    );
    time.settle();
    BOOST_TEST(ended);
    BOOST_TEST((!redis.is_locked("a") && !redis.is_locked("b")));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Where handlers run ------------------------------------------------------------------------

BOOST_FIXTURE_TEST_SUITE(api_executors, token_rig)

/// Starts each operation with the token that `make` makes of a function to call at its end.
template <class Make>
int start_all(token_rig& s, hold& held, Make const& make)
{
    auto const k = s.mutex("other");
    k.acquire(make(+[](error_code, hold) {}));
    k.try_acquire(make(+[](error_code, std::optional<hold>) {}));
    k.try_acquire_for(1s, make(+[](error_code, std::optional<hold>) {}));
    s.mutex("").acquire(make(+[](error_code, hold) {}));
    k.is_locked(make(+[](error_code, bool) {}));
    k.hold_count(owner{}, make(+[](error_code, std::int64_t) {}));
    k.remaining_lease(make(+[](error_code, std::optional<milliseconds>) {}));
    k.force_release(make(+[](error_code, bool) {}));
    held.lost(make(+[](error_code) {}));
    held.extend(2s, make(+[](error_code) {}));
    held.release(make(+[](error_code) {}));
    s.client.run(make(+[](error_code) {}));
    s.client.close(make(+[](error_code) {}));
    return 13;
}

BOOST_AUTO_TEST_CASE(never_inline_and_never_on_the_strand)
{
    hold h = std::move(acquire().value());
    int called = 0;
    bool starting = true;
    auto const all = start_all(*this, h, [&](auto end) {
        return [&, end](error_code ec, auto... values) {
            BOOST_TEST(!starting);
            BOOST_TEST(!inside().strand().running_in_this_thread());
            ++called;
            end(ec, std::move(values)...);
        };
    });
    starting = false;
    time.advance(1'001ms);
    BOOST_TEST(called == all);
}

/// Binds each handler to an executor. One type, so all operations are compiled once for it.
struct bound {
    auto operator()(auto end) const
    {
        return asio::bind_executor(to, [watch = watch, end](error_code ec, auto... values) {
            watch();
            end(ec, std::move(values)...);
        });
    }

    asio::any_io_executor to;
    std::function<void()> watch;
};

BOOST_AUTO_TEST_CASE(on_the_strand_that_it_is_bound_to)
{
    auto const theirs = asio::make_strand(context);
    hold h = std::move(acquire().value());
    int called = 0;
    auto const watch = [&] {
        BOOST_TEST(theirs.running_in_this_thread());
        BOOST_TEST(!inside().strand().running_in_this_thread());
        ++called;
    };
    auto const all = start_all(*this, h, bound{theirs, watch});
    BOOST_TEST(called == 0);
    time.advance(1'001ms);
    BOOST_TEST(called == all);
}

BOOST_AUTO_TEST_CASE(on_another_context_which_has_work_until_then)
{
    asio::io_context theirs;
    hold h = std::move(acquire().value());
    int called = 0;
    auto const all = start_all(*this, h, bound{theirs.get_executor(), [&] { ++called; }});
    theirs.poll();
    BOOST_TEST(!theirs.stopped());
    time.advance(1'001ms);
    BOOST_TEST(called == 0);
    while (!theirs.stopped()) {
        theirs.poll();
        time.settle();
    }
    BOOST_TEST(called == all);
}

BOOST_AUTO_TEST_CASE(waiting_keeps_the_context_of_the_handler_at_work)
{
    redis.occupy("k", 1h);
    asio::io_context theirs;
    pending_hold got;
    mutex().acquire(asio::bind_executor(theirs, got.token()));
    time.settle();
    theirs.poll();
    BOOST_TEST(!theirs.stopped());
    cancel(got);
    theirs.poll();
    BOOST_TEST(theirs.stopped());
    BOOST_TEST(got.aborted());
}

BOOST_AUTO_TEST_CASE(stop_callbacks_run_off_the_strand_too)
{
    hold const h = std::move(acquire({.lease = 100ms}).value());
    bool called = false;
    std::stop_callback const watch{h.stop_token(), [&] {
                                       BOOST_TEST(!inside().strand().running_in_this_thread());
                                       called = true;
                                   }};
    time.advance(100ms);
    BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(an_empty_hold_answers_on_the_handlers_executor)
{
    asio::io_context theirs;
    hold nothing;
    bool called = false;
    auto const home = std::this_thread::get_id();
    nothing.release(asio::bind_executor(theirs, [&](error_code ec) {
        BOOST_TEST((ec == error::not_held));
        BOOST_TEST((std::this_thread::get_id() == home));
        called = true;
    }));
    BOOST_TEST(!called);
    theirs.run();
    BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(a_move_only_handler_will_do)
{
    auto owned = std::make_unique<int>(7);
    int seen = 0;
    mutex().acquire([&, owned = std::move(owned)](error_code, hold) { seen = *owned; });
    time.settle();
    BOOST_TEST(seen == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
