#pragma once

#include "decide/reply.hpp"
#include "redis/transport.hpp"
#include "resp/pipeline.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace colock {

/// The steps of one connection that have run and still wait for replicas.
///
/// WAIT counts the replicas that have all that its own connection has written before it. So a pass
/// with steps that want replicas ends with one WAIT, on the same connection, and its answer counts
/// for every step that has been answered before it. WAIT blocks its connection, so it waits for a
/// slice of time only. If that is too short, the next one counts for these steps as well, and from
/// then on one is under way at a time, until one is met.
class replica_waits final :
    public resp::reply_handler,
    public std::enable_shared_from_this<replica_waits> {
public:
    /// Other steps of the connection wait for a slice or two while a replica hangs.
    static constexpr milliseconds slice{20};

    class listener {
    public:
        /// `unsynced`: too few replicas have it.
        virtual void on_waited(step&, decide::reply&&, time_point sent, error_code unsynced) = 0;
        virtual void on_step_lost(step&, time_point sent) = 0;

        /// WAIT has to be written, and behind it a PING with a number. The answers to both come to
        /// `on_reply`.
        virtual void write_wait(unsigned replicas, milliseconds limit) = 0;

    protected:
        ~listener() = default;
    };

    explicit replica_waits(listener& who) noexcept : listener_{who} {}

    /// A step that has failed to take anything has nothing that replicas could have.
    static bool concern(step const& s, decide::reply const& answer) noexcept
    {
        return s.replicas != 0 && answer.what == decide::reply::kind::integer;
    }

    /// These steps have been written.
    void wrote(std::span<step* const>, time_point now);

    /// The step has run.
    void keep(step&, decide::reply&&, time_point sent);

    bool is_idle() const noexcept { return kept_.empty() && ready_.empty(); }

    void on_reply(resp::message const&) override;
    void on_lost(error_code) override;

    /// The answer of the server, which is sure.
    void answered(decide::reply const& waited, time_point now);

    /// Destroys the tasks that wait for its steps.
    void drop_steps() noexcept;

private:
    struct kept {
        step* what;
        decide::reply value;
        time_point sent;
        error_code unsynced{};

        time_point until() const noexcept { return sent + what->replica_limit; }
    };

    void ask(time_point now);
    void tell();

    listener& listener_;
    std::vector<kept> kept_;
    std::deque<kept> ready_;  ///< whose answers are about to be given
    unsigned wanted_ = 0;     ///< by steps that were written since the last WAIT
    time_point wanted_until_{};
    unsigned under_way_ = 0;  ///< WAITs
    bool is_short_ = false;   ///< the last one
    decide::reply waited_;    ///< until the PING behind it has been answered
    bool has_waited_ = false;
    bool is_dropped_ = false;
};

}  // namespace colock
