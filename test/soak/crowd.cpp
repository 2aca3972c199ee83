// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "soak/soak.hpp"
#include "support/cancel_after.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace colock::soak {

namespace {

constexpr auto tuple = asio::as_tuple(asio::deferred);

}  // namespace

asio::awaitable<void> rest(milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(tuple);
}

crowd::crowd(plan const& what, clients at, asio::io_context& on)
    : plan_{what}
    , clients_{at}
    , context_{on}
{}

asio::awaitable<bool> crowd::prepare()
{
    for (std::size_t i = 0; i != plan_.names; ++i) {
        auto const kind = plan::kind_of(i);
        if (kind == kind::latch)
            continue;
        auto const ec =
            co_await test::make(*clients_.front(), kind, plan::name_of(i), plan_.permits);
        if (ec)
            co_return false;
    }
    co_return true;
}

void crowd::start()
{
    stopping_ = false;
    for (std::size_t i = 0; i != plan_.tasks; ++i) {
        ++running_;
        asio::co_spawn(context_, live(), [this](std::exception_ptr thrown) {
            --running_;
            if (thrown)
                std::rethrow_exception(thrown);
        });
    }
}

asio::awaitable<void> crowd::stop()
{
    stopping_ = true;
    auto const limit = std::chrono::steady_clock::now() + 2min;
    while (running_ != 0 && std::chrono::steady_clock::now() < limit)
        co_await rest(10ms);
    if (running_ != 0)
        throw std::runtime_error{std::to_string(running_) + " tasks hang"};
}

asio::awaitable<void> crowd::live()
{
    auto const here = co_await asio::this_coro::executor;
    while (!stopping_) {
        co_await rest(dice_.up_to(60ms));
        auto const name = some_name();
        if (dice_.one_in(3)) {
            auto const when = dice_.up_to(dice_.one_in(4) ? 500ms : 10ms);
            auto const cancelled = asio::cancel_after(when, asio::cancellation_type::total, tuple);
            auto const [thrown] = co_await asio::co_spawn(here, visit(name), cancelled);
            if (thrown)
                std::rethrow_exception(thrown);
        } else {
            co_await visit(name);
        }
        ++tally_.cycles;
    }
}

/// All names in turn, and between them those that many want.
std::size_t crowd::some_name()
{
    if (dice_.one_in(6))
        return dice_.below(plan_.hot_names);
    return next_++ % plan_.names;
}

test::manner crowd::some_manner()
{
    test::manner how;
    switch (dice_.below(4)) {
    case 0: how.wait = 0ms; break;
    case 1: how.wait = dice_.up_to(300ms); break;
    case 2: how.cancel = dice_.up_to(5ms); break;
    default: how.cancel = 1'500ms; break;
    }
    if (dice_.one_in(8))
        how.options.lease = 500ms + dice_.up_to(1s);
    return how;
}

asio::awaitable<void> crowd::visit(std::size_t name)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    if (plan::kind_of(name) == kind::latch)
        co_return co_await visit_latch(name);
    auto got =
        co_await test::take(some_client(), plan::kind_of(name), plan::name_of(name), some_manner());
    note(got.error());
    if (!got)
        co_return;
    ++tally_.taken;
    co_await stay(name, got);
    co_await leave(got);
}

asio::awaitable<void> crowd::visit_latch(std::size_t name)
{
    auto& redis = some_client();
    auto const made = co_await test::make(redis, kind::latch, plan::name_of(name), 1);
    note(made);
    auto how = some_manner();
    how.cancel = std::min(how.cancel, milliseconds{100});
    auto const waited = co_await test::take(redis, kind::latch, plan::name_of(name), how);
    note(waited.error());
    countdown_latch const it{redis, plan::name_of(name)};
    auto const [ec] = co_await it.count_down(tuple);
    note(ec);
}

asio::awaitable<void> crowd::stay(std::size_t name, test::taken& inside)
{
    if (!inside.is_hold()) {
        co_await rest(dice_.up_to(5ms));
        co_return;
    }
    auto& held = inside.held();
    auto& last = inside_.at(name);
    if (test::is_exclusive(plan::kind_of(name)) && last && *last && held)
        ++tally_.overlaps;
    last = &held;
    if (dice_.one_in(24))
        co_await dwell(held, dice_.up_to(2 * plan_.lease));
    else
        co_await rest(dice_.up_to(5ms));
    if (last == &held)
        last = nullptr;
    tally_.lost += !held;
}

/// For longer, in which it is renewed or lost.
asio::awaitable<void> crowd::dwell(hold& held, milliseconds time)
{
    constexpr milliseconds slice{250};
    for (auto left = time; left > 0ms && held && !stopping_; left -= slice)
        co_await held.lost(asio::cancel_after(std::min(left, slice), tuple));
}

asio::awaitable<void> crowd::leave(test::taken& inside)
{
    bool const was_lost = inside.is_hold() && !inside.held();
    if (inside.is_hold() && dice_.one_in(5)) {
        auto const [ec] = co_await inside.held().extend(plan_.lease / 2, tuple);
        note(ec);
    }
    if (dice_.one_in(3)) {
        inside.drop();
        co_return;
    }
    auto const ec = co_await inside.give_back();
    if (!was_lost)
        note(ec);
}

void crowd::note(error_code const& ec)
{
    if (ec == asio::error::operation_aborted)
        ++tally_.cancelled;
    else if (ec)
        ++tally_.errors[ec.message()];
}

}  // namespace colock::soak
