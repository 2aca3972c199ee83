#pragma once

#include "decide/copies.hpp"
#include "decide/lease_steps.hpp"
#include "decide/outcome.hpp"
#include "decide/time.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace colock::decide {

/// The lease of a field that was requested, as its answer proves it.
struct proven_grant {
    time_point sent;
    milliseconds lease;
    milliseconds sure = lease;             ///< see `lease_steps::end`
    std::shared_ptr<lease_steps> steps{};  ///< that may still run; mostly none
    unsigned replicas = 0;                 ///< that have acknowledged it
    copies wanted{};                       ///< that may have it
};

/// The one request by which a client asks the server for its waiters, and the client's next step.
///
/// If the answer to a request is lost, or its waiter left before the answer, the request may have
/// taken a lock or permits. It stays open until another waiter gets what it has taken, or the
/// client gives that back. An undo whose answer is lost may have given it back, so from then on no
/// waiter may have it. Its number is also that of its entry in the wait list at the server, for as
/// long as somebody waits here.
class open_request {
public:
    enum class action {
        none,      ///< nobody waits, nothing is open
        begin,     ///< send a new request
        again,     ///< send the open one again: its answer was lost, or it stands in the wait list
        hand_out,  ///< it has taken, and the first in the queue wants the same
        undo       ///< give back what it may have taken
    };

    open_request() = default;
    explicit open_request(std::uint64_t number) noexcept : number_{number} {}

    /// `waited_for`: the queue has a first waiter; `fits`: it wants the same as the open request.
    action next(bool waited_for, bool fits) const noexcept
    {
        if (!is_open() && !is_listed_)
            return waited_for ? action::begin : action::none;
        if (undoing_ || !waited_for || !fits)
            return action::undo;
        return is_taken() ? action::hand_out : action::again;
    }

    /// Another field is requested. `others`: steps of it that may still run; it may exist `until`.
    void begin(
        std::uint64_t number, std::shared_ptr<lease_steps> others = {}, time_point until = {}
    ) noexcept
    {
        number_ = number;
        steps_ = std::move(others);
        until_ = until;
        is_listed_ = false;
    }

    /// A request for a lease is answered, and was written at last at `on`. A request that was lost
    /// may still run, and set its lease then; a slow server may run it just now.
    proven_grant answered(
        outcome const& is,
        answer const& got,
        milliseconds lease,
        connection_life const& on,
        time_point now
    )
    {
        if (is.may_stand)
            may_stand(is, got.sent, now + lease);
        if (is.what == outcome::kind::refused)
            refused();
        return prove(lease, got, on);
    }

    /// The request of `sent` may have taken something, which exists `until` at the latest.
    void may_stand(outcome const& is, time_point sent, time_point until) noexcept
    {
        sent_ = sent;
        bool const taken = is.what == outcome::kind::granted || is.what == outcome::kind::unsynced;
        is_ = taken ? state::taken : state::unsure;
        may_stand_until(until);
    }
    void may_stand_until(time_point end) noexcept { until_ = std::max(until_, end); }

    /// There is nothing at the server. But if an earlier answer was lost, the server may still
    /// receive that request and grant it. If permits would then stay out for good (`stays_out`), it
    /// stays open: the next attempt with its number finds what it has taken, or an undo prevents
    /// that.
    void refused(bool stays_out = false) noexcept
    {
        if (is_ == state::unsure && stays_out)
            return;
        is_ = state::idle;
        until_ = {};
        was_late_ = false;
    }

    /// The answer to an undo is lost, or nobody may have what was taken.
    void undo_lost() noexcept { undoing_ = true; }

    /// Nothing of what it may have taken is left. If it may stand in the list, that is undone.
    void run_out() noexcept
    {
        refused();
        undoing_ = is_listed_;
        if (!is_listed_)
            close();
    }

    /// A waiter has it, or somebody else gives it back. Returns its number.
    std::uint64_t close() noexcept
    {
        auto const number = number_;
        bool const was_late = was_late_;
        *this = {};
        was_late_ = was_late;
        return number;
    }

    enum class use {
        hand_out,   ///< at least half of its validity is left
        ask_again,  ///< too late: the same field is acquired again, which renews it
        give_back   ///< the server or the network is always that late: others have their chance
    };

    /// A grant has come.
    use use_of_grant(
        time_point now, proven_grant const& got, time_point resumed = time_point::min()
    ) noexcept
    {
        if (!is_fresh_until(now, valid_until(got.sent, got.sure), got.lease, resumed))
            return std::exchange(was_late_, true) ? use::give_back : use::ask_again;
        was_late_ = false;
        return use::hand_out;
    }

    /// It is sent, and these copies are to have what it takes. Until it is closed they may.
    void want(copies const& more) noexcept { wanted_ |= more; }
    copies const& wanted() const noexcept { return wanted_; }

    std::uint64_t number() const noexcept { return number_; }
    bool is_open() const noexcept { return is_ != state::idle; }

    /// It is about to be sent, and may put its entry into the wait list.
    void lists() noexcept { is_listed_ = true; }
    bool is_listed() const noexcept { return is_listed_; }
    bool is_taken() const noexcept { return is_ == state::taken; }

    /// The request may have taken something that exists until then at the latest.
    time_point until() const noexcept { return until_; }
    bool stands(time_point now) const noexcept { return until_ > now; }

    /// The last time at which it was sent and may have taken.
    time_point sent() const noexcept { return sent_; }

private:
    enum class state { idle, unsure, taken };

    proven_grant prove(milliseconds lease, answer const& got, connection_life const& on)
    {
        if (got.what == answer::kind::lost && !steps_)
            steps_ = std::make_shared<lease_steps>();
        if (!steps_)
            return {got.sent, lease, lease, {}, got.replicas, wanted_};
        auto const sure = steps_->end(steps_->begin(lease), got, on);
        if (steps_->is_empty())
            steps_ = nullptr;
        return {got.sent, lease, sure, steps_, got.replicas, wanted_};
    }

    std::uint64_t number_ = 0;            ///< none before it begins
    std::shared_ptr<lease_steps> steps_;  ///< lost requests of the field
    time_point until_{}, sent_{};
    state is_ = state::idle;
    bool undoing_ = false;
    bool is_listed_ = false;
    bool was_late_ = false;  ///< the last grant
    copies wanted_;
};

}  // namespace colock::decide
