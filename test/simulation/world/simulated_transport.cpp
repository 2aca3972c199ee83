// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_state.hpp"
#include "simulation/world/simulated_transport.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

// The simulator links no sockets: its clients are made on a simulated_transport.
core_ptr client_state::make(asio::any_io_executor, config, identity)
{
    throw std::logic_error{"a client of the simulator needs its world"};
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock

namespace colock::simulation {

using redirected = decide::redirection::kind;

simulated_transport::simulated_transport(
    detail::core& inside, transport_listener& who, surroundings around
)
    : core_{inside}
    , listener_{who}
    , around_{std::move(around)}
    , lanes_{1 + around_.net.luck().below(inside.settings().links)}
    , alarm_{[this] { wake(); }}
{
    std::size_t first = 0;
    for (auto* const at : around_.nodes) {
        auto const place = [&](std::size_t i) {
            return connecting_line::place{
                around_.time,
                around_.net,
                *at,
                around_.machine,
                first + i,
                inside.weak_from_this()};
        };
        auto& made = servers_.emplace_back();
        command_line::habits how{
            is_cluster(),
            is_cluster() ? publishing::sharded : publishing::plain,
            around_.without_clock,
            &inside.settings()};
        for (std::size_t i = 0; i != lanes_; ++i)
            made.commands.push_back(std::make_shared<command_line>(
                place(i), static_cast<command_line::listener&>(*this), how
            ));
        auto const links = inside.settings().links;
        made.pubsub = std::make_shared<pubsub_line>(
            place(links), listener_, static_cast<unsigned>(servers_.size() - 1)
        );
        first += links + 1;
    }
}

void simulated_transport::start()
{
    started_ = true;
    open(line_of(0));
    for (auto const& each : servers_)
        if (each.pubsub_wanted)
            each.pubsub->start();
}

void simulated_transport::stop()
{
    started_ = false;
    auto const alive = alive_;
    fail_all(std::move(resting_), alive_, error::closed);
    for (std::size_t i = 0; *alive && i != servers_.size(); ++i) {
        for (auto const& each : std::vector{servers_[i].commands})
            if (*alive) {
                each->stop();
                each->fail_waiting(error::closed);
            }
        if (*alive)
            servers_[i].pubsub->stop();
    }
}

void simulated_transport::destroy_pending() noexcept
{
    *alive_ = false;
    destroy_tasks(resting_);
    for (auto const& server : servers_) {
        for (auto const& each : server.commands)
            each->destroy_pending();
        server.pubsub->destroy_pending();
    }
}

// ---- Steps -------------------------------------------------------------------------------------

unsigned simulated_transport::owner_of(unsigned slot) const noexcept
{
    auto const at = moved_.find(slot);
    return at != moved_.end() ? at->second
                              : static_cast<unsigned>(first_owner(slot, servers_.size()));
}

command_line& simulated_transport::line_of(unsigned slot) const noexcept
{
    return *servers_[owner_of(slot)].commands[slot % lanes_];
}

unsigned simulated_transport::lane_of(unsigned slot) const noexcept
{
    return is_cluster() ? slot : slot % static_cast<unsigned>(lanes_);
}

void simulated_transport::open(command_line& which)
{
    if (started_)
        which.start();
}

void simulated_transport::submit(step& s)
{
    auto& to = line_of(s.slot);
    open(to);
    to.submit(s);
}

bool simulated_transport::withdraw(step& s) noexcept
{
    bool const is_waiting = s.is_linked();
    s.unlink();
    return is_waiting;
}

// ---- Slots that move ---------------------------------------------------------------------------

void simulated_transport::on_redirect(step& s, decide::redirection const& to, time_point sent)
{
    if (!started_)
        return s.answered.set({answer::kind::failed, {}, error::closed, sent});
    bool const is_divisible = s.whole && s.keys.size() > 1;
    switch (to.what) {
    case redirected::moved:
        if (s.whole) {
            auto const alive = alive_;
            s.answered.set({answer::kind::not_now, {}, error::unavailable, {}});
            if (*alive)
                believe(to.slot, to.port);
            return;
        }
        believe(to.slot, to.port);
        return submit(s);
    case redirected::try_again:
        if (is_divisible)
            return s.answered.set({answer::kind::failed, {}, error::unavailable, sent, true});
        return rest(s);
    default: return s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
    }
}

void simulated_transport::believe(unsigned slot, unsigned owner)
{
    if (owner_of(slot) == owner)
        return;
    auto& from = line_of(slot);
    moved_[slot] = owner;
    step_list again;
    from.take_waiting(again, [slot](step const& s) { return s.slot == slot; });
    auto const alive = alive_;
    for_each_taken(std::move(again), alive_, [this](step& s) { submit(s); });
    if (*alive)
        listener_.on_rerouted();
    if (*alive)
        listener_.on_reached([slot](unsigned other) { return other == slot; });
}

void simulated_transport::rest(step& s)
{
    resting_.push_back(s);
    if (!alarm_.is_set())
        core_.set_alarm(alarm_, clock::now() + milliseconds{20});
}

void simulated_transport::wake()
{
    step_list now;
    now.swap(resting_);
    for_each_taken(std::move(now), alive_, [this](step& s) { submit(s); });
}

// ---- Links -------------------------------------------------------------------------------------

void simulated_transport::on_line_up(command_line& up)
{
    auto const alive = alive_;
    listener_.on_link_up(up.index(), up.epoch());
    if (*alive && up.epoch() != 1)
        listener_.on_reached([this, &up](unsigned slot) { return &line_of(slot) == &up; });
}

void simulated_transport::on_line_down(command_line& down, error_code why)
{
    listener_.on_link_down(down.index(), why);
}

std::size_t simulated_transport::links_up() const noexcept
{
    std::size_t up = 0;
    for (auto const& server : servers_) {
        up += static_cast<std::size_t>(std::ranges::count_if(server.commands, [](auto const& each) {
            return each->is_up();
        }));
        up += server.pubsub->is_up() ? 1 : 0;
    }
    return up;
}

unsigned simulated_transport::pubsub_of(std::string_view channel) const noexcept
{
    return owner_of(decide::slot_of(channel));
}

void simulated_transport::want_pubsub(unsigned pubsub)
{
    servers_[pubsub].pubsub_wanted = true;
    if (started_)
        servers_[pubsub].pubsub->start();
}

void simulated_transport::change_subscriptions(unsigned pubsub, subscription_change const& what)
{
    servers_[pubsub].pubsub->change_subscriptions(what);
}

}  // namespace colock::simulation
