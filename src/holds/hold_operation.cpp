#include "core/core.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"

#include <utility>

namespace colock {

hold_operation::hold_operation(core_ptr c, hold_ptr h)
    : inside{std::move(c)}
    , hold{std::move(h)}
    , limit{[this] {
        auto const slot = hold->target->slot();
        auto why = inside->transport().down_reason(slot);
        if (!why)
            why = refused;
        if (hold->current_status() == hold_state::status::lost)
            why = error::lost;
        if (done)
            done(why ? why : failure{error::unavailable});
    }}
{}

void hold_operation::cancel()
{
    limit.clear();
    if (done)
        done(asio::error::operation_aborted);
}

void hold_operation::complete(failure ec)
{
    limit.clear();
    if (entered)
        std::exchange(entered, nullptr)(ec);
    if (done)
        done(ec);
}

}  // namespace colock
