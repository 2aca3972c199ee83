// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The spans that `colock::otel::tracer` makes, in an exporter's memory.
#include "exported.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <opentelemetry/trace/scope.h>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <tuple>

namespace colock::test {

namespace {

error_code code_of(std::exception_ptr const& thrown)
{
    if (!thrown)
        return {};
    try {
        std::rethrow_exception(thrown);
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
}

using held = otel::traced<hold>;

BOOST_FIXTURE_TEST_SUITE(otel_spans, tracing)

BOOST_AUTO_TEST_CASE(one_request)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await traces.under(request).acquire(lock{redis, "order:1"});
        BOOST_TEST(static_cast<bool>(mine));
        BOOST_TEST(mine->fencing_token() == 1U);
        BOOST_TEST(names_of(ended()) == "colock.wait");
        co_await mine.release();
        BOOST_TEST(!mine);
    }());
    auto const spans = ended();
    BOOST_TEST_REQUIRE(names_of(spans) == "colock.hold colock.release");
    for (auto const& each : all) {
        BOOST_TEST(each.trace == id_of(request).trace);
        BOOST_TEST(each.parent == id_of(request).span);
        BOOST_TEST(each.text("colock.name") == "order:1");
        BOOST_TEST((each.status == trace::StatusCode::kUnset));
    }
    auto const& wait = all.at(0);
    BOOST_TEST((wait.kind == trace::SpanKind::kClient));
    BOOST_TEST(wait.text("db.system.name") == "redis");
    BOOST_TEST(wait.text("db.operation.name") == "acquire");
    BOOST_TEST(wait.text("db.namespace") == "2");
    BOOST_TEST(wait.text("server.address") == "redis.internal");
    BOOST_TEST(wait.text("server.port") == "6380");
    BOOST_TEST(wait.text("colock.outcome") == "acquired");
    auto const& mine = spans.at(0);
    BOOST_TEST((mine.kind == trace::SpanKind::kInternal));
    BOOST_TEST(mine.text("colock.outcome") == "released");
    BOOST_TEST(mine.text("colock.fencing_token") == "1");
    BOOST_TEST(mine.text("db.system.name") == "");
    auto const& release = spans.at(1);
    BOOST_TEST((release.kind == trace::SpanKind::kClient));
    BOOST_TEST(release.text("db.operation.name") == "release");
    BOOST_TEST(release.text("error.type") == "");
    // The hold ends with the call of the release.
    BOOST_TEST((mine.end <= release.begin));
    BOOST_TEST((wait.end <= mine.begin));
}

BOOST_AUTO_TEST_CASE(the_server_is_named_if_it_is_the_only_one)
{
    config several;
    several.addresses = {{"a", 1}, {"b", 2}};
    config socket;
    socket.addresses = {{.unix_socket = "/run/redis.sock"}};
    for (auto const& settings : {several, socket}) {
        otel::tracer const other{settings, to};
        redis.run([&]() -> asio::awaitable<void> {
            auto mine = co_await other.under(request).acquire(lock{redis, "k"});
            co_await mine.release();
        }());
    }
    ended();
    BOOST_TEST(all.at(0).text("server.address") == "");
    BOOST_TEST(all.at(0).text("server.port") == "");
    BOOST_TEST(all.at(3).text("server.address") == "/run/redis.sock");
    BOOST_TEST(all.at(3).text("server.port") == "");
}

BOOST_AUTO_TEST_CASE(the_parent_is_that_of_the_call)
{
    auto const another = to->StartSpan("another");
    // The current span is that of the thread that calls, not of the one on which the operation
    // runs.
    auto const by_scope = [&] {
        trace::Scope const scope{request};
        return traces.acquire(lock{redis, "k"});
    };
    auto operation = by_scope();
    {
        trace::Scope const scope{another};
        redis.run([&]() -> asio::awaitable<void> {
            auto mine = co_await std::move(operation);
            co_await mine.release();
        }());
    }
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold colock.release");
    for (auto const& each : all)
        BOOST_TEST(each.parent == id_of(request).span);
}

BOOST_AUTO_TEST_CASE(no_parent_is_none)
{
    trace::Scope const scope{request};  // of the thread, and of nobody who asks
    auto const nothing = otel::tracer{traces}.under(opentelemetry::context::Context{});
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await nothing.acquire(lock{redis, "k"});
        co_await mine.release();
    }());
    ended();
    for (auto const& each : all) {
        BOOST_TEST(each.trace != id_of(request).trace);
        BOOST_TEST(each.parent == "0000000000000000");
    }
}

