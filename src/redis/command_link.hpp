#pragma once

#include "redis/call_batch.hpp"
#include "redis/connection_loop.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock {

/// A connection that carries steps.
///
/// Steps that are handed over in one turn of the event loop go out as one request, those of the
/// same script as one call: what a request costs here, and a call in the server, is then shared.
/// They wait while the link is down, unsent, and are
/// never sent twice: what was written when the connection went is `lost`, and who sent it decides.
class command_link final : private connection_loop::owner {
public:
    class listener {
    public:
        virtual void on_command_link_up(command_link&) = 0;
        virtual void on_command_link_down(command_link&, error_code) = 0;

    protected:
        ~listener() = default;
    };

    command_link(link_context const& context, listener& who, std::size_t index);
    ~command_link();

    void start();
    void stop();
    void submit(step&);
    bool withdraw(step&) noexcept;
    void abandon() noexcept;

    bool is_up() const noexcept { return loop_->is_up(); }
    bool is_started() const noexcept { return started_; }
    bool has_waiting() const noexcept { return !waiting_.empty(); }
    std::size_t index() const noexcept { return index_; }
    std::uint64_t epoch() const noexcept { return loop_->epoch(); }
    error_code down_reason() const noexcept { return loop_->down_reason(); }

private:
    void write_probe(boost::redis::request&) override;
    error_code judge_probe(connection_loop::replies const&) override;
    void on_up() override;
    void on_down(error_code) override;
    void on_refused(error_code) override;

    void open_gate();
    void schedule_flush();
    void flush();
    void on_batch(std::shared_ptr<call_batch>, error_code);
    void settle(step&, decide::reply&&, bool in_company, time_point sent);
    void fail_waiting(error_code);
    void kill_predecessor(std::int64_t id);

    link_context const& context_;
    listener& listener_;
    std::size_t index_;
    std::shared_ptr<connection_loop> loop_;
    step_list waiting_;
    std::vector<std::shared_ptr<call_batch>> in_flight_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::string floor_;  ///< the server's time in microseconds when this connection came up
    std::int64_t connection_id_ = 0;
    std::string run_id_;
    std::int64_t predecessor_ = 0;  ///< the old connection, until its server has ended it
    bool carried_ = false;          ///< the last connection has carried steps
    bool started_ = false;
    bool gate_ = false;  ///< up, and nothing of the old connection can execute any more
    bool flushing_ = false;
    bool eval_only_ = false;
    bool warned_eval_ = false;
};

}  // namespace colock
