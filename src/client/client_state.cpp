// How a client starts, becomes idle and stops, and what the transport tells it.
#include "client/client_registry.hpp"
#include "client/client_state.hpp"
#include "decide/validate.hpp"
#include "redis/link_settings.hpp"
#include "redis/server_links.hpp"
#include "system/process.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <cassert>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// Without a `run()`, connections are closed that nothing has needed for this long, up to twice
/// that.
constexpr milliseconds idle_after{1'000};

/// The time for UNSUBSCRIBE of the last channel.
constexpr milliseconds until_unsubscribed{50};

/// A TLS file may be repaired in the meantime, and each attempt writes to the log.
constexpr milliseconds between_starts{1'000};

bool any_slot(unsigned) { return true; }

}  // namespace

client_state::client_state(asio::any_io_executor executor, config settings, identity drawn)
    : core{std::move(executor), std::move(settings), std::move(drawn), {&states_, &holds_, &watchdog_, &poller_, &heartbeats_, &subscriptions_, &mailbox_}}
    , process_{process_id()}
    , close_limit_{[this] { finish_closing(error::unavailable); }}
    , idle_look_{[this] { look_if_idle(); }}
    , flush_limit_{[this] { give_up_flush(); }}
    , outage_look_{[this] { tell_of_outage(); }}
    , reporting_{*this}
    , holds_{*this}
    , watchdog_{*this}
    , poller_{*this}
    , heartbeats_{*this}
    , subscriptions_{*this}
    , mailbox_{*this}
{}

core_ptr client_state::make(
    asio::any_io_executor executor, config settings, make_transport const& transport, identity drawn
)
{
    std::shared_ptr<client_state> const made{
        new client_state{std::move(executor), std::move(settings), std::move(drawn)},
        &client_state::destroy};
    made->alarms_.run_while(made->weak_from_this());
    made->transport_owner_ = transport(*made, *made);
    made->transport_ = made->transport_owner_.get();
    auto& context = asio::query(made->executor(), asio::execution::context);
    asio::use_service<client_registry>(context).add(made);
    return made;
}

// ---- The start ---------------------------------------------------------------------------------

failure client_state::check_settings()
{
    auto const* const complaint = decide::validate(settings());
    if (!complaint)
        return {};
    log(log_level::error, {"config"}, [&] { return std::string{"config: "} + complaint; });
    return error::invalid_argument;
}

failure client_state::start()
{
    assert(process_ == process_id() && "a colock::client must not be used in a forked child");
    if (auto ec = check_settings())
        return ec;
    if (auto ec = transport().prepare())
        return ec;
    life_.now = phase::running;
    faults().catch_up();  // what was left out before has no alarm
    transport().start();
    subscriptions_.start();
    mailbox_.start();
    holds_.confirm(any_slot);  // held since before a stop; sending brings their links up
    watchdog_.send_all();
    states_.on_reached(any_slot);
    reporting_.begin();
    return {};
}

failure client_state::enter()
{
    was_wanted_ = true;
    if (life_.now == phase::running)
        return {};
    if (life_.now != phase::idle)
        return error::closed;
    if (failure_ && clock::now() < start_again_)
        return failure_;
    failure_ = start();
    if (failure_ == error::invalid_argument)
        failure_ = error::invalid_config;  // not the argument of an operation
    if (failure_)
        start_again_ = clock::now() + between_starts;
    else
        set_alarm(idle_look_, clock::now() + idle_after);
    return failure_;
}

void client_state::run(std::shared_ptr<operation> who, completion<> done)
{
    if (life_.now == phase::closing || life_.now == phase::closed)
        return done(error::closed);
    if (running_)
        return done(asio::error::already_started);
    if (life_.now != phase::running)
        if (auto const ec = start())
            return done(ec);
    failure_ = {};
    idle_look_.clear();
    runner_ = std::move(who);
    running_ = std::move(done);
}

// ---- What the transport tells ------------------------------------------------------------------

void client_state::tell_up(std::size_t link, std::uint64_t epoch)
{
    count.links_up = transport().links_up();
    if (epoch > 1)
        ++count.reconnects;
    tell(events::link_up{link, epoch});
}

void client_state::tell_down(std::size_t link, error_code why)
{
    count.links_up = transport().links_up();
    tell(events::link_down{link, why});
}

std::size_t client_state::number_of(unsigned pubsub) const noexcept
{
    return pubsub * links_a_server(settings()) + settings().links;
}

void client_state::on_link_up(std::size_t link, std::uint64_t epoch)
{
    tell_up(link, epoch);
    outage_.link_up(link, clock::now());
    if (outage_.is_to_be_told())
        set_alarm(outage_look_, outage_.next_look());
    watchdog_.send_all();  // renewals that wait for the link, if it is the first
}

// Confirms all holds at once, and wakes the sleeping waiters, which may have missed a message. The
// server may be another one, without the refusals for which tasks pause.
void client_state::on_reached(slot_filter const& mine)
{
    holds_.confirm(mine);
    watchdog_.send_all();
    heartbeats_.revive(mine);
    states_.on_reached(mine);
    end_pauses();
}

void client_state::on_link_down(std::size_t link, error_code why)
{
    tell_down(link, why);
    if (why != error::closed) {
        outage_.link_down(link, clock::now(), count.lost);
        outage_look_.clear();
    }
    if (has_links())
        return;
    // The steps under way have their answers by then. Nothing may still wait for their time limits,
    // because the context would not come to its end.
    asio::post(strand(), [this, life = shared_from_this()] {
        if (!has_links())
            alarms_.rearm();
    });
}

void client_state::on_subscribed(unsigned pubsub, std::string_view channel)
{
    subscriptions_.on_subscribed(pubsub, channel);
}

void client_state::on_refused(unsigned pubsub, std::string_view channel, std::string_view why)
{
    subscriptions_.on_refused(pubsub, channel, why);
}

void client_state::on_ended(unsigned pubsub, std::string_view channel)
{
    subscriptions_.on_ended(pubsub, channel);
}

void client_state::on_message(unsigned pubsub, std::string_view channel, std::string_view payload)
{
    subscriptions_.on_message(pubsub, channel, payload);
}

void client_state::on_pubsub_up(unsigned pubsub, std::uint64_t epoch)
{
    tell_up(number_of(pubsub), epoch);
    subscriptions_.on_pubsub_up(pubsub);
}

void client_state::on_pubsub_down(unsigned pubsub, error_code why)
{
    tell_down(number_of(pubsub), why);
    subscriptions_.on_pubsub_down(pubsub);
}

// The links of a server have lines about its faults. This one is about the locks.
void client_state::tell_of_outage()
{
    auto const line = outage_.tell(clock::now(), holds_.count(), count.lost);
    if (line)
        log(log_level::warning, {"connected again"}, [&] {
            return describe_servers(settings()) + ": " + *line;
        });
    else if (outage_.is_to_be_told())
        set_alarm(outage_look_, outage_.next_look());
}

// ---- Idle --------------------------------------------------------------------------------------

// Waiters and holds keep the connections open, and so the context busy. Otherwise only `run()`
// does, because a program that has nothing more to do must come to its end.
void client_state::look_if_idle()
{
    if (life_.now != phase::running || running_)
        return;
    bool const is_quiet = !std::exchange(was_wanted_, false) && is_idle();
    if (is_quiet && mailbox_.is_open()) {
        mailbox_.close();
        return set_alarm(idle_look_, clock::now() + until_unsubscribed);
    }
    if (!is_quiet || count.subscriptions != 0)
        return set_alarm(idle_look_, clock::now() + idle_after);
    states_.forget();
    life_.now = phase::idle;
    part();
}

bool client_state::is_idle() const noexcept
{
    return life_.activities == 0 && holds_.is_empty() && !states_.is_in_use() &&
        count.guards == 0 && !holds_.has_dropped();
}

/// Closes the connections, with all that serves them.
void client_state::part()
{
    idle_look_.clear();
    flush_limit_.clear();
    outage_look_.clear();
    outage_.clear();
    reporting_.stop();
    transport().stop();
    states_.end_waiters(error::closed);
    end_pauses();
    poller_.stop();
    heartbeats_.stop();
    mailbox_.stop();
    subscriptions_.stop();
    watchdog_.stop();
    faults().finish();
    alarms_.rearm();  // for alarms that still have to ring
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
