#include "holds/hold_state.hpp"
#include <colock/with_lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>

#include <tuple>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

// The coroutines here are awaited where the hold lives, so they may refer to it.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

namespace {

// The caller has decided already which cancellations it takes, so both coroutines of a group take
// each that arrives. A spawned coroutine takes terminal ones alone unless it says so. Both have to:
// a group of Boost 1.83 passes on the first cancellation alone.

/// Ends when the hold is lost, or its client closed. It does not end when the work itself releases
/// the hold or moves it elsewhere, because then there is nothing left to guard.
asio::awaitable<error_code> loss_of(basic_hold const& held)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    error_code ec = asio::error::operation_aborted;
    if (state_of(held))
        co_await held.lost(asio::redirect_error(asio::deferred, ec));
    if (ec == asio::error::operation_aborted) {
        asio::steady_timer until_cancelled{
            co_await asio::this_coro::executor, asio::steady_timer::time_point::max()};
        co_await until_cancelled.async_wait(asio::deferred);
    }
    co_return ec ? ec : error_code{error::lost};
}

asio::awaitable<void> for_caller(asio::awaitable<void> work)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await std::move(work);
}

error_code ended_by_others(basic_hold const& held)
{
    auto const& state = state_of(held);
    if (!state)
        return {};
    using status = hold_state::status;
    auto const now = state->current_status();
    // The clock may show a loss before any handler could report it.
    if (now == status::lost || (now == status::held && !held))
        return error::lost;
    if (now == status::released && state->closed)
        return error::closed;
    return {};
}

/// Throws it with the server of the hold. `doing` has the name of the lock.
[[noreturn]] void throw_error(error_code ec, basic_hold const& held, std::string const& doing)
{
    call_about const about{"", short_name{doing}, server_of_hold(state_of(held))};
    throw error_with_diagnostics{ec, text_of(ec, about)};
}

}  // namespace

asio::awaitable<void> run_while_held(
    basic_hold& held, asio::awaitable<void> work, std::string doing
)
{
    // The one that ends first cancels the other, and both have ended before this returns. The
    // caller's executor may be a pool of threads, and no coroutine may be cancelled while it runs:
    // hence the strand. Both begin on it before either ends, because before Boost 1.84 a coroutine
    // that is cancelled before it begins throws out of the execution context.
    asio::any_io_executor const strand = asio::make_strand(co_await asio::this_coro::executor);
    co_await asio::dispatch(asio::bind_executor(strand, asio::deferred));
    auto const [order, thrown, unguarded, loss] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(
                strand, for_caller(std::move(work)), asio::bind_executor(strand, asio::deferred)
            ),
            asio::co_spawn(strand, loss_of(held), asio::bind_executor(strand, asio::deferred))
        )
            .async_wait(
                asio::experimental::wait_for_one(asio::cancellation_type::terminal), asio::deferred
            );
    if (order[0] == 1 && !unguarded)
        throw_error(loss, held, doing);
    // Work that has noticed the loss itself may end first.
    if (auto const ec = ended_by_others(held))
        throw_error(ec, held, doing);
    if (thrown)
        std::rethrow_exception(thrown);
}

asio::awaitable<void> expect_held(basic_hold& held, std::string doing)
{
    if (held)
        co_return;
    if (auto const ec = ended_by_others(held))
        throw_error(ec, held, doing);
    throw_error(error::not_held, held, doing);
}

// An answer after the end of the lease says nothing of the time before: the release was late.
asio::awaitable<void> release_after_work(
    basic_hold& held, std::string doing, late_loss is, release_answer* answer
)
{
    if (!state_of(held))
        co_return;
    auto const until = held ? state_of(held)->valid_until() : never;
    release_answer got;
    std::tie(got.ec) =
        co_await held.release(with_diagnostics(got.said, asio::as_tuple(asio::deferred)));
    auto const ec = got.ec;
    if (answer)
        *answer = std::move(got);
    if (ec == error::lost && is == late_loss::thrown && clock::now() < until)
        throw_error(ec, held, doing);
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
