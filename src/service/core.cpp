#include "redis/server_links.hpp"
#include "service/client_registry.hpp"
#include "service/core.hpp"
#include "service/exclusive_lock.hpp"
#include "service/ownership.hpp"
#include "service/permit_ownership.hpp"
#include "service/writers.hpp"

#include <boost/asio/query.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <unistd.h>
#include <utility>

namespace colock::detail {

core::identity core::identity::draw()
{
    return {boost::uuids::to_string(boost::uuids::random_generator{}()), std::random_device{}()};
}

core::core(asio::any_io_executor executor, config settings, identity drawn)
    : executor_{std::move(executor)}
    , strand_{asio::make_strand(executor_)}
    , settings_{std::move(settings)}
    , events_{settings_.observer ? settings_.observer : std::make_shared<observer>()}
    , uuid_{std::move(drawn.uuid)}
    , random_{drawn.seed}
    , process_{::getpid()}
    , timer_{strand_}
    , close_limit_{[this] { finish_closing(error::unavailable); }}
    , idle_look_{[this] { look_if_idle(); }}
    , flush_limit_{[this] { give_up_flush(); }}
    , next_release_{ownerships_.end()}
    , watchdog_{*this}
    , poller_{*this}
    , heartbeats_{*this}
    , subscriptions_{*this}
{}

core_ptr core::make(
    asio::any_io_executor executor, config settings, make_transport const& transport, identity drawn
)
{
    std::shared_ptr<core> made{
        new core{std::move(executor), std::move(settings), std::move(drawn)}, &core::destroy};
    made->transport_ = transport(*made, *made);
    auto& context = asio::query(made->executor_, asio::execution::context);
    asio::use_service<client_registry>(context).add(made);
    return made;
}

core::~core() { destroy_pending(); }

/// Destroys a core on its strand, or where the context destroys handlers that it will not run any
/// more.
struct core::deferred_delete {
    explicit deferred_delete(core* c) noexcept : whole{c} {}
    deferred_delete(deferred_delete&&) noexcept = default;
    ~deferred_delete()
    {
        if (whole)
            whole->is_context_gone_ = true;
    }
    void operator()() { whole.reset(); }

