#include "core/core.hpp"
#include "decide/names.hpp"
#include "locks/waiter.hpp"

#include <algorithm>
#include <utility>

namespace colock {

waiter::waiter(
    core_ptr c, detail::lock_id of, acquire_options const& options, milliseconds default_lease
)
    : inside{std::move(c)}
    , id{std::move(of)}
    , who{options.as.value_or(owner{})}
    , lease{std::max(options.lease.value_or(default_lease), options.at_least)}
    , at_least{options.at_least}
    , renewed{!options.lease || options.renew}
    , shared_owner{options.as.has_value()}
    , re_entrant{options.re_entrant}
    , replicas{static_cast<unsigned>(options.sync_replicas)}
    , limit{[this] {
        auto const life = shared_from_this();
        auto const slot = decide::slot_of(id.name);
        auto why = once ? inside->transport().down_reason(slot) : error_code{};
        if (once && !why)
            why = error::unavailable;
        if (queue)
            queue->leave(*this, why);
        else
            fail(why);
    }}
{}

void waiter::cancel()
{
    if (queue)
        queue->leave(*this, asio::error::operation_aborted);
    else
        fail(asio::error::operation_aborted);
}

bool waiter::is_done() const noexcept
{
    return !std::visit([](auto const& c) { return static_cast<bool>(c); }, done);
}

void waiter::grant(hold h)
{
    std::visit([&](auto& c) { c(error_code{}, std::move(h)); }, done);
}

void waiter::fail(error_code ec)
{
    limit.clear();
    if (is_done())
        return;
    if (ec || !once)
        inside->tell_ended(id.name, asked, attempts, ec);
    std::visit([&](auto& c) { c(ec, {}); }, done);
}

void waiter::give_up() { fail({}); }

void waiter::ask_replicas(step& s) const
{
    if (replicas != 0)
        inside->ask_replicas(s, replicas, lease);
}

}  // namespace colock
