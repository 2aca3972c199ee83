#include "decide/validity.hpp"
#include "service/core.hpp"
#include "service/re_entry.hpp"

#include <utility>

namespace colock {

void let_in(
    std::shared_ptr<waiter> const& who,
    std::shared_ptr<tenure> const& held,
    bool (*is_current)(waiter const&, tenure const&),
    void (*entered)(waiter const&)
)
{
    auto const inside = who->inside;
    auto const taken = std::make_shared<hold_state>(inside, who->who, who->lease, who->renewed);
    taken->token = held->token();
    auto entering = std::make_shared<change>(inside, taken);
    entering->entered = [=](error_code ec) {
        auto const margin = decide::loss_margin(taken->lease, inside->settings().loss_margin);
        if (!ec && clock::now() >= taken->promised_until() - margin)
            ec = error::lost;  // the answer comes after its own validity
        if (!ec && !is_current(*who, *held))
            ec = error::lost;  // the ownership was, meanwhile
        if (ec && taken->now() == hold_state::status::released)
            ec = error::closed;
        if (!ec && !who->is_done()) {
            taken->given = true;
            ++inside->count.holds;
            who->limit.clear();
            who->grant(detail::make_hold(taken));
            entered(*who);
            return;
        }
        who->fail(ec);
        held->drop(taken);
    };
    if (who->wait)
        inside->set_alarm(who->limit, who->asked + *who->wait);
    held->enter(std::move(entering));
}

}  // namespace colock
