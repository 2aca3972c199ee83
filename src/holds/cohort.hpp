#pragma once

#include "base/clock.hpp"
#include "colock_scripts.hpp"
#include "decide/linked_list.hpp"
#include "decide/renewal.hpp"
#include "decide/renewal_schedule.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

class ownership;

/// The place among those whose call is not sent yet.
struct in_cohort_queue;
using cohort_hook = decide::list_hook<in_cohort_queue>;

/// Ownerships that one call renews again and again. The call is prepared once, and its success is
/// one time for all of them, so a renewal touches none of the ownerships.
///
/// All members have one hold each, with the same lease. Any other event than a renewal takes its
/// ownership out first, and a call that does not renew all of them dissolves the cohort. From then
/// on each has its own times, and gets its own answer.
///
/// Everything belongs to the strand, except `membership::valid_until`.
class cohort : public decide::renewal_schedule::entry, public cohort_hook {
public:
    static constexpr std::size_t largest = 128;

    class membership;

    /// An ownership's part of a renewal call under way.
    struct part {
        std::shared_ptr<ownership> of;
        decide::renewal::round round;
        std::size_t place;  ///< in the call
    };

    /// The terms that all members have.
    struct terms {
        scripts::script const* renew;
        milliseconds lease;
        std::optional<milliseconds> loss_margin;
    };

    /// Begins without members. `id_prefix` is what the ids of a client's locks begin with; it is
    /// kept once, and not with each member. It has to live as long as the cohort.
    void form(terms const&, std::string_view id_prefix);

    /// Ends what has no members any more: memory and call are free.
    void disband() noexcept;

    scripts::script const& script() const noexcept { return *terms_.renew; }
    milliseconds lease() const noexcept { return terms_.lease; }
    std::size_t size() const noexcept { return size_; }
    bool is_queued() const noexcept { return cohort_hook::is_linked(); }

    /// A member, whose part of a call has this key and these arguments.
    void add(ownership&, unsigned slot, std::string_view key, std::span<std::string_view const>);

    /// Takes it out. Its place in the call stays empty until the next call.
    void remove(ownership const&) noexcept;
    std::size_t place_of(ownership const&) const noexcept;

    /// Null: has left.
    std::span<ownership* const> members() const noexcept { return members_; }
    std::span<std::uint16_t const> slots() const noexcept { return slots_; }

    // ---- The call ------------------------------------------------------------------------------

    /// The keys and arguments of a call. They refer to the cohort, and to themselves.
    struct words {
        std::vector<std::string_view> keys, arguments;
        std::string ids, lease;
    };

    /// It is sent now, with all members at their places in `members`.
    void begin_call(words&);
    bool is_under_way() const noexcept { return is_under_way_; }

    /// It left while the call was under way, and still gets the answer.
    void keep_answer_for(part who) { left_.push_back(std::move(who)); }

    /// The call is answered. Returns those that left in the meantime.
    std::vector<part> end_call() noexcept;

    /// All members were renewed by the call of `sent`; `now` is the time of the answer.
    void renewed(time_point sent, time_point now) noexcept;
    time_point sent() const noexcept { return sent_; }
    time_point answered() const noexcept { return answered_; }
    time_point valid_until() const noexcept;
    /// When they are lost if no call renews them.
    time_point loss_time() const noexcept;

    /// Frees the memory that more members would need.
    void fit();

private:
    /// The words of a member: its key, and its arguments without the lease.
    std::size_t words_each() const noexcept { return ends_.size() / members_.size(); }
    void close_gaps();
    void put(std::string_view word);

    terms terms_{};
    std::string_view id_prefix_;
    std::vector<ownership*> members_;
    std::vector<std::uint16_t> slots_;
    std::string text_;                 ///< the words of all members
    std::vector<std::uint32_t> ends_;  ///< of each word in `text_`
    std::size_t size_ = 0;
    bool has_prefix_ = false;  ///< its ids begin with `id_prefix_`
    bool is_under_way_ = false;
    time_point sent_{};
    time_point answered_{};
    std::vector<part> left_;

    std::atomic<time_point::rep> until_ = 0;
    std::atomic<std::uint32_t> formation_ = 0;  ///< how often it was formed
};

/// Whether an ownership is in a cohort, and in which.
class cohort::membership {
public:
    cohort* of() const noexcept { return of_.load(std::memory_order_relaxed); }
    void set(cohort* to) noexcept { of_.store(to, std::memory_order_release); }

    /// Until when the cohort has proven the lease; the epoch if it is in none. From any thread, as
    /// long as the client exists, because a cohort's memory lives that long.
    time_point valid_until() const noexcept;

private:
    std::atomic<cohort*> of_ = nullptr;
};

}  // namespace colock
