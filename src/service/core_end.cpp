// How a client ends: closed in order, destroyed, or with its context.
#include "service/core.hpp"
#include "service/exclusive_lock.hpp"
#include "service/ownership.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

/// How many releases are under way at a time while a client closes.
constexpr std::size_t most_owed_releases = 4'096;

}  // namespace

// ---- close() -----------------------------------------------------------------------------------

// close() reports that a stopping client can't confirm all releases.
void core::note_unreleased(std::string_view what, error_code why) noexcept
{
    unreleased_ = true;
    if (why != error::closed)
        log(log_level::warning, [&] {
            return "release " + std::string{what} +
                ": not confirmed by the server: " + why.message();
        });
}

// Closing goes on without a caller.
void core::cancel_close(std::shared_ptr<operation> const& who)
{
    if (closer_ == who && closing_)
        closing_(asio::error::operation_aborted);
}

void core::close(std::shared_ptr<operation> who, completion<> done)
{
    if (phase_ == phase::closed || phase_ == phase::closing)
        return done(error::closed);
    if (phase_ != phase::running) {
        // No link will come up, so the leases run out.
        bool const held = !ownerships_.empty() || count.holds != 0 || count.owed_releases != 0;
        phase_ = phase::closing;
        stop();
        return done(held ? error_code{error::unavailable} : error_code{});
    }
    unreleased_ = false;
    phase_ = phase::closing;
    closer_ = std::move(who);
    closing_ = std::move(done);
    set_alarm(close_limit_, clock::now() + settings_.close_timeout.value_or(settings_.lease));
    refuse_who_waits();
    next_release_ = ownerships_.begin();
    release_some();
    for (auto const& r : keyed_states_.all())
        r->release_all();
    finish_closing_if_done();
}

// A million at once would be a million scripts in memory, and would block everything else. So each
// completed release makes room for the next.
void core::release_some()
{
    if (std::exchange(releasing_, true))
        return;
    while (next_release_ != ownerships_.end() && count.owed_releases < most_owed_releases)
        (next_release_++)->shared_from_this()->release_all();
    releasing_ = false;
}

void core::finish_closing_if_done()
{
    // A key without an ownership may have an acquire under way, which may still be granted.
    if (closer_ && !is_stopped() && ownerships_.empty() && keys_.empty() &&
        keyed_states_.is_empty())
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

// ---- ~client -----------------------------------------------------------------------------------

// A closing that is under way goes on, because it has its own limit.
void core::retire()
{
    drain_abandoned();
    if (phase_ == phase::closing)
        return;
    if (phase_ != phase::running) {
        stop();
        phase_ = phase::closed;
        return;
    }
    phase_ = phase::closing;
    flushing_ = shared_from_this();
    auto const limit = settings_.close_timeout.value_or(settings_.timeout);
    set_alarm(flush_limit_, clock::now() + std::min(limit, settings_.timeout));
    refuse_who_waits();
    end_flush_if_done();
}

/// Ends the waiters and drops the remembered turn state; the client is closing.
void core::refuse_who_waits()
{
    end_waiters(error::closed);
    for_each_key(
        [](exclusive_lock const& key) { return key.remembers(); },
        [](exclusive_lock& key) { key.forget_turns(); }
    );
}

void core::on_quiet() noexcept
{
    if (!flushing_ || shut_down_)
        return;
    // Not at once: the last user is still inside a call.
    asio::post(strand_, [self = flushing_] { self->end_flush_if_done(); });
}

void core::end_flush_if_done()
{
    if (flushing_ && activities_ == 0)
        stop();
}

void core::give_up_flush()
{
    log(log_level::warning, [&] {
        return "the client was destroyed with " + std::to_string(count.owed_releases.load()) +
            " releases that the server has not confirmed; what they give back may be held until"
            " its lease ends. Remedy: co_await client.close() before";
    });
    stop();
}

// ---- The end of the context --------------------------------------------------------------------

void core::shut_down() noexcept
{
    is_context_gone_ = true;
    destroy_pending();
}

void core::destroy_pending() noexcept
{
    if (shut_down_.exchange(true))
        return;
    // Handlers own the user's coroutines, which own locks, holds and clients. All of them are
    // destroyed here, while this object is still complete.
    auto const life = weak_from_this().lock();
    auto const running = std::exchange(running_, {});
    auto const closing = std::exchange(closing_, {});
    auto const runner = std::exchange(runner_, nullptr);
    auto const closer = std::exchange(closer_, nullptr);
    auto const flushing = std::exchange(flushing_, nullptr);
    if (transport_)
        transport_->destroy_pending();
    std::vector<std::shared_ptr<ownership>> ownerships;
    for (auto& t : ownerships_)
        ownerships.push_back(t.shared_from_this());
    for (auto const& t : ownerships)
        t->destroy_pending();
    for (auto const& [name, key] : keys_)
        key->destroy_pending();
    for (auto const& r : keyed_states_.all())
        r->destroy_pending();
    while (!pauses_.empty()) {
        pause& under_way = pauses_.front();
        pauses_.pop_front();
        under_way.over.destroy_waiting();
    }
    alarms_.clear();
    drain_abandoned();
}

}  // namespace colock::detail
