// How a client ends: stopped, closed in order, destroyed, or with its context.
#include "client/client_state.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

// ---- stop() ------------------------------------------------------------------------------------

void client_state::cancel_run(std::shared_ptr<operation> const& who)
{
    if (runner_ != who)
        return;
    end_run(asio::error::operation_aborted);
    stop();
}

void client_state::end_run(failure ec)
{
    runner_.reset();
    if (running_)
        running_(ec);
}

void client_state::stop()
{
    if (is_stopped())
        return;
    life_.now = life_.now == phase::closing ? phase::closed : phase::stopped;
    part();
    end_run({});
    finish_closing(error::closed);
    flushing_.reset();
}

// ---- close() -----------------------------------------------------------------------------------

// Closing goes on without a caller.
void client_state::cancel_close(std::shared_ptr<operation> const& who)
{
    if (closer_ == who && closing_)
        closing_(asio::error::operation_aborted);
}

void client_state::close(std::shared_ptr<operation> who, completion<> done)
{
    if (life_.now == phase::closed || life_.now == phase::closing)
        return done(error::closed);
    if (life_.now != phase::running) {
        states_.release_all();  // holds of several locks, whose parts other clients have
        // No link will come up, so the leases run out.
        bool const held = !holds_.is_empty() || count.holds != 0 || count.owed_releases != 0 ||
            count.owed_copies != 0 || count.guards != 0 || life_.activities != 0;
        life_.now = phase::closing;
        stop();
        return done(held ? failure{error::unavailable} : failure{});
    }
    life_.unreleased = false;
    life_.now = phase::closing;
    closer_ = std::move(who);
    closing_ = std::move(done);
    set_alarm(close_limit_, clock::now() + settings().close_timeout.value_or(settings().lease));
    refuse_who_waits();
    holds_.release_all();
    states_.release_all();
    finish_closing_if_done();
}

void client_state::on_less()
{
    if (life_.now == phase::closing)
        holds_.release_more();
    finish_closing_if_done();
}

void client_state::finish_closing_if_done()
{
    // A lock without an ownership may have an acquire under way, which may still be granted. A
    // client that was refused may have to leave a wait list.
    bool const is_quiet = life_.activities == 0 && states_.is_empty() && count.guards == 0;
    if (closer_ && !is_stopped() && holds_.is_empty() && is_quiet)
        finish_closing(life_.unreleased ? failure{error::unavailable} : failure{});
}

std::string client_state::what_is_owed() const
{
    auto const copies = count.owed_copies.load();
    return std::to_string(count.owed_releases + copies) +
        " releases that the server has not confirmed" +
        (copies != 0 ? ", or that replicas or disk may lack" : "") +
        "; what they give back may be held until its lease ends";
}

void client_state::finish_closing(failure ec)
{
    if (!std::exchange(closer_, nullptr))
        return;
    close_limit_.clear();
    auto done = std::exchange(closing_, {});
    if (ec == error::unavailable && count.owed_releases + count.owed_copies != 0)
        log(log_level::warning, [&] { return "the client was closed with " + what_is_owed(); });
    stop();
    if (done)
        done(ec);
}

// ---- ~client -----------------------------------------------------------------------------------

// A closing that is under way goes on, because it has its own limit.
void client_state::retire()
{
    holds_.release_dropped();
    if (life_.now == phase::closing)
        return;
    if (life_.now != phase::running) {
        stop();
        life_.now = phase::closed;
        return;
    }
    life_.now = phase::closing;
    flushing_ = shared_from_this();
    auto const limit = settings().close_timeout.value_or(settings().timeout);
    set_alarm(flush_limit_, clock::now() + std::min(limit, settings().timeout));
    refuse_who_waits();
    end_flush_if_done();
}

/// Ends the waiters and drops the remembered turns; the client is closing.
void client_state::refuse_who_waits()
{
    states_.end_waiters(error::closed);
    states_.forget();
}

void client_state::on_quiet() noexcept
{
    auto life = weak_from_this().lock();
    if (!life || (!flushing_ && !closer_) || is_shut_down())
        return;
    // Not at once: the last user is still inside a call.
    asio::post(strand(), [this, life = std::move(life)] {
        end_flush_if_done();
        finish_closing_if_done();
    });
}

void client_state::end_flush_if_done()
{
    if (flushing_ && life_.owing == 0)
        stop();
}

void client_state::give_up_flush()
{
    log(log_level::warning, [&] {
        return "the client was destroyed with " + what_is_owed() +
            ". Remedy: co_await client.close() before";
    });
    stop();
}

// ---- The end of the context --------------------------------------------------------------------

client_state::~client_state() { destroy_pending(); }

/// Destroys the state on its strand, or where the context destroys handlers that it will not run
/// any more.
struct client_state::deferred_delete {
    explicit deferred_delete(client_state* s) noexcept : whole{s} {}
    deferred_delete(deferred_delete&&) noexcept = default;
    ~deferred_delete()
    {
        if (whole)
            whole->is_context_gone_ = true;
    }
    void operator()() { whole.reset(); }

    std::unique_ptr<client_state> whole;
};

// Any thread may drop the last reference, while handlers of the connections run on the strand.
void client_state::destroy(client_state* s) noexcept
{
    deferred_delete last{s};
    if (s->is_shut_down())
        return;  // no handler runs any more
    auto const strand = s->strand();
    asio::dispatch(strand, std::move(last));
}

void client_state::shut_down() noexcept
{
    is_context_gone_ = true;
    destroy_pending();
}

void client_state::destroy_pending() noexcept
{
    if (life_.shut_down.exchange(true))
        return;
    // Handlers own the user's coroutines, which own locks, holds and clients. All of them are
    // destroyed here, while this object is still complete.
    auto const life = weak_from_this().lock();
    auto const running = std::exchange(running_, {});
    auto const closing = std::exchange(closing_, {});
    auto const runner = std::exchange(runner_, nullptr);
    auto const closer = std::exchange(closer_, nullptr);
    auto const flushing = std::exchange(flushing_, nullptr);
    if (transport_owner_)
        transport_owner_->destroy_pending();
    holds_.destroy_pending();
    states_.destroy_pending();
    destroy_pauses();
    alarms_.shut_down();
    holds_.release_dropped();
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
