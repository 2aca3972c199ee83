#include "service/core.hpp"
#include "service/subscription_manager.hpp"

#include <algorithm>

namespace colock {

subscription_manager::subscription_manager(core& owner)
    : core_{owner}
    , table_{owner.settings().linger}
    , pump_{[this] { pump(); }}
    , pump_at_{never}
{}

bool subscription_manager::add(std::string const& channel, listener& who)
{
    listeners_[channel].push_back(&who);
    auto const state = table_.add(channel, clock::now());
    core_.transport().want_push();
    if (state == decide::subscription_table::state::wanted)
        pump_soon();
    core_.count.subscriptions = table_.size();
    return state == decide::subscription_table::state::live;
}

void subscription_manager::drop(std::string const& channel, listener& who)
{
    auto const at = listeners_.find(channel);
    std::erase(at->second, &who);
    if (at->second.empty())
        listeners_.erase(at);
    table_.drop(channel, clock::now());
    if (!core_.is_stopped())
        pump_by(table_.next_expiry());
}

std::uint32_t subscription_manager::expect_echo(std::string_view channel, listener const& who)
{
    auto const at = listeners_.find(channel);
    bool const is_news = at != listeners_.end() &&
        std::ranges::any_of(at->second,
                            [&](listener const* l) { return l != &who && !l->hears_echoes(); });
    return is_news ? 0 : table_.expect_echo(channel);
}

void subscription_manager::stop()
{
    pump_.clear();
    pump_at_ = never;
}

// What is asked for in one turn of the event loop goes out together.
void subscription_manager::pump_soon() { pump_by(clock::now()); }

void subscription_manager::pump_by(time_point at)
{
    if (at >= pump_at_)
        return;
    pump_at_ = at;
    core_.set_alarm(pump_, at);
}

void subscription_manager::pump()
{
    pump_at_ = never;
    auto change = table_.next_change(clock::now());
    core_.count.subscriptions = table_.size();
    if (!change.empty())
        core_.transport().change({std::move(change.subscribe), std::move(change.unsubscribe)});
    pump_by(table_.next_expiry());
}

void subscription_manager::on_push_up()
{
    table_.link_up();
    pump_soon();
}

void subscription_manager::on_push_down()
{
    table_.link_down();
    for (auto const& [channel, interested] : listeners_)
        for (auto* who : interested)
            who->on_interrupted();
}

template <class Call>
void subscription_manager::for_each_listener(std::string_view channel, Call const& call)
{
    auto const at = listeners_.find(channel);
    if (at == listeners_.end())
        return;
    for (auto* who : std::vector(at->second)) {
        // An earlier one may have dropped this one.
        auto const again = listeners_.find(channel);
        if (again == listeners_.end())
            return;
        if (std::ranges::find(again->second, who) != again->second.end())
            call(*who);
    }
}

void subscription_manager::on_subscribed(std::string_view channel)
{
    if (table_.confirm(channel))
        for_each_listener(channel, [](listener& who) { who.on_subscribed(); });
}

void subscription_manager::on_message(std::string_view channel, std::string_view payload)
{
    bool const is_echo = table_.take_echo(channel);
    for_each_listener(channel, [&](listener& who) {
        if (!is_echo)
            who.on_message(payload);
        else if (who.hears_echoes())
            who.on_echo();
    });
}

void subscription_manager::on_changed(error_code ec)
{
    if (!ec) {
        table_.change_done();
        pump_soon();
        return;
    }
    for (auto const& channel : table_.change_refused(clock::now())) {
        core_.log(log_level::warning, [&] {
            return "subscribe to " + channel +
                ": refused by the server; its waiters ask again when the lease ends and at the"
                " poll cap. Remedy: allow the user this channel";
        });
        core_.events().subscription_failed(channel, ec);
    }
}

}  // namespace colock
