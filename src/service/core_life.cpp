// The life of a client: run, stop, close.
#include "decide/complaint.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/tenure.hpp"

#include <cassert>
#include <unistd.h>
#include <utility>

namespace colock::detail {

namespace {

/// Under way at a time while a client closes.
constexpr std::size_t most_owed_releases = 4'096;

}  // namespace

error_code core::check_settings() const
{
    auto const* const complaint = decide::complaint_about(settings_);
    if (!complaint)
        return {};
    write_log(settings_.log, log_level::error, std::string{"config: "} + complaint);
    return error::invalid_argument;
}

void core::run(std::shared_ptr<operation> who, completion<> done)
{
    assert(process_ == ::getpid() && "a colock::client must not be used in a forked child");
    if (phase_ == phase::closing || phase_ == phase::closed)
        return done(error::closed);
    if (phase_ == phase::running)
        return done(asio::error::already_started);
    if (auto const ec = check_settings())
        return done(ec);
    if (auto const ec = transport_->prepare())
        return done(ec);
    phase_ = phase::running;
    runner_ = std::move(who);
    running_ = std::move(done);
    transport_->start();
    for (auto& t : tenures_)  // held since before a stop; sending brings their links up
        t.renew_now();
    watchdog_.send_all();
    for (auto const& r : residents_.all())
        r->on_link_up();
}

void core::cancel_run(std::shared_ptr<operation> const& who)
{
    if (runner_ != who)
        return;
    end_run(asio::error::operation_aborted);
    stop();
}

// That a client which stops can't confirm them all is what close() says.
void core::note_unreleased(std::string_view what, error_code why) noexcept
{
    unreleased_ = true;
    if (why != error::closed)
        log(log_level::warning, [&] {
            return "release " + std::string{what} +
                ": not confirmed by the server: " + why.message();
        });
}

// The closing goes on; nobody waits for its end.
void core::cancel_close(std::shared_ptr<operation> const& who)
{
    if (closer_ == who && closing_)
        closing_(asio::error::operation_aborted);
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
    transport_->stop();
    end_waiters(error::closed);
    rechecks_.stop();
    heartbeats_.stop();
    subscriptions_.stop();
    watchdog_.stop();
    rearm_timer();  // for what still has to end by itself
    end_run({});
    finish_closing(error::closed);
}

void core::retire()
{
    stop();
    phase_ = phase::closed;
    end_waiters(error::closed);  // those that came after an earlier stop()
}

void core::close(std::shared_ptr<operation> who, completion<> done)
{
    if (phase_ == phase::closed || closer_)
        return done(error::closed);
    if (phase_ != phase::running) {
        // No link will come up: leases run out by themselves.
        bool const held = !tenures_.empty() || count.holds != 0 || count.owed_releases != 0;
        phase_ = phase::closing;
        stop();
        return done(held ? error_code{error::unavailable} : error_code{});
    }
    unreleased_ = false;
    phase_ = phase::closing;
    closer_ = std::move(who);
    closing_ = std::move(done);
    set_alarm(close_limit_, clock::now() + settings_.close_timeout.value_or(settings_.lease));
    end_waiters(error::closed);
    for_each_key(
        [](contention const& key) { return key.remembers(); },
        [](contention& key) { key.forget_turns(); }
    );
    next_release_ = tenures_.begin();
    release_some();
    for (auto const& r : residents_.all())
        r->release_all();
    finish_closing_if_done();
}

// A million at once would be a million scripts in memory, and nothing else done meanwhile: each
// that is released makes room for the next.
void core::release_some()
{
    if (std::exchange(releasing_, true))
        return;
    while (next_release_ != tenures_.end() && count.owed_releases < most_owed_releases)
        (next_release_++)->shared_from_this()->release_all();
    releasing_ = false;
}

void core::finish_closing_if_done()
{
    // A key without an ownership has an acquire under way, which may still be granted.
    if (closer_ && !is_stopped() && tenures_.empty() && keys_.empty() && residents_.is_empty())
        finish_closing(unreleased_ ? error_code{error::unavailable} : error_code{});
}

void core::finish_closing(error_code ec)
{
    if (!std::exchange(closer_, nullptr))
        return;
    close_limit_.clear();
    auto done = std::exchange(closing_, {});
    stop();
    if (done)
        done(ec);
}

error_code core::refusal() const noexcept
{
    return phase_ == phase::closing || phase_ == phase::closed ? error_code{error::closed}
                                                               : error_code{};
}

void core::end_waiters(error_code why)
{
    for_each_key(
        [](contention const& key) { return key.is_wanted(); },
        [why](contention& key) { key.end_waiters(why); }
    );
    for (auto const& r : residents_.all())
        r->end_waiters(why);
}

void core::shut_down() noexcept
{
    is_context_gone_ = true;
    destroy_pending();
}

void core::destroy_pending() noexcept
{
    if (shut_down_.exchange(true))
        return;
    // Handlers hold coroutines of the user, which hold locks, holds and clients: all of them are
    // destroyed here, while this is still whole.
    auto const life = weak_from_this().lock();
    auto const running = std::exchange(running_, {});
    auto const closing = std::exchange(closing_, {});
    auto const runner = std::exchange(runner_, nullptr);
    auto const closer = std::exchange(closer_, nullptr);
    if (transport_)
        transport_->abandon();
    std::vector<std::shared_ptr<tenure>> tenures;
    for (auto& t : tenures_)
        tenures.push_back(t.shared_from_this());
    for (auto const& t : tenures)
        t->abandon();
    for (auto const& [name, key] : keys_)
        key->abandon();
    for (auto const& r : residents_.all())
        r->abandon();
    while (!pauses_.empty()) {
        pause& under_way = pauses_.front();
        pauses_.pop_front();
        under_way.over.drop();
    }
    agenda_.clear();
    drain_abandoned();
}

}  // namespace colock::detail
