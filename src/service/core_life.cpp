// The life of a client: how it starts, becomes idle and stops.
#include "decide/validate.hpp"
#include "service/core.hpp"
#include "service/exclusive_lock.hpp"
#include "service/ownership.hpp"

#include <cassert>
#include <string>
#include <unistd.h>
#include <utility>

namespace colock::detail {

namespace {

/// Without a `run()`, connections are closed that nothing has needed for this long, up to twice
/// that.
constexpr milliseconds idle_after{1'000};

/// A TLS file may be repaired in the meantime, and each attempt writes to the log.
constexpr milliseconds between_starts{1'000};

}  // namespace

error_code core::check_settings() const
{
    auto const* const complaint = decide::validate(settings_);
    if (!complaint)
        return {};
    write_log(settings_.log, log_level::error, std::string{"config: "} + complaint);
    return error::invalid_argument;
}

error_code core::start()
{
    assert(process_ == ::getpid() && "a colock::client must not be used in a forked child");
    if (auto const ec = check_settings())
        return ec;
    if (auto const ec = transport_->prepare())
        return ec;
    phase_ = phase::running;
    transport_->start();
    for (auto& t : ownerships_)  // held since before a stop; sending brings their links up
        t.renew_now();
    watchdog_.send_all();
    for (auto const& r : keyed_states_.all())
        r->on_link_up();
    return {};
}

error_code core::enter()
{
    was_wanted_ = true;
    if (phase_ == phase::running)
        return {};
    if (phase_ != phase::idle)
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

void core::run(std::shared_ptr<operation> who, completion<> done)
{
    if (phase_ == phase::closing || phase_ == phase::closed)
        return done(error::closed);
    if (running_)
        return done(asio::error::already_started);
    if (phase_ != phase::running)
        if (auto const ec = start())
            return done(ec);
    failure_ = {};
    idle_look_.clear();
    runner_ = std::move(who);
    running_ = std::move(done);
}

// ---- Idle --------------------------------------------------------------------------------------

// Waiters and holds keep the connections open, and so the context busy. Otherwise only `run()`
// does, because a program that has nothing more to do must come to its end.
void core::look_if_idle()
{
    if (phase_ != phase::running || running_)
        return;
    if (std::exchange(was_wanted_, false) || !is_idle())
        return set_alarm(idle_look_, clock::now() + idle_after);
    for_each_key(
        [](exclusive_lock const& key) { return key.remembers(); },
        [](exclusive_lock& key) { key.forget_turns(); }
    );
    phase_ = phase::idle;
    part();
}

bool core::is_idle() const noexcept
{
    return activities_ == 0 && ownerships_.empty() && keyed_states_.is_empty() &&
        count.subscriptions == 0 && !abandoned_;
}

/// Closes the connections, with all that serves them.
void core::part()
{
    idle_look_.clear();
    flush_limit_.clear();
    transport_->stop();
    end_waiters(error::closed);
    poller_.stop();
    heartbeats_.stop();
    subscriptions_.stop();
    watchdog_.stop();
    rearm_timer();  // for entries that still have to expire
}

// ---- The end -----------------------------------------------------------------------------------

void core::cancel_run(std::shared_ptr<operation> const& who)
{
    if (runner_ != who)
        return;
    end_run(asio::error::operation_aborted);
    stop();
}

void core::end_run(error_code ec)
{
    runner_.reset();
    if (running_)
        running_(ec);
}

void core::stop()
{
    if (is_stopped())
        return;
    phase_ = phase_ == phase::closing ? phase::closed : phase::stopped;
    part();
    end_run({});
    finish_closing(error::closed);
    flushing_.reset();
}

error_code core::refusal() const noexcept
{
    return phase_ == phase::closing || phase_ == phase::closed ? error_code{error::closed}
                                                               : error_code{};
}

void core::end_waiters(error_code why)
{
    for_each_key(
        [](exclusive_lock const& key) { return key.is_wanted(); },
        [why](exclusive_lock& key) { key.end_waiters(why); }
    );
    for (auto const& r : keyed_states_.all())
        r->end_waiters(why);
}

}  // namespace colock::detail
