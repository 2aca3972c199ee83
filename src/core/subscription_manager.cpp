#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <utility>

namespace colock {

subscription_manager::subscription_manager(core& owner) : core_{owner} {}

subscription_manager::line::line(subscription_manager& whose, unsigned which)
    : of{whose}
    , pubsub{which}
    , table{whose.core_.settings().linger}
{}

subscription_manager::line& subscription_manager::over(unsigned pubsub)
{
    auto& there = lines_[pubsub];
    if (!there)
        there = std::make_unique<line>(*this, pubsub);
    return *there;
}

auto subscription_manager::carrier_of(std::string_view name) const noexcept -> line const*
{
    // A channel without a listener may linger, and its messages still arrive.
    auto const at = channels_.find(name);
    auto const pubsub =
        at == channels_.end() ? core_.transport().pubsub_of(name) : at->second.pubsub;
    auto const there = lines_.find(pubsub);
    return there == lines_.end() ? nullptr : there->second.get();
}

void subscription_manager::count_channels() noexcept
{
    std::size_t count = 0;
    for (auto const& [pubsub, there] : lines_)
        count += there->table.in_use();
    count -= std::min(count, core_.count.mailboxes.load());
    core_.count.subscriptions = core_.is_stopped() ? 0 : count;  // they end with their links
}

// ---- Waiters -----------------------------------------------------------------------------------

bool subscription_manager::add(std::string const& name, listener& who)
{
    auto& c = channels_[name];
    if (c.listeners.empty())
        c.pubsub = core_.transport().pubsub_of(name);
    c.listeners.push_back(&who);
    line& there = over(c.pubsub);
    auto const state = there.table.add(name, clock::now());
    core_.transport().want_pubsub(c.pubsub);
    // Changes of one pass of the event loop go out together.
    if (state == decide::subscription_table::state::wanted)
        pump_by(there, clock::now());
    count_channels();
    if (there.table.is_refused(name, clock::now()))
        who.on_not_subscribed();
    return state == decide::subscription_table::state::live;
}

void subscription_manager::remove(std::string const& name, listener& who, bool lingers)
{
    auto const at = channels_.find(name);
    line& there = over(at->second.pubsub);
    std::erase(at->second.listeners, &who);
    if (at->second.listeners.empty())
        channels_.erase(at);
    there.table.remove(name, clock::now(), lingers);
    count_channels();
    if (!core_.is_stopped())
        pump_by(there, there.table.next_expiry());
}

bool subscription_manager::is_live(std::string_view name) const noexcept
{
    auto const* const there = carrier_of(name);
    return there && there->table.is_live(name);
}

template <class Call>
void subscription_manager::for_each_listener(std::string_view name, Call const& call)
{
    auto const at = channels_.find(name);
    if (at == channels_.end())
        return;
    for (auto* who : std::vector(at->second.listeners)) {
        // An earlier listener may have dropped this one.
        auto const again = channels_.find(name);
        if (again == channels_.end())
            return;
        if (std::ranges::find(again->second.listeners, who) != again->second.listeners.end())
            call(*who);
    }
}

// ---- Asking ------------------------------------------------------------------------------------

void subscription_manager::start()
{
    for (auto const& [name, c] : channels_)
        core_.transport().want_pubsub(c.pubsub);
}

void subscription_manager::stop()
{
    for (auto const& [pubsub, there] : lines_)
        there->pump.clear();
    count_channels();
}

void subscription_manager::pump_by(line& there, time_point at)
{
    if (!there.pump.is_due_by(at))
        core_.set_alarm(there.pump, at);
}

void subscription_manager::pump(line& there)
{
    auto change = there.table.next_change(clock::now());
    count_channels();
    if (!change.empty())
        core_.transport().change_subscriptions(
            there.pubsub, {std::move(change.subscribe), std::move(change.unsubscribe)}
        );
    pump_by(there, there.table.next_expiry());
}

// ---- What the transport tells ------------------------------------------------------------------

// At the old link they linger, and are then unsubscribed.
void subscription_manager::on_rerouted()
{
    std::vector<std::string> moved;
    for (auto const& [name, c] : channels_)
        if (core_.transport().pubsub_of(name) != c.pubsub)
            moved.push_back(name);
    for (auto const& name : moved) {
        auto const at = channels_.find(name);
        if (at == channels_.end())
            continue;  // dropped since by a listener that was told
        auto& c = at->second;
        line& from = over(c.pubsub);
        c.pubsub = core_.transport().pubsub_of(name);
        line& to = over(c.pubsub);
        bool is_live = false;
        for (std::size_t i = 0; i != c.listeners.size(); ++i) {
            from.table.remove(name, clock::now());
            is_live = to.table.add(name, clock::now()) == decide::subscription_table::state::live;
        }
        core_.transport().want_pubsub(c.pubsub);
        pump_by(from, from.table.next_expiry());
        pump_by(to, clock::now());
        for_each_listener(name, [is_live](listener& who) {
            who.on_interrupted();
            if (is_live)  // it lingers there
                who.on_subscribed();
        });
    }
    count_channels();
}

void subscription_manager::on_pubsub_up(unsigned pubsub)
{
    line& there = over(pubsub);
    there.table.link_up();
    pump_by(there, clock::now());
}

void subscription_manager::on_pubsub_down(unsigned pubsub)
{
    line& there = over(pubsub);
    there.table.link_down();
    // Refusals are remembered without an alarm, which would keep the context busy.
    if (!core_.is_stopped() && there.table.in_use() != 0)
        pump_by(there, there.table.next_expiry());
    std::vector<std::string> interrupted;
    for (auto const& [name, c] : channels_)
        if (c.pubsub == pubsub)
            interrupted.push_back(name);
    for (auto const& name : interrupted)
        for_each_listener(name, [](listener& who) { who.on_interrupted(); });
}

void subscription_manager::on_subscribed(unsigned pubsub, std::string_view name)
{
    // A confirmation from a link that the channel has left means nothing.
    if (over(pubsub).table.confirm(name) && carrier_of(name) == &over(pubsub))
        for_each_listener(name, [](listener& who) { who.on_subscribed(); });
}

void subscription_manager::on_refused(unsigned pubsub, std::string_view name, std::string_view why)
{
    using table = decide::subscription_table;
    line& there = over(pubsub);
    auto const fault = decide::classify(why);
    if (fault == decide::fault::redirected || fault == decide::fault::not_now) {
        there.table.refuse(name, clock::now() + table::short_memory);
        return;
    }
    there.table.refuse(name, clock::now() + table::refusal_memory);
    core_.tell(events::subscription_failed{
        name, error::subscription_failed, redacted(why, core_.settings())});
    for_each_listener(name, [](listener& who) { who.on_not_subscribed(); });
}

void subscription_manager::on_ended(unsigned pubsub, std::string_view name)
{
    line& there = over(pubsub);
    if (!there.table.end_by_server(name))
        return;
    pump_by(there, clock::now());
    if (carrier_of(name) == &there)
        for_each_listener(name, [](listener& who) { who.on_interrupted(); });
}

void subscription_manager::on_changed(unsigned pubsub)
{
    line& there = over(pubsub);
    there.table.change_done();
    pump_by(there, clock::now());
}

// At the node that had the slot before, the channel lingers, and may bring the same message.
void subscription_manager::on_message(
    unsigned pubsub, std::string_view name, std::string_view payload
)
{
    if (carrier_of(name) == &over(pubsub))
        for_each_listener(name, [&](listener& who) { who.on_message(payload); });
}

}  // namespace colock
