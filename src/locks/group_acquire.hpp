#pragma once

#include "base/completion.hpp"
#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/in_portions.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/quorum.hpp"
#include "redis/transport.hpp"
#include <colock/acquire_many.hpp>
#include <colock/multi_lock.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace colock {

using detail::lock_group;

/// An acquire of several locks as one. It runs on the strand of the first lock's client, and
/// acquires the parts as a user would.
class group_acquire final : public operation {
public:
    /// One hold for all parts, or a hold for each.
    using result = std::variant<
        completion<group_hold>,
        completion<if_acquired<group_hold>>,
        completion<held_locks>>;

    group_acquire(core_ptr inside, lock_group of, acquire_options options);

    void cancel() override;

    /// Takes them, all together or by majority; or those that are free.
    void start();

    /// Ends it for this reason, whatever request is under way.
    void stop(failure why);

    result done;
    bool once = false;
    bool takes_free = false;
    std::optional<milliseconds> wait{};

private:
    class registry_entry;

    /// The requests of one acquire to the parts of its group, and their answers: what is asked,
    /// what it has got, and whether that is enough. A round is what is asked at the same time.
    class requests {
    public:
        /// `of` is the acquire: a request under way keeps it alive.
        requests(operation& of, core& inside, lock_group const&, acquire_options const&);

        // ---- Rounds: each sets `over` when all that it asked have answered ----------------------

        /// Tries all parts at once, so many in one turn of the strand, until that moment.
        void ask_all(time_point until, std::size_t in_a_turn)
        {
            ask(until, in_a_turn, [](request const&) { return true; });
        }

        /// Tries those that it does not have. Once most servers have answered, the others have a
        /// little time left.
        void ask_missing(time_point until)
        {
            ask(until, of_.parts.size(), [](request const& r) { return !r.got; });
        }

        /// Waits for one part.
        void wait_for(std::size_t i, time_point until);

        /// Sets the leases of the parts it has again, because the first have waited for the last.
        void set_leases(time_point until);

        // ---- By majority: the parts agree on a token, and their servers say if they vote --------

        /// So many have agreed that the lock may be given out. At once if all are needed.
        bool has_agreed();

        /// Asks those that have not agreed yet. False if it asks nobody.
        bool agree(time_point until);

        /// How long a server's clock is behind the token, at least; 0 if none is.
        milliseconds behind() const noexcept { return behind_; }

        /// A server that does not vote yet, because it has started a short time ago.
        struct later_vote {
            time_point at = never;
            std::size_t part = 0;
        };

        /// The one that votes next; at never if all do.
        later_vote next_vote() const noexcept;

        /// Releases what it has got. False if there is nothing, or nothing to wait for.
        bool release_all(time_point until);

        /// The caller does not wait any longer for what is not answered.
        void cancel_unanswered();

        /// No limit: the round is over.
        void clear_limit() noexcept { limit_.clear(); }

        event<bool> over;

        // ---- Parts ------------------------------------------------------------------------------

        /// It has this part.
        bool has(std::size_t i) const noexcept { return bool{requests_[i].got}; }

        bool has_any_of(std::span<std::size_t const> parts) const noexcept
        {
            return std::ranges::any_of(parts, [this](std::size_t i) { return has(i); });
        }

        /// The first part, in this order, that somebody else has by the last answer.
        auto first_refused(std::vector<std::size_t>& order) const noexcept
        {
            return std::ranges::find_if(order, [this](std::size_t i) {
                return requests_[i].is_refused;
            });
        }

        /// How long the servers that have refused usually take.
        clock::duration round_trip_of_refused() const
        {
            return usual_round_trip([](request const& r) { return r.is_refused; });
        }

        /// Ends the round if this part is lost: then it does not help to wait for others.
        void watch(std::size_t i);

        /// Gives back the parts from the first refused one on, in this order; renewed parts before
        /// it stay.
        void give_back_from_first_refused(std::vector<std::size_t> const& order);
        void give_back_all();

        /// The parts, which are the caller's from now on.
        std::vector<hold> take_all();

        /// Their state, as far as it is known. A part that is gone by its server's last answer, or
        /// that has none, counts for nothing until it is healed.
        std::vector<decide::quorum_part> known() const
        {
            std::vector<decide::quorum_part> parts;
            for (auto const& r : all())
                parts.push_back(r.ec ? decide::quorum_part{} : r.known);
            return parts;
        }

        /// On which a majority has agreed; without a majority that of the first part.
        std::uint64_t agreed_token() const noexcept
        {
            return of_.by_majority ? token_ : requests_[0].known.drawn;
        }

        // ---- The outcome ------------------------------------------------------------------------

        bool has_all() const noexcept;

