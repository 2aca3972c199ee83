#pragma once

#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/lease.hpp"
#include "decide/lease_steps.hpp"
#include "decide/linked_list.hpp"
#include "decide/open_request.hpp"
#include "decide/renewal.hpp"
#include "decide/renewal_schedule.hpp"
#include "holds/hold_list.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_registry.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include "holds/lock_traits.hpp"
#include "holds/loss_notice.hpp"
#include "holds/ownership_listener.hpp"
#include "holds/server_field.hpp"
#include "holds/settlement.hpp"
#include "holds/watchdog.hpp"
#include "redis/transport.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

using detail::core;
using detail::core_ptr;

/// The place among those of a lane whose renewal is not sent yet.
struct in_renewal_queue;
using renewal_hook = decide::list_hook<in_renewal_queue>;

/// One ownership of a lock: a field in Redis, from the acquire that wrote it to the release that
/// removes it, and the holds that live on it. Or one permit, with its one hold.
///
/// The holds need a depth and a lease at the server; its `settlement` sets them, one script after
/// the other. So re-entry, partial release, release and extension are one loop, and no step depends
/// on how often another one ran. The `watchdog` renews it together with others.
class ownership final :
    public hold_target,
    public std::enable_shared_from_this<ownership>,
    public decide::renewal_schedule::entry,
    public renewal_hook,
    public registry_hook {
public:
    /// A permit has no listener, and neither has a grant that is given back while its lock has
    /// another ownership.
    ownership(
        core& inside,
        ownership_listener* of,
        lock_traits const& how,
        std::string_view name,
        std::uint64_t number,
        owner const& who
    );

    std::string const& name() const noexcept { return field_.name(); }
    std::uint64_t number() const noexcept { return field_.number(); }
    unsigned slot() const noexcept override { return field_.slot(); }
    std::string_view shown_name() const noexcept override { return field_.given_name(); }
    owner const& who() const noexcept { return who_; }
    std::uint64_t token() const noexcept { return token_; }

    /// Holds that enter from now on get this token: it is a part of a red lock, which has another
    /// one.
    void set_token(std::uint64_t token) noexcept { token_ = token; }
    lock_traits const& how() const noexcept { return field_.how(); }
    time_point server_until() const noexcept { return server_.until(); }

    /// The copies that may have it.
    decide::copies const& copies() const noexcept { return copies_; }

    /// When it was granted.
    time_point begun() const noexcept { return server_.begun(); }

    /// A step that sets its lease is unanswered.
    bool is_setting() const noexcept { return sent_ && sent_->is_under_way(); }

    /// It may have been taken away, and no later script has found it.
    bool is_suspect() const noexcept { return server_.is_suspect(); }

    /// It has not ended.
    bool is_listed() const noexcept { return registry_hook::is_linked(); }

    /// The server no longer has it.
    bool is_gone() const noexcept { return stage_ == stage::gone; }

    /// It is the current one of its lock: not lost, and not ended.
    bool is_current() const noexcept { return listener_ != nullptr; }

    /// A step of it is under way.
    bool is_settling() const noexcept { return steps_ && steps_->is_running(); }

    /// It has a holder that has not been told of a loss.
    bool is_held() const noexcept { return living_holds() != 0; }
    std::size_t living_holds() const noexcept { return holds_.living(); }

    /// The server has not said yet whether it is still there.
    bool is_open() const noexcept { return awaits_renewal() || renewal_.has_failed(); }

    /// It has a hold that is not lost, confirmed or not.
    bool is_wanted() const noexcept { return holds_.is_wanted(); }

    /// It has to stay taken after its holds have ended (`acquire_options::at_least`).
    bool stays_taken() const noexcept
    {
        auto const now = clock::now();
        return server_.stays_taken(now) || holds_.stays_taken(now);
    }

    /// Its owner has holds on the other side of the hash, too.
    bool is_on_both_sides() const noexcept
    {
        auto const other = beside();
        return other && !other->holds_.is_empty();
    }

    /// A leader publishes words under its field, so the field ends with its holds. From any thread,
    /// before they are sent.
    void speak() noexcept { is_spoken_for_.store(true, std::memory_order_relaxed); }
    bool is_spoken_for() const noexcept { return is_spoken_for_.load(std::memory_order_relaxed); }

    /// The first hold, by the answer to its acquire.
    void begin(hold_ptr, decide::proven_grant const&);

    /// The steps that may still run, for an attempt that takes over its field.
    std::shared_ptr<decide::lease_steps> const& steps_sent() const noexcept { return sent_; }

    /// Begins without an acquire: the server admits it because of another ownership in the same
    /// hash, with the same owner and number. `enter` follows.
    void begin_beside(ownership& other);

    /// The other side of the hash, which had the longer lease, has ended: restores this one's
    /// lease, unless a renewal will.
    void set_lease_again();

    /// Releases a grant, or a possible grant, that nobody wants, or just its place in the wait
    /// list: until that moment, and over the link of its request. These copies may have it.
    void give_back(time_point until, decide::copies const& wanted, bool is_just_a_place = false);

    /// Enters once more for the same owner; `entered` gets the outcome.
    void enter(std::shared_ptr<hold_operation>);
    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;

    failure give(hold_state& only, claim& to) override;

    /// The user of a hold has dropped it.
    void abandon_hold(hold_ptr const& hold) override
    {
        if (hold->is_linked())
            release(make_recycled<hold_operation>(inside().shared_from_this(), hold));
    }

    /// Releases all holds that their owners still have, because the client closes.
    void release_all();

    /// A waiter's hold takes the place of the last hold, without a command.
    void pass_on(hold_state& last, hold_ptr const& next);

    /// The last hold ends, and another ownership takes over the field.
    void let_go(hold_state& last)
    {
        remove(last, asio::error::operation_aborted);
        finish();
    }

    /// The field is gone, by an answer of the server or a forced release of this client.
    void gone(failure why);

    /// A script that was sent then took the lock away. An earlier grant is gone. For a later grant
    /// the server is asked, because links may overtake each other.
    void taken_away(time_point sent)
    {
        if (!server_.is_granted())
            return;  // granted to nobody, and perhaps not granted yet: it is still given back
        if (begun() <= sent)
            gone(error::lost);
        else
            suspect();
    }

    /// Another ownership of this client has the lock, by a script that was sent then.
    void replaced(time_point sent)
    {
        auto const self = shared_from_this();
        taken_away(sent);
        detach();
    }

    /// Somebody may have taken it away: asks the server whether it still stands.
    void suspect();

    /// Until when its hold is valid. From any thread.
    time_point valid_until(hold_state const& of) const noexcept override
    {
        return of.promised_until();
    }

    /// Destroys handlers without calling them, because the context is destroyed.
    void destroy_pending() noexcept
    {
        notice_.reset();
        auto const asked = steps_ ? steps_->take_asked() : hold_operations{};
        holds_.destroy_pending();
    }

    /// Tells the client's report who holds it.
    void tell(presence& to) const { holds_.tell(to, field_); }

    // ---- For the watchdog ----------------------------------------------------------------------

    struct times {
        time_point renew_at;
        time_point lose_at;
    };

    /// The copies without which a renewal proves nothing to one of its holds.
    decide::copies wants() const noexcept { return holds_.wants(); }

    /// Its call is made now: writes its part, unless it needs no renewal any more.
    std::optional<decide::lease_steps::step> begin_renewal(script_texts&);

    /// `on`: where its call was written. `reply`: its part of the answer, if there is one. `jitter`
    /// in [0, 1) is that of the whole call, so that what was renewed together is renewed together
    /// again. Returns when to look at it again.
    times renewal_answered(
        decide::lease_steps::step const&,
        answer const&,
        decide::connection_life const& on,
        decide::reply const* reply,
        double jitter
    );

    /// The call was refused as a whole. True if this one still needs its renewal.
    bool renewal_refused(
        decide::lease_steps::step const& which, answer const& got, decide::connection_life const& on
    )
    {
        end_step(which, got, on);
        return renewal_.is_current(which.number);
    }

    /// The server may not know it any more: queues it for renewal.
    void renew_now();

    /// The time of loss has come for some hold.
    void expire(time_point now);

private:
    friend class settlement;

    enum class stage : char {
        standing,
        releasing,  ///< the release script was sent
        gone,       ///< the server no longer has it
        ended       ///< it was released, or nothing is left to do for it
    };

    // ---- For the settlement --------------------------------------------------------------------

    void begin_release() noexcept
    {
        if (std::exchange(stage_, stage::releasing) != stage::releasing)
            ++inside().count.owed_releases;
    }
    bool is_releasing() const noexcept { return stage_ == stage::releasing; }

    /// A step is about to be sent that sets this lease.
    decide::lease_steps::step begin_step(milliseconds lease)
    {
        using side = decide::lease_steps::side;
        if (!sent_)
            sent_ = make_recycled<decide::lease_steps>();
        return sent_->begin(lease, how().has_leases ? side::reader : side::whole);
    }

    /// A reader beside a writer ends, and the next one there has the same field, which a late
    /// release takes away: nothing is proven of that one while the release may still run.
    bool may_have_successor() const noexcept { return how().has_leases && beside(); }

    /// It is answered. Returns how much of its lease that proves.
    milliseconds end_step(
        decide::lease_steps::step const&, answer const&, decide::connection_life const& on
    );

    /// The script of this answer has set this lease, and `sure` of it is proven to those who want
    /// no other copies than it has.
    void extended(
        answer const&, milliseconds set, milliseconds sure, hold_operations const& asking
    );

    /// The steps are answered.
    void settled();

    /// The field may still exist. The other side of the hash must not keep it alive.
    void let_run_out()
    {
        if (auto const other = beside())
            other->gone(error::lost);
    }

    /// A later event replaces the renewal: a step with another lease, or the loss.
    void forget_renewal() noexcept
    {
        renewal_.forget();
        if (renewal_hook::is_linked())
            renewal_hook::unlink();
    }

    /// The lease to set now: the longest that any hold was promised, including those of the other
    /// side.
    milliseconds promise() const noexcept
    {
        // A reader has its own lease, and doesn't shorten the TTL of the hash.
        auto const other = how().has_leases ? nullptr : beside();
        return other ? std::max(promised_here(), other->promised_here()) : promised_here();
    }

    /// The server may have the field until then: the other side of the hash keeps it alive, and so
    /// may a renewal that is not answered when its release is due.
    time_point stands_until() const noexcept
    {
        auto const other = beside();
        auto const until = other ? std::max(server_until(), other->server_until()) : server_until();
        return is_releasing() && is_setting()
            ? std::max(until, clock::now() + sent_->longest_under_way())
            : until;
    }

    settlement& steps()
    {
        if (!steps_)
            steps_ = std::make_unique<settlement>(inside(), *this);
        return *steps_;
    }

    /// It can move to another owner: it has this hold alone, nothing is under way, and it need not
    /// stay taken longer.
    bool may_move(hold_state const& only) const noexcept
    {
        auto const now = clock::now();
        return stage_ == stage::standing && is_current() && !is_settling() &&
            holds_.is_only(only) && !only.stays_taken(now) && !server_.stays_taken(now) &&
            how().may_be_taken_over;
    }
    void ask(hold_ptr hold)
    {
        steps().ask(make_recycled<hold_operation>(inside().shared_from_this(), std::move(hold)));
    }
    void renewed(answer const&, milliseconds set, milliseconds sure, double jitter);
    void renewal_failed(failure why, bool is_busy);
    times next_times() const noexcept;
    void watch()
    {
        auto const [renew_at, lose_at] = next_times();
        inside().watchdog().watch(*this, renew_at, lose_at);
    }
    void remove(hold_state&, failure why);
    /// Hears the server's events of its key, if the config asks for it.
    void listen()
    {
        notice_ = loss_notice::of(inside(), name(), how().has_leases, [this] {
            auto const life = shared_from_this();
            suspect();
        });
    }
    void detach()
    {
        notice_.reset();
        if (auto* const key = std::exchange(listener_, nullptr))
            key->ended(*this);
    }
    void finish();

    /// The other ownership in the same hash, if it exists.
    std::shared_ptr<ownership> beside() const noexcept
    {
        auto const other = beside_.lock();
        return other && other->is_listed() && !other->is_gone() ? other : nullptr;
    }

    core& inside() const noexcept { return field_.inside(); }
    milliseconds promised_here() const noexcept
    {
        auto const now = clock::now();
        return std::max({milliseconds{1}, server_.kept_for(now), holds_.promised(now)});
    }

    /// An unanswered step of the settlement sets an older promise, and might run after the renewal.
    /// Its answer also says whether the field exists.
    bool may_renew() const noexcept
    {
        return stage_ == stage::standing && !is_settling() && !inside().is_stopped();
    }

    /// A renewal is due, sent or about to be: its answer will say when the next one is.
    bool awaits_renewal() const noexcept
    {
        return renewal_.is_wanted() || renewal_hook::is_linked();
    }
    bool is_to_be_renewed() const noexcept
    {
        return is_suspect() || holds_.shortest_due(clock::now()) != milliseconds::max();
    }

    ownership_listener* listener_;  ///< none once another ownership of the lock may begin
    std::weak_ptr<ownership> beside_;
    // A million holds are as many of these: the next two take no room of their own.
    [[no_unique_address]] server_field field_;
    stage stage_ = stage::standing;
    std::atomic<bool> is_spoken_for_ = false;
    bool is_place_ = false;    ///< there is nothing but an entry in the wait list
    decide::copies copies_{};  ///< that may have it
    owner who_;
    std::uint64_t token_ = 0;
    hold_list holds_;
    decide::server_lease server_;
    decide::renewal renewal_;
    std::shared_ptr<decide::lease_steps> sent_;  ///< of both sides; none if nothing is in doubt
    std::unique_ptr<settlement> steps_;          ///< none before the first step
    std::unique_ptr<loss_notice> notice_;        ///< none unless the config asks for it
};

}  // namespace colock
