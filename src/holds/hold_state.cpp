#include "core/core.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"

#include <mutex>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// One mutex for all stop sources: they are made and fired seldom, and a mutex in each hold would
/// be a fifth of the hold.
std::mutex stop_mutex;

}  // namespace

void hold_state::loss_wait::cancel()
{
    if (!done)
        return;
    if (watched->loss_waits)
        std::erase_if(*watched->loss_waits, [this](auto const& w) { return w.get() == this; });
    done(asio::error::operation_aborted);
}

time_point hold_state::valid_until() const noexcept
{
    if (current_status() != status::held)
        return {};
    return target ? target->valid_until(*this) : promised_until();
}

std::stop_token hold_state::stop_token()
{
    std::scoped_lock const guard{stop_mutex};
    if (!stop_.stop_possible()) {
        stop_ = std::stop_source{};
        if (stop_requested_ || current_status() == status::lost)
            stop_.request_stop();
    }
    return stop_.get_token();
}

void hold_state::lose()
{
    if (current_status() != status::held)
        return;
    status_.store(status::lost, std::memory_order_release);
    if (given)
        --inside->count.holds;
    finish_waits({});
    request_stop();
}

char const* hold_state::why_unproven(std::optional<milliseconds> max_hold) const noexcept
{
    if (!renewed)
        return "its own lease is nearly over, and it asked for no renewal";
    if (!is_renewed(clock::now(), max_hold))
        return "it was held for max_hold and is renewed no more";
    return "its lease is nearly over and no renewal was answered";
}

// Stop callbacks are user code.
void hold_state::request_stop()
{
    std::scoped_lock const guard{stop_mutex};
    stop_requested_ = true;
    if (stop_.stop_possible())
        asio::post(inside->executor(), [source = stop_]() mutable { source.request_stop(); });
}

failure hold_state::why_ended() const noexcept
{
    return closed ? failure{error::closed} : failure{asio::error::operation_aborted};
}

void hold_state::mark_released(failure why)
{
    auto const waits = std::exchange(loss_waits, nullptr);
    if (current_status() == status::held) {
        if (given)
            --inside->count.holds;
        closed = why == error::closed;
        if (closed)
            request_stop();
        // From here on the handle may drop this at any moment.
        status_.store(status::released, std::memory_order_release);
    }
    if (waits)
        for (auto const& wait : *waits)
            wait->done(why);
}

void hold_state::add(std::shared_ptr<loss_wait> wait)
{
    if (!loss_waits)
        loss_waits = std::make_unique<std::vector<std::shared_ptr<loss_wait>>>();
    loss_waits->push_back(std::move(wait));
}

void hold_state::finish_waits(failure ec)
{
    if (auto const waits = std::exchange(loss_waits, nullptr))
        for (auto const& wait : *waits)
            wait->done(ec);
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