        /// It was granted parts of which less than half of the validity is left, or nothing.
        bool has_stale() const noexcept
        {
            return std::ranges::any_of(
                std::views::iota(std::size_t{0}, of_.parts.size()),
                [this](std::size_t i) { return detail::state_of(requests_[i].got) && !is_fresh(i); }
            );
        }
        /// One that was watched is lost.
        bool has_lost() const noexcept { return has_lost_; }

        /// So many parts as the group needs are held, and at least half of their validity is left.
        bool has_enough() const noexcept;

        /// More parts have failed than can be spared; `final`: in such a way that asking again does
        /// not help.
        bool has_failed(bool final) const noexcept;

        /// A final error, if there is any; otherwise any.
        failure first_error() const noexcept;

        /// Why it has waited in vain: no error if somebody else has had a part.
        failure why_unserved() const noexcept;

        milliseconds lease_of(std::size_t i) const noexcept;

    private:
        /// The state of one part.
        struct request {
            asio::cancellation_signal signal;
            hold got;             ///< it is ours while this is true
            failure ec;           ///< without error: this acquire has it, or somebody else
            bool to_ask = false;  ///< in this round, when the portions before it have been asked
            bool answered = true;
            bool is_refused = false;  ///< because somebody else has it
            decide::quorum_part known{};
        };
        struct reply;

        std::span<request> all() const noexcept { return {requests_.get(), of_.parts.size()}; }
        void ask(time_point until, std::size_t in_a_turn, bool (*which)(request const&));
        bool has_most_answers() const noexcept
        {
            auto const answers =
                std::ranges::count_if(all(), [](request const& r) { return r.answered && !r.ec; });
            return static_cast<std::size_t>(answers) >= of_.needed();
        }
        clock::duration usual_round_trip(bool (*which)(request const&)) const
        {
            clock::duration longest{};
            for (std::size_t i = 0; i != of_.parts.size(); ++i)
                if (which(requests_[i]))
                    longest = std::max(longest, of_.parts[i].where->round_trip().usual());
            return longest;
        }
        auto expect(std::size_t i);
        void on_answer(std::size_t i, failure ec);
        bool is_fresh(std::size_t i) const noexcept;
        bool is_good(std::size_t i) const noexcept { return !requests_[i].ec && is_fresh(i); }
        std::uint64_t token() const;
        void on_raised(std::size_t i, decide::raise_answer const&);
        void say_behind(std::size_t i, milliseconds by) const;

        operation& acquire_;
        core& core_;
        lock_group const& of_;
        acquire_options const& options_;
        std::unique_ptr<request[]> requests_;
        std::size_t unanswered_ = 0;
        bool is_taken_ = false;    ///< a server has said so of a part
        bool has_lost_ = false;    ///< in this round
        bool has_tokens_;          ///< all parts draw such that one can follow from them
        std::uint64_t token_ = 0;  ///< on which they have agreed
        milliseconds behind_{};
        time_point agreed_by_{};
        std::optional<decide::answer_limit> asks_;  ///< in a round that all servers are asked
        decide::alarm_queue::alarm limit_;          ///< of the round
    };

    strand_task acquire_all();
    strand_task acquire_most();
    strand_task acquire_free();
    strand_task give_up(failure why, std::shared_ptr<operation> life);

    /// Empty: it goes on. No error: somebody else has the lock.
    std::optional<failure> why_end() const noexcept;

    milliseconds server_limit() const noexcept;
    clock::duration next_round_limit() noexcept;
    milliseconds longest_wait_for_one() const noexcept;
    milliseconds to_give_way() const;
    bool may_give_way() const;
    milliseconds before_asking_again() const;
    milliseconds within_deadline(milliseconds) const noexcept;
    milliseconds pause_before_next();
    /// Which server votes next, and when; empty if all do. It is also logged.
    std::string say_who_waits_to_vote();
    std::vector<std::size_t> in_order() const;

    /// The sides of a read-write lock are asked together, so a group of these is not split.
    std::size_t in_a_turn() const noexcept
    {
        bool const is_many = std::holds_alternative<completion<held_locks>>(done);
        return is_many ? portion(inside_->settings()) : of_.parts.size();
    }

    void grant();
    void fail(failure);

    core_ptr inside_;
    lock_group of_;
    acquire_options options_;
    requests parts_;
    time_point deadline_ = never;   ///< until then it tries
    time_point answer_by_ = never;  ///< for the caller; the time between the two is for giving back
    milliseconds round_limit_;      ///< how long what is held is kept while others are waited for
    core::pause pause_;
    failure ended_;  ///< from outside
    std::shared_ptr<registry_entry> known_as_;
};

}  // namespace colock
