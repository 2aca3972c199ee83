#include "base/recycling.hpp"
#include "core/core.hpp"
#include "locks/re_entry.hpp"

#include <utility>

namespace colock {

void enter_again(
    std::shared_ptr<waiter> const& who,
    std::shared_ptr<ownership> const& held,
    std::function<void(waiter const&)> then
)
{
    auto const& inside = who->inside;
    auto const taken = who->make_hold();
    if (taken->at_least != milliseconds{0} && held->is_on_both_sides())
        return who->fail(error::invalid_argument);  // the reader would renew what is kept
    taken->token = held->token();
    auto entering = make_recycled<hold_operation>(inside, taken);
    entering->wants = who->wants;
    entering->entered = [who, taken, held, then = std::move(then)](error_code ec) {
        // The wait for the replicas was its pause, so it asks again at once.
        if (ec == error::not_replicated && !who->once && !who->is_done() && held->is_current()) {
            enter_again(who, held, then);
            return held->abandon_hold(taken);
        }
        auto const margin = who->inside->settings().loss_margin;
        if (!ec && clock::now() >= taken->lose_at(taken->promised_until(), margin))
            ec = error::lost;  // the answer came after its own validity
        if (!ec && !held->is_current())
            ec = error::lost;  // the ownership was lost in the meantime
        if (ec && taken->current_status() == hold_state::status::released)
            ec = error::closed;
        if (!ec && !who->is_done()) {
            who->attempts = 1;
            who->grant(taken);
            then(*who);
            return;
        }
        who->fail(ec);
        held->abandon_hold(taken);
    };
    if (who->wait)
        inside->set_alarm(who->limit, who->deadline());
    held->enter(std::move(entering));
}

}  // namespace colock
