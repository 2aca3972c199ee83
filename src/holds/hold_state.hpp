#pragma once

#include "base/clock.hpp"
#include "base/completion.hpp"
#include "decide/copies.hpp"
#include "decide/lease.hpp"
#include "decide/linked_list.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/owner.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace colock {

class hold_target;

inline namespace v0_3 {
namespace detail {

/// The state behind the handle of a hold. The handle reads the atomics; everything else belongs to
/// the strand.
class hold_state : public decide::list_hook<>, public decide::hold_terms {
public:
    enum class status : char { held, lost, released };

    /// The calls by which its owner ends it. While one is on its way to the strand, that one ends
    /// the hold, and not the destructor.
    enum owner_call : unsigned char { give_asked = 1, release_asked = 2, destroyed = 4 };

    struct loss_wait;

private:
    // The single bytes come first, behind that of the terms: a million holds are as many of these.
    std::atomic<status> status_ = status::held;
    bool stop_requested_ = false;  ///< for a source that is made later

public:
    std::atomic<unsigned char> owner_calls = 0;  ///< of `owner_call`
    bool given : 1 = false;                      ///< the caller has it
    bool closed : 1 = false;  ///< by its closing client; set before it is `released`
    std::atomic<unsigned char> replicas = 0;  ///< that have the last step which proved it
    decide::copies wants{};                   ///< without which no step proves it

    hold_state(core_ptr c, owner const& holder, milliseconds l, bool by_watchdog)
        : decide::hold_terms{.lease = l, .renewed = by_watchdog}
        , inside{std::move(c)}
        , who{holder}
    {}

    // ---- From any thread -----------------------------------------------------------------------

    status current_status() const noexcept { return status_.load(std::memory_order_acquire); }

    time_point valid_until() const noexcept;

    /// The same as far as this state knows; the hold of a group ends with its parts.
    time_point promised_until() const noexcept
    {
        return time_point{time_point::duration{until_.load(std::memory_order_acquire)}};
    }

    std::stop_token stop_token();

    core_ptr const inside;
    owner const who;
    std::uint64_t token = 0;  ///< set before the hold is given out

    // ---- On the strand -------------------------------------------------------------------------

    void set_valid_until(time_point t) noexcept
    {
        until_.store(t.time_since_epoch().count(), std::memory_order_release);
    }

    /// See `hold_terms::confirm`. So many replicas have acknowledged the script.
    void confirm(
        time_point sent, milliseconds set, milliseconds sure, bool begins, unsigned acknowledged
    ) noexcept
    {
        replicas.store(
            static_cast<unsigned char>(std::min(acknowledged, decide::copies::most_replicas)),
            std::memory_order_relaxed
        );
        set_valid_until(hold_terms::confirm(sent, set, sure, begins, promised_until()));
    }

    /// The server has confirmed the hold, and nothing contradicts it.
    bool is_confirmed() const noexcept
    {
        return current_status() == status::held && promised_until() != time_point{};
    }

    /// The hold is lost: tells all callers that wait for that.
    void lose();

    /// The hold was released, by its owner or because its client closes: tells callers that wait
    /// for a loss that none will come, and why.
    void mark_released(failure why);
    failure why_ended() const noexcept;
    /// For the log: why its lease ends, if the server may still have the lock.
    char const* why_unproven(std::optional<milliseconds> max_hold) const noexcept;
    void add(std::shared_ptr<loss_wait>);

    std::shared_ptr<hold_target> target;
    std::unique_ptr<std::vector<std::shared_ptr<loss_wait>>> loss_waits;  ///< few have any

    /// An abandoned hold on its way to the strand: owns this hold, and points to the next one.
    hold_ptr abandoned;

private:
    void finish_waits(failure);
    void request_stop();

    std::atomic<time_point::rep> until_ = 0;
    std::stop_source stop_{std::nostopstate};  ///< made on demand
};

/// A caller that waits for a hold's loss.
struct hold_state::loss_wait final : operation {
    explicit loss_wait(hold_ptr h) : watched{std::move(h)} {}
    void cancel() override;

    hold_ptr watched;
    completion<> done;
};

}  // namespace detail
}  // namespace v0_3

using detail::hold_state;
using hold_ptr = detail::hold_ptr;

}  // namespace colock