    std::unique_ptr<core> whole;
};

// Any thread may drop the last reference, while handlers of the connections run on the strand.
void core::destroy(core* c) noexcept
{
    deferred_delete last{c};
    if (c->is_shut_down())
        return;  // no handler runs any more
    auto const strand = c->strand_;
    asio::dispatch(strand, std::move(last));
}

// ---- State -------------------------------------------------------------------------------------

exclusive_lock& core::key(lock_ref which)
{
    if (auto* const known = find_key(which))
        return *known;
    auto made = which.kind == lock_kind::write ? std::make_unique<writers>(*this, which)
                                               : std::make_unique<exclusive_lock>(*this, which);
    return *keys_.emplace(made->ref(), std::move(made)).first->second;
}

exclusive_lock* core::find_key(lock_ref which) noexcept
{
    auto const at = keys_.find(which);
    return at == keys_.end() ? nullptr : at->second.get();
}

void core::forget_if_idle(exclusive_lock& key) noexcept
{
    if (!key.is_idle())
        return;
    keys_.erase(keys_.find(key.ref()));
    finish_closing_if_done();
}

void core::remove(keyed_state& r) noexcept
{
    auto const last = keyed_states_.remove(r);
    if (phase_ == phase::closing)
        release_some();
    finish_closing_if_done();
}

void core::add(ownership& t) { ownerships_.push_back(t); }

void core::remove(ownership& t) noexcept
{
    if (!t.is_listed())
        return;
    auto const at = ownerships_.iterator_to(t);
    if (next_release_ == at)
        ++next_release_;
    ownerships_.erase(at);
    if (phase_ == phase::closing)
        release_some();
    finish_closing_if_done();
}

void core::set_alarm(decide::alarm_queue::alarm& e, time_point at)
{
    if (at == never)
        e.clear();
    else if (alarms_.set(e, at))
        arm_timer();
}

void core::rest(pause& p, milliseconds how_long)
{
    pauses_.push_back(p);
    set_alarm(p.alarm, clock::now() + how_long);
}

// The timer is moved only to an earlier time; a cleared entry costs at most one idle wake-up.
void core::arm_timer()
{
    if (alarms_.next() >= armed_)
        return;
    armed_ = alarms_.next();
    timer_.expires_at(armed_);
    timer_.async_wait([weak = weak_from_this()](error_code ec) {
        auto const self = weak.lock();
        if (ec || !self || self->shut_down_)
            return;
        self->armed_ = never;
        self->alarms_.run(clock::now());
        self->arm_timer();
    });
}

void core::rearm_timer()
{
    armed_ = never;
    timer_.cancel();
    arm_timer();
}

void core::abandon(hold_ptr dropped) noexcept
{
    if (shut_down_)
        return;
    hold_state& state = *dropped;
    state.next_abandoned = abandoned_.load(std::memory_order_relaxed);
    state.self = std::move(dropped);
    while (!abandoned_.compare_exchange_weak(
        state.next_abandoned, &state, std::memory_order_release, std::memory_order_relaxed
    )) {}
    try {
        asio::post(strand_, [self = shared_from_this()] { self->drain_abandoned(); });
    } catch (...) {
        // It stays on the list, and is released with the next one that is dropped.
    }
}

void core::drain_abandoned() noexcept
{
    auto* next = abandoned_.exchange(nullptr, std::memory_order_acquire);
    while (next) {
        hold_ptr const dropped = std::move(next->self);
        next = next->next_abandoned;
        if (dropped->target && !shut_down_)
            dropped->target->abandon_hold(dropped);
    }
}

// ---- What the transport tells ------------------------------------------------------------------

void core::on_link_up(std::size_t link, std::uint64_t epoch)
{
    count.links_up = transport_->links_up();
    if (epoch > 1)
        ++count.reconnects;
    log(log_level::info, [&] {
        return "link " + std::to_string(link) + ": up, connection " + std::to_string(epoch);
    });
    events_->link_up(link, epoch);
    watchdog_.send_all();  // renewals that wait for the link, if it is the first
}

// Confirms all holds at once, and wakes the sleeping waiters, which may have missed a message.
void core::on_reached(slot_filter const& mine)
{
    for (auto& t : ownerships_)
        if (mine(t.slot()))
            t.renew_now();
    watchdog_.send_all();
    heartbeats_.revive(mine);
    for_each_key(
        [&](exclusive_lock const& key) { return key.is_sleeping() && mine(key.slot()); },
        [](exclusive_lock& key) { key.wake_if_asleep(); }
    );
    for (auto const& r : keyed_states_.all())
        if (mine(r->slot()))
            r->on_link_up();
    // The server may be another one, without the refusals.
    decltype(pauses_) resting;
    resting.swap(pauses_);
    while (!resting.empty())
        resting.front().finish();
}

void core::on_link_down(std::size_t link, error_code why)
{
    count.links_up = transport_->links_up();
    log(has_links() ? log_level::warning : log_level::debug, [&] {
        return "link " + std::to_string(link) + ": lost: " + why.message() +
            (has_links() ? "; connecting again" : "; nothing needs it now");
    });
    events_->link_down(link, why);
    if (has_links())
        return;
    // The steps under way have their answers by then. Nothing may still wait for their time limits,
    // because the context would not come to its end.
    asio::post(strand_, [self = shared_from_this()] {
        if (!self->has_links())
            self->rearm_timer();
    });
}

void core::on_subscribed(unsigned pubsub, std::string_view channel)
{
    subscriptions_.on_subscribed(pubsub, channel);
}

void core::on_refused(unsigned pubsub, std::string_view channel, std::string_view why)
{
    subscriptions_.on_refused(pubsub, channel, why);
}

void core::on_ended(unsigned pubsub, std::string_view channel)
{
    subscriptions_.on_ended(pubsub, channel);
}

void core::on_message(std::string_view channel, std::string_view payload)
{
    subscriptions_.on_message(channel, payload);
}

void core::on_pubsub_up(unsigned pubsub)
{
    count.links_up = transport_->links_up();
    events_->link_up(pubsub * links_a_server(settings_) + settings_.links, 0);
    subscriptions_.on_pubsub_up(pubsub);
}

void core::on_pubsub_down(unsigned pubsub)
{
    count.links_up = transport_->links_up();
    subscriptions_.on_pubsub_down(pubsub);
}

}  // namespace colock::detail
