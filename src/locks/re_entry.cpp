#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "locks/re_entry.hpp"

#include <utility>

namespace colock {

namespace {

/// As of a grant, half of the validity has to be left. It is asked for only once more, because the
/// owner has the lock all the time.
bool came_late(hold_state const& entered)
{
    return entered.current_status() == hold_state::status::held &&
        !decide::is_fresh_until(
               clock::now(), entered.promised_until(), entered.proven, clock::resumed()
        );
}

failure outcome_of(failure ec, hold_state const& entered, ownership const& held)
{
    auto const margin = entered.inside->settings().loss_margin;
    if (!ec && clock::now() >= entered.lose_at(entered.promised_until(), margin))
        ec = error::lost;  // the answer came after its own validity
    if (!ec && !held.is_current())
        ec = error::lost;  // the ownership was lost in the meantime
    return ec && entered.current_status() == hold_state::status::released ? failure{error::closed}
                                                                          : ec;
}

}  // namespace

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
    entering->entered = [who, taken, held, then = std::move(then)](failure ec) {
        // The wait for the replicas was its pause, so it asks again at once.
        if (ec == error::not_replicated && !who->once && !who->is_done() && held->is_current()) {
            enter_again(who, held, then);
            return held->abandon_hold(taken);
        }
        bool const is_late = !ec && came_late(*taken);
        if (is_late && !who->is_done() && held->is_current() && who->attempts++ == 0) {
            enter_again(who, held, then);
            return held->abandon_hold(taken);
        }
        ec = outcome_of(ec, *taken, *held);
        if (!ec && !who->is_done()) {
            ++who->attempts;
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
