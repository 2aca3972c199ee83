#include "service/core.hpp"
#include "service/hold_state.hpp"

#include <utility>

namespace colock::detail {

void loss_wait::cancel()
{
    if (!done)
        return;
    std::erase_if(watched->loss_waits, [this](auto const& w) { return w.get() == this; });
    done(asio::error::operation_aborted);
}

std::stop_token hold_state::stop_token()
{
    std::scoped_lock const guard{stop_mutex_};
    if (!stop_) {
        stop_.emplace();
        if (now() == status::lost)
            stop_->request_stop();
    }
    return stop_->get_token();
}

void hold_state::lose()
{
    if (now() != status::held)
        return;
    status_.store(status::lost, std::memory_order_release);
    if (given)
        --inside->count.holds;
    finish_waits({});
    std::scoped_lock const guard{stop_mutex_};
    if (stop_)  // stop callbacks are user code
        asio::post(inside->executor(), [source = *stop_]() mutable { source.request_stop(); });
}

void hold_state::end(error_code why)
{
    auto const waits = std::exchange(loss_waits, {});
    ended = why;
    if (now() == status::held) {
        if (given)
            --inside->count.holds;
        // From here on the handle's side may let go of this at any moment.
        status_.store(status::released, std::memory_order_release);
    }
    for (auto const& wait : waits)
        wait->done(why);
}

void hold_state::finish_waits(error_code ec)
{
    for (auto const& wait : std::exchange(loss_waits, {}))
        wait->done(ec);
}

}  // namespace colock::detail