BOOST_AUTO_TEST_CASE(work_is_a_child_of_the_hold)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await traces.under(request).acquire(lock{redis, "k"});
        auto inner = co_await traces.under(mine.span()).acquire(lock{redis, "inner"});
        co_await inner.release();
        co_await mine.release();
    }());
    ended();
    BOOST_TEST_REQUIRE(
        names_of(all) ==
        "colock.wait colock.wait colock.hold colock.release colock.hold colock.release"
    );
    auto const& outer = all.at(4);
    for (auto const i : {1U, 2U, 3U})
        BOOST_TEST(all.at(i).parent == outer.span);
}

BOOST_AUTO_TEST_CASE(waits_without_success)
{
    redis.occupy("busy");
    redis.refuse("refused");
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = traces.under(request);
        auto const none = co_await mine.try_acquire_for(lock{redis, "busy"}, 1min);
        BOOST_TEST(!none);
        auto const [thrown, refused] =
            co_await mine.acquire(lock{redis, "refused"})(asio::as_tuple(asio::deferred));
        BOOST_TEST((code_of(thrown) == error::server_refused));
        BOOST_TEST(!refused);
    }());
    asio::cancellation_signal cancel;
    error_code ec;
    traces.under(request).acquire(lock{redis, "busy"})(asio::bind_cancellation_slot(
        cancel.slot(), [&](std::exception_ptr thrown, held const&) { ec = code_of(thrown); }
    ));
    redis.run_until([&] { return redis.waiters() == 1; });
    cancel.emit(asio::cancellation_type::terminal);
    redis.run_until([&] { return !!ec; });

    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.wait colock.wait");
    BOOST_TEST(all.at(0).text("colock.outcome") == "gave_up");
    BOOST_TEST((all.at(0).status == trace::StatusCode::kUnset));
    BOOST_TEST(all.at(1).text("colock.outcome") == "failed");
    BOOST_TEST(all.at(1).text("error.type") == "server_refused");
    BOOST_TEST((all.at(1).status == trace::StatusCode::kError));
    BOOST_TEST(all.at(2).text("colock.outcome") == "cancelled");
    BOOST_TEST((all.at(2).status == trace::StatusCode::kUnset));
}

BOOST_AUTO_TEST_CASE(a_dropped_hold)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = co_await traces.under(request).acquire(lock{redis, "k"});
    }());
    BOOST_TEST(!redis.is_held("k"));
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold");
    BOOST_TEST(all.at(1).text("colock.outcome") == "dropped");
}

BOOST_AUTO_TEST_CASE(an_assigned_hold_drops_the_one_before)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await traces.under(request).acquire(lock{redis, "a"});
        mine = co_await traces.under(request).acquire(lock{redis, "b"});
        ended();
        BOOST_TEST(all.back().text("colock.name") == "a");
        BOOST_TEST(all.back().text("colock.outcome") == "dropped");
        BOOST_TEST(static_cast<bool>(mine));
        co_await mine.release();
    }());
    BOOST_TEST(names_of(ended()) == "colock.hold colock.release");
}

BOOST_AUTO_TEST_CASE(a_lost_hold_ends_with_the_loss)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await traces.under(request).acquire(lock{redis, "k"});
        redis.lose("k");
        co_await mine->lost();
        co_await asio::post(asio::deferred);
        ended();
        BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold");
        auto const [thrown] = co_await mine.release()(asio::as_tuple(asio::deferred));
        BOOST_TEST((code_of(thrown) == error::lost));
    }());
    BOOST_TEST(names_of(ended()) == "colock.release");
    BOOST_TEST(all.at(1).text("colock.outcome") == "lost");
    BOOST_TEST(all.at(1).text("error.type") == "lost");
    BOOST_TEST((all.at(1).status == trace::StatusCode::kError));
    BOOST_TEST(all.at(2).text("error.type") == "lost");
}

BOOST_AUTO_TEST_CASE(a_loss_that_the_release_finds)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await traces.under(request).acquire(
            lock{redis, "k"}, {.lease = 10s}
        );  // not renewed
        redis.lose("k");
        auto const [thrown] = co_await mine.release()(asio::as_tuple(asio::deferred));
        BOOST_TEST((code_of(thrown) == error::lost));
    }());
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold colock.release");
    BOOST_TEST(all.at(1).text("colock.outcome") == "released");
    BOOST_TEST(all.at(2).text("error.type") == "lost");
    BOOST_TEST((all.at(2).status == trace::StatusCode::kError));
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_dropped_after_its_loss)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = co_await traces.under(request).acquire(lock{redis, "k"});
        redis.lose("k");
        co_await mine->lost();
    }());
    redis.run_for(1ms);
    ended();
    BOOST_TEST(all.at(1).text("colock.outcome") == "lost");
}

