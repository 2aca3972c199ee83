#pragma once

#include "decide/copies.hpp"
#include "decide/known_replicas.hpp"
#include "redis/call_batch.hpp"
#include "redis/connection_loop.hpp"
#include "redis/replica_waits.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// A connection that carries steps.
///
/// Steps of one pass of the event loop go out in one write, and steps of the same script in one
/// call, so that they share the cost of a write here and of a call in the server. A step is sent at
/// once only if steps come one at a time, each after the answer to the last. Steps wait while the
/// link is down, and are never sent twice: a step that was written before the connection was lost
/// is `lost`, and its sender decides what to do.
class command_link final :
    private connection_loop::listener,
    private call_batch::listener,
    private replica_waits::listener {
public:
    class listener {
    public:
        virtual void on_command_link_up(command_link&) = 0;
        virtual void on_command_link_down(command_link&, error_code) = 0;

        /// The link didn't come up, and goes on trying.
        virtual void on_command_link_failed(command_link&) = 0;

        /// The server has not run the step, or not completely: `redirection` says why. The step is
        /// in no list.
        virtual void on_redirect(
            command_link&, step&, decide::redirection const&, time_point sent
        ) = 0;

    protected:
        ~listener() = default;
    };

    struct description {
        std::string name;
        std::size_t index;
        address where;
        publishing publish = publishing::plain;
    };

    command_link(link_context const& context, listener& who, description);
    ~command_link();

    void start();
    void stop();
    void submit(step&);
    void destroy_pending() noexcept;

    /// Hands over waiting steps that belong to another link.
    template <class IsWanted>
    void take_waiting(step_list& into, IsWanted const& is_wanted)
    {
        for (auto at = waiting_.begin(); at != waiting_.end();)
            if (step& s = *at++; is_wanted(s)) {
                s.unlink();
                into.push_back(s);
            }
    }

    bool is_up() const noexcept { return is_ready_; }
    bool is_started() const noexcept { return started_; }
    auto peer() const { return loop_->peer(); }
    bool has_waiting() const noexcept { return !waiting_.empty(); }
    bool is_idle() const noexcept
    {
        return waiting_.empty() && in_flight_.empty() && replicas_->is_idle();
    }

    /// Steps that were sent and have no answer yet.
    std::size_t under_way() const noexcept { return under_way_; }

    /// Some steps of the last connection are lost. They may still run until the next connection is
    /// up and the server has ended the last one.
    bool has_lost() const noexcept { return clock::now() < lost_until_; }

    /// Called each time a step has been answered or is lost.
    void when_answered(std::function<void()> tell) { tell_answered_ = std::move(tell); }

    /// The server's own number, new each time that it starts; "" if it tells none.
    std::string const& run_id() const noexcept { return run_id_; }

    /// The server was a replica when it accepted the link.
    bool is_replica() const noexcept { return loop_->is_replica(); }

    void leave_replica() { loop_->leave_replica(); }

    /// As `connection_loop::renew`.
    bool renew_connection() { return loop_->renew(); }

    std::size_t index() const noexcept { return description_.index; }
    address const& where() const noexcept { return loop_->where(); }
    bool is_primary_known() const noexcept { return loop_->is_primary_known(); }
    void follow(address const& primary)
    {
        if (where() != primary)
            loop_->move_to(primary);
    }
    std::uint64_t epoch() const noexcept { return loop_->epoch(); }
    /// Why steps have no answer: why the link is down, or the server's last refusal for the moment
    /// if that is not long ago; else none.
    failure down_reason() const noexcept;

private:
    void write_probe(resp::writer&) override;
    error_code judge_probe(replies const&) override;
    void on_up() override;
    void on_down(error_code why) override;
    void on_failed(failure) override;

    error_code judge_mode(std::string const& mode) const;
    error_code judge_rights(decide::reply const&);
    error_code refuse(std::string const& why) const;
    void become_ready();
    void schedule_flush();
    void flush();
    std::shared_ptr<call_batch> take_batch();
    void on_step(step&, decide::reply&&, bool in_company, time_point sent) override;
    void on_step_lost(step&, time_point sent) override;
    void on_batch_over(call_batch&) override;
    void on_waited(step&, answer&&) override;
    void write_wait(unsigned replicas, bool disk, milliseconds limit) override;
    unsigned replicas_there(unsigned seen) override;
    void look_at(time_point) override;
    void look_at_owed();
    void end_slice();
    bool knows_copies(time_point now);
    void ask_for_copies(bool disk);
    void note_copies(std::span<decide::reply const>, bool disk);
    std::string why_not(decide::copies const& wanted);
    void refuse_copies();
    void settle_error(step&, decide::reply&&, bool in_company, time_point sent);
    void redirect(step&, std::string const& text, bool in_company, time_point sent);
    bool is_refused_in_part(step const&, decide::reply const&);
    void note_refusal(std::string_view command, std::string const& text);
    void log_refusal(step const&, std::string const& text, std::span<std::string_view const> keys)
        const;
    void fail_waiting(failure);
    void fail_if_over();
    void leave_server();
    void come_to_server(std::string_view run_id);
    void kill_predecessor(std::int64_t id);

    link_context const& context_;
    listener& listener_;
    description description_;
    std::shared_ptr<connection_loop> loop_;
    step_list waiting_;
    std::vector<std::shared_ptr<call_batch>> in_flight_;  ///< in the order of their answers
    std::vector<std::shared_ptr<call_batch>> spare_;
    std::shared_ptr<replica_waits> replicas_ =
        std::make_shared<replica_waits>(static_cast<replica_waits::listener&>(*this));
    decide::alarm_queue::alarm slice_over_{[this] { end_slice(); }};
    decide::alarm_queue::alarm owed_due_{[this] { look_at_owed(); }};
    decide::copies wanted_;  ///< by steps that were handed over since it was looked at
    decide::copies_told copies_told_;
    time_point copies_asked_{};   ///< when this connection was asked; the epoch: not yet
    bool is_disk_asked_ = false;  ///< the same about its disk
    bool is_asking_copies_ = false;
    known_scripts known_;  ///< to the server, since this connection is up
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::int64_t connection_id_ = 0;
    std::string run_id_;
    std::int64_t predecessor_ = 0;  ///< the old connection, until its server has ended it

    /// A server that the link has left, and its last connection there, whose bytes may come late.
    struct left_server {
        std::string run_id;
        std::int64_t connection;
        bool others_ended;
    };
    std::vector<left_server> left_;
    decide::connection_life life_;  ///< of the connection that is up, or was
    failure refusal_;               ///< the last one for the moment
    time_point refused_{};          ///< when that was
    bool others_ended_ = true;      ///< all older connections to this server, for certain
    bool carried_ = false;          ///< the last connection has carried steps
    bool started_ = false;
    bool is_ready_ = false;  ///< up, and no step of the old connection can run any more
    bool flushing_ = false;
    bool takes_turns_ = false;  ///< the last call was for one step, and nothing else was under way
    time_point lost_until_{};   ///< lost steps may still arrive until then
    std::size_t under_way_ = 0;
    std::function<void()> tell_answered_;
    bool eval_only_ = false;
};

}  // namespace colock
