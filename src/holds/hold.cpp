#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_registry.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include <colock/hold.hpp>

#include <boost/asio/system_executor.hpp>

#include <utility>

namespace colock {

inline namespace v0_3 {
namespace detail {

namespace {

using done_handler = completion<>::handler_type;

void answer_empty(done_handler to)
{
    completion<>{std::move(to), asio::system_executor{}}(error::not_held);
}

/// Nobody has it any more: the client releases it.
void drop(hold_ptr state) noexcept
{
    auto const life = state->inside;
    life->holds().drop(std::move(state));
}

/// Makes an operation of the call and runs it on the strand.
template <class Act>
void start_operation(core_ptr const& inside, done_handler to, hold_ptr state, Act act)
{
    auto const who = make_recycled<hold_operation>(inside, std::move(state));
    who->listen(inside->strand(), to);
    who->done = {std::move(to), inside->executor()};
    asio::dispatch(inside->strand(), [who, act] { act(*who->hold->target, who); });
}

}  // namespace

namespace {

std::string_view shown_name(hold_ptr const& state) noexcept
{
    return state && state->target ? state->target->shown_name() : std::string_view{};
}

}  // namespace

std::shared_ptr<std::string const> server_of_hold(hold_ptr const& state) noexcept
{
    bool const has_one = state && (!state->target || state->target->has_one_server());
    return has_one ? server_of(state->inside) : nullptr;
}

short_name name_of_hold(hold_ptr const& state) noexcept { return short_name{shown_name(state)}; }

core_ptr core_of(hold_ptr const& state) noexcept { return state ? state->inside : nullptr; }

hold_ptr const& state_of(basic_hold const& of) noexcept { return of.state_; }

void release_hold(core_ptr inside, done_handler to, hold_ptr state)
{
    if (!state)
        return answer_empty(std::move(to));
    auto const released = state;
    released->owner_calls |= hold_state::release_asked;
    try {
        start_operation(
            inside,
            std::move(to),
            std::move(state),
            [](hold_target& owned, std::shared_ptr<hold_operation> const& who) {
                owned.release(who);
            }
        );
    } catch (...) {  // no memory: the hold's destructor has to release it
        released->owner_calls &= static_cast<unsigned char>(~hold_state::release_asked);
        throw;
    }
}

void extend_hold(core_ptr inside, done_handler to, hold_ptr state, milliseconds lease)
{
    if (!state)
        return answer_empty(std::move(to));
    start_operation(
        inside,
        std::move(to),
        std::move(state),
        [lease](hold_target& owned, std::shared_ptr<hold_operation> const& who) {
            auto const least =
                who->hold->renewed ? decide::shortest_renewed_lease : decide::shortest_lease;
            if (lease < least || lease > decide::longest_lease)
                who->complete(error::invalid_argument);
            else
                owned.extend(who, lease);
        }
    );
}

void give_hold(core_ptr inside, handler<given> to, hold_ptr state)
{
    completion<claim> done{
        std::move(to),
        inside ? inside->executor() : asio::any_io_executor{asio::system_executor{}}};
    if (!state)
        return done(error::not_held, {});
    constexpr auto not_given = static_cast<unsigned char>(~hold_state::give_asked);
    constexpr auto given_and_gone = hold_state::give_asked | hold_state::destroyed;
    auto give = [inside, done = std::move(done), state]() mutable {
        claim made;
        auto const ec = state->target->give(*state, made);
        // The caller still has it, or has destroyed it meanwhile.
        if (ec && state->owner_calls.fetch_and(not_given) == given_and_gone)
            drop(state);
        done(ec, std::move(made));
    };
    state->owner_calls |= hold_state::give_asked;
    try {
        asio::dispatch(inside->strand(), std::move(give));
    } catch (...) {  // no memory: the hold's destructor has to release it
        state->owner_calls &= not_given;
        throw;
    }
}

void wait_lost(core_ptr inside, done_handler to, hold_ptr state)
{
    if (!state)
        return answer_empty(std::move(to));
    auto const wait = make_recycled<hold_state::loss_wait>(std::move(state));
    wait->listen(inside->strand(), to);
    wait->done = {std::move(to), inside->executor()};
    asio::dispatch(inside->strand(), [wait] {
        if (!wait->done)
            return;  // cancelled before it began
        switch (wait->watched->current_status()) {
        case hold_state::status::held: wait->watched->add(wait); break;
        case hold_state::status::lost: wait->done({}); break;
        case hold_state::status::released: wait->done(wait->watched->why_ended()); break;
        }
    });
}

}  // namespace detail
}  // namespace v0_3

void basic_hold::drop_at_least()
{
    if (state_)
        asio::dispatch(state_->inside->strand(), [state = state_] {
            state->at_least = milliseconds{0};
        });
}

std::stop_token basic_hold::stop_token() const
{
    return state_ ? state_->stop_token() : std::stop_token{};
}

std::uint64_t basic_hold::token() const noexcept { return state_ ? state_->token : 0; }

std::uint64_t basic_hold::token_of(std::size_t i) const noexcept
{
    if (i == 0 && token() != 0)
        return token();
    return state_ && state_->target ? state_->target->fencing_token(i) : 0;
}

unsigned basic_hold::replicas() const noexcept
{
    if (!state_ || state_->current_status() != detail::hold_state::status::held)
        return 0;
    auto const of_all = state_->target ? state_->target->replicas() : std::nullopt;
    return of_all.value_or(state_->replicas.load(std::memory_order_relaxed));
}

basic_hold::clock::time_point basic_hold::valid_until() const noexcept
{
    auto const until = state_ ? state_->valid_until() : clock::time_point{};
    return until == clock::time_point{} ? until : until - colock::clock::suspended();
}

bool basic_hold::valid_past(clock::duration time) const noexcept
{
    return state_ && time < state_->valid_until() - colock::clock::now();
}

std::string basic_hold::name() const { return std::string{detail::shown_name(state_)}; }

owner const& basic_hold::as() const noexcept { return state_->who; }

// Looks at the clock as well: a stopped process may call this before its timer reports the loss.
basic_hold::operator bool() const noexcept
{
    return state_ && state_->current_status() == hold_state::status::held &&
        valid_past(clock::duration{0});
}

// A release that the owner has asked for is on its way to the strand, and reports the answer. If
// this one came before it, that one would find nothing to wait for.
void basic_hold::abandon() noexcept
{
    auto state = std::exchange(state_, nullptr);
    if (!state || state->current_status() == hold_state::status::released)
        return;
    auto asked = state->owner_calls.load();
    while (asked != 0 &&
           !state->owner_calls.compare_exchange_weak(asked, asked | hold_state::destroyed)) {}
    if (asked == 0)
        detail::drop(std::move(state));
}

}  // namespace colock