// The notice of the loss is still under way then.
BOOST_AUTO_TEST_CASE(a_hold_that_its_stop_token_drops)
{
    std::optional<held> mine;
    redis.run([&]() -> asio::awaitable<void> {
        mine = co_await traces.under(request).acquire(lock{redis, "k"});
    }());
    std::stop_callback const drop{(*mine)->stop_token(), [&] { mine.reset(); }};
    redis.lose("k");
    redis.run_until([&] { return !mine; });
    redis.run_for(1ms);
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold");
    BOOST_TEST(all.at(1).text("colock.outcome") == "lost");
}

BOOST_AUTO_TEST_CASE(a_closed_client)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = co_await traces.under(request).acquire(lock{redis, "k"});
        co_await redis.client().close();
        co_await asio::post(asio::deferred);
        ended();
        BOOST_TEST(all.at(1).text("colock.outcome") == "closed");
        BOOST_TEST((all.at(1).status == trace::StatusCode::kUnset));
    }());
}

BOOST_AUTO_TEST_CASE(a_wait_is_linked_to_the_hold_in_its_way)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = traces.under(request);
        lock const it{redis, "k"};
        auto first = co_await mine.acquire(it);
        auto const holder = id_of(first.span()).span;
        auto const busy = co_await mine.try_acquire_for(it, 0s);
        BOOST_TEST(!busy);
        auto other = co_await mine.acquire(lock{redis, "other"});
        co_await other.release();
        co_await first.release();
        auto second = co_await mine.acquire(it);
        co_await second.release();
        ended();
        for (auto const& each : all) {
            bool const behind = each.text("colock.outcome") == "gave_up";
            BOOST_TEST(each.links == (behind ? holder : ""));
        }
    }());
}

BOOST_AUTO_TEST_CASE(with_lock)
{
    auto const mine = traces.under(request);
    lock const it{redis, "k"};
    redis.run([&]() -> asio::awaitable<void> {
        auto const seven = co_await mine.with_lock(it, [&](held& now) -> asio::awaitable<int> {
            to->StartSpan("work", child_of(now.span()))->End();
            co_return 7;
        });
        BOOST_TEST(seven == 7);
        ended();
        BOOST_TEST_REQUIRE(names_of(all) == "colock.wait work colock.hold colock.release");
        BOOST_TEST(all.at(1).parent == all.at(2).span);

        co_await mine.with_lock(it, {.lease = 3s}, [&](hold& now) -> asio::awaitable<void> {
            BOOST_TEST(!now.valid_for(3s));
            co_return;
        });
        co_await mine.with_lock(it, []() -> asio::awaitable<void> { co_return; });
        BOOST_TEST(co_await mine.with_lock_for(it, 1s, []() -> asio::awaitable<void> { co_return; })
        );
        auto const eight =
            co_await mine.with_lock_for(it, 1s, []() -> asio::awaitable<int> { co_return 8; });
        BOOST_TEST(eight.value() == 8);
        BOOST_TEST(
            names_of(ended()).size() ==
            4 * std::string{"colock.wait colock.hold colock.release "}.size() - 1
        );
    }());
}

BOOST_AUTO_TEST_CASE(with_lock_that_does_not_get_it)
{
    auto const mine = traces.under(request);
    redis.occupy("busy");
    redis.refuse("refused");
    redis.run([&]() -> asio::awaitable<void> {
        auto const work = []() -> asio::awaitable<void> {
            throw std::logic_error{"not to be run"};
            co_return;
        };
        bool const done = co_await mine.with_lock_for(lock{redis, "busy"}, 1s, work);
        BOOST_TEST(!done);
        error_code ec;
        try {
            co_await mine.with_lock(lock{redis, "refused"}, work);
        } catch (boost::system::system_error const& e) {
            ec = e.code();
            BOOST_TEST(std::string{e.what()}.find("acquire refused at ") == 0U);
        }
        BOOST_TEST((ec == error::server_refused));
    }());
    BOOST_TEST(names_of(ended()) == "colock.wait colock.wait");
}

