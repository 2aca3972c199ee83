#pragma once

#include "decide/copies.hpp"
#include "decide/reply.hpp"
#include "redis/transport.hpp"
#include "resp/pipeline.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace colock {

/// The steps of one connection that have run and still wait for their copies.
///
/// WAIT counts the replicas that have all that its own connection has written before it, and
/// WAITAOF says the same of the disk. So a pass with steps that want copies ends with one question,
/// on the same connection, and its answer counts for every step that has been answered before it.
/// The question blocks its connection, so it waits for a slice of time only. If that is too short,
/// the next one counts for these steps as well, and from then on one is under way at a time, until
/// one is met.
///
/// A step whose copies are owed has been answered. It is covered by the next question of any
/// step, or by one of its own after a short while.
class replica_waits final :
    public resp::reply_handler,
    public std::enable_shared_from_this<replica_waits> {
public:
    /// Other steps of the connection wait for a slice or two while a replica hangs.
    static constexpr milliseconds slice{20};

    /// How long a step that owes copies leaves the question to others; twice as long after each
    /// question in vain, up to the longest.
    static constexpr milliseconds owed_pause{2};
    static constexpr milliseconds longest_owed_pause{250};

    class listener {
    public:
        /// The step has its copies, or `unsynced` says why not.
        virtual void on_waited(step&, answer&&) = 0;
        virtual void on_step_lost(step&, time_point sent) = 0;

        /// WAITAOF for the primary's disk, if it is wanted, and WAIT have to be written, and behind
        /// them a PING with a number. The answers to all come to `on_reply`.
        virtual void write_wait(unsigned replicas, bool disk, milliseconds limit) = 0;

        /// How many replicas there should be; so many were seen just now.
        virtual unsigned replicas_there(unsigned seen) = 0;

        /// `look` is to be called then.
        virtual void look_at(time_point) = 0;

    protected:
        ~listener() = default;
    };

    explicit replica_waits(listener& who) noexcept : listener_{who} {}

    /// A step that has failed to take anything has nothing that copies could have; renewals that
    /// found nothing to renew are told at once.
    static bool concern(step const&, decide::reply const& answer) noexcept;

    /// These steps have been written.
    void wrote(std::span<step* const>, time_point now);

    /// The step has run.
    void keep(step&, decide::reply&&, time_point sent);

    /// The same of a step that owes its copies.
    void owe(std::shared_ptr<owed_copies>, time_point now);

    bool is_idle() const noexcept { return kept_.empty() && ready_.empty(); }

    /// A question is unanswered.
    bool is_asking() const noexcept { return !under_way_.empty(); }

    void on_reply(resp::message const&) override;
    void on_lost(error_code) override;

    /// The connection has ended.
    void lose_owed();

    /// The answers of the server, which are sure; `synced` is that to WAITAOF, if it was asked.
    void answered(decide::reply const& waited, decide::reply const& synced, time_point now);

    /// The time that `look_at` has named has come.
    void look(time_point now);

    /// Destroys the tasks that wait for its steps.
    void drop_steps() noexcept;

private:
    struct kept {
        step* what;
        decide::reply value;
        time_point sent;
        error_code unsynced{};
        decide::copies has{};
        unsigned replicas = 0;

        time_point until() const noexcept { return sent + what->copies_limit; }
    };

    void ask(time_point now);

    /// Those that have their copies, or do not need them any more.
    template <class IsMet>
    std::vector<std::shared_ptr<owed_copies>> take_covered(time_point now, IsMet const&);
    void tell();

    listener& listener_;
    std::vector<kept> kept_;
    std::deque<kept> ready_;  ///< whose answers are about to be given
    std::vector<std::shared_ptr<owed_copies>> owed_;
    decide::copies wanted_;  ///< by steps that were written since the last question
    time_point wanted_until_{};
    std::deque<bool> under_way_;  ///< questions: whether they are about the disk, too
    bool is_short_ = false;       ///< the last one
    milliseconds pause_ = owed_pause;
    std::vector<decide::reply> waited_;  ///< until the PING behind them has been answered
    bool is_dropped_ = false;
};

}  // namespace colock