BOOST_AUTO_TEST_CASE(with_lock_and_work_that_throws)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const work = [](held&) -> asio::awaitable<int> {
            throw std::runtime_error{"broken"};
            co_return 0;
        };
        std::string said;
        try {
            co_await traces.under(request).with_lock(lock{redis, "k"}, work);
        } catch (std::runtime_error const& e) {
            said = e.what();
        }
        BOOST_TEST(said == "broken");
    }());
    BOOST_TEST(!redis.is_held("k"));
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold");
    BOOST_TEST(all.at(1).text("colock.outcome") == "dropped");
}

BOOST_AUTO_TEST_CASE(with_lock_and_a_loss)
{
    redis.run([&]() -> asio::awaitable<void> {
        error_code ec;
        auto const for_ever = [&](held&) -> asio::awaitable<void> {
            redis.lose("k");
            asio::steady_timer timer{
                co_await asio::this_coro::executor, asio::steady_timer::time_point::max()};
            co_await timer.async_wait(asio::deferred);
        };
        try {
            co_await traces.under(request).with_lock(lock{redis, "k"}, for_ever);
        } catch (boost::system::system_error const& e) {
            ec = e.code();
        }
        BOOST_TEST((ec == error::lost));
    }());
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold");
    BOOST_TEST(all.at(1).text("colock.outcome") == "lost");
    BOOST_TEST((all.at(1).status == trace::StatusCode::kError));
}

BOOST_AUTO_TEST_CASE(with_lock_and_a_release_that_fails)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const work = [&]() -> asio::awaitable<void> {
            redis.refuse("k");
            co_return;
        };
        co_await traces.under(request).with_lock(lock{redis, "k"}, work);
    }());
    ended();
    BOOST_TEST_REQUIRE(names_of(all) == "colock.wait colock.hold colock.release");
    BOOST_TEST(all.at(1).text("colock.outcome") == "released");
    BOOST_TEST(all.at(2).text("error.type") == "server_refused");
    BOOST_TEST((all.at(2).status == trace::StatusCode::kError));
}

BOOST_AUTO_TEST_CASE(permits)
{
    redis.run([&]() -> asio::awaitable<void> {
        auto const mine = traces.under(request);
        permit_semaphore const seats{redis, "seats", 2};
        otel::traced<permit> seat = co_await mine.follow("seats", seats.acquire());
        BOOST_TEST(!seat->id().empty());
        if_acquired<otel::traced<permit>> another =
            co_await mine.follow("seats", seats.try_acquire());
        BOOST_TEST_REQUIRE(another.has_value());
        co_await another->release();
        co_await seat.release();
        BOOST_TEST(
            names_of(ended()) ==
            "colock.wait colock.wait colock.hold colock.release colock.hold colock.release"
        );

        semaphore const tokens{redis, "tokens", 1};
        co_await mine.follow("tokens", tokens.acquire());
        bool const more = co_await mine.follow("tokens", tokens.try_acquire());
        BOOST_TEST(!more);
        co_await tokens.release();
        auto const waits = ended();
        BOOST_TEST_REQUIRE(names_of(waits) == "colock.wait colock.wait");
        BOOST_TEST(waits.at(0).text("colock.outcome") == "acquired");
        BOOST_TEST(waits.at(1).text("colock.outcome") == "gave_up");
    }());
}

BOOST_AUTO_TEST_CASE(completion_tokens)
{
    auto mine = traces.under(request).acquire(lock{redis, "k"})(asio::use_future);
    redis.run_until([&] { return redis.is_held("k"); });
    auto got = mine.get();
    auto done = got.release()(asio::use_future);
    redis.run_until([&] { return !redis.is_held("k"); });
    done.get();
    ended();
    BOOST_TEST(names_of(all) == "colock.wait colock.hold colock.release");
}

BOOST_AUTO_TEST_CASE(nobody_records)
{
    otel::tracer const silent{config{}};  // to the global provider, which has no exporter
    redis.run([&]() -> asio::awaitable<void> {
        auto mine = co_await silent.acquire(lock{redis, "k"});
        BOOST_TEST(!id_of(mine.span()).is_valid);
        co_await mine.release();
        BOOST_TEST(!redis.is_held("k"));
    }());
    BOOST_TEST(ended().empty());
}

BOOST_AUTO_TEST_CASE(an_empty_one)
{
    held nothing;
    BOOST_TEST(!nothing);
    BOOST_TEST(!id_of(nothing.span()).is_valid);
    error_code ec;
    nothing.release()([&](std::exception_ptr thrown) { ec = code_of(thrown); });
    redis.run_for(1ms);
    redis.run_until([&] { return !!ec; });
    BOOST_TEST((ec == error::not_held));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
