#pragma once

#include "base/completion.hpp"
#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/pause.hpp"
#include "decide/alarm_queue.hpp"
#include "holds/protocol.hpp"
#include <colock/multi_lock.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace colock {

using detail::lock_group;

/// An acquire of several locks as one. It runs on the strand of the first lock's client, and
/// acquires the parts as a user would.
class group_acquire final : public operation {
public:
    using result = std::variant<completion<hold>, completion<std::optional<hold>>>;

    group_acquire(core_ptr inside, lock_group of, acquire_options options);

    void cancel() override;

    /// Takes them, all together or by majority.
    void start();

    /// Ends it for this reason, whatever request is under way.
    void stop(error_code why);

    result done;
    bool once = false;
    std::optional<milliseconds> wait{};

private:
    /// The state of one part.
    struct request {
        asio::cancellation_signal signal;
        hold got;       ///< it is ours while this is true
        error_code ec;  ///< without error: this acquire has it, or somebody else
        bool answered = true;
    };
    struct reply;
    class registration;
    using order = std::vector<std::size_t>;

    strand_task acquire_all();

    // ---- Requests to the parts; `round_over_` when all have answered --------------------------

    void ask_all();
    void ask_in_turn(std::size_t i, time_point until);
    void set_leases();
    auto expect(std::size_t i);
    void on_answer(std::size_t i, error_code ec);
    void watch(std::size_t i);
    void set_limit(time_point);
    void cancel_unanswered();
    void give_back_from_first_refused(order const&);
    void give_back();
    void give_back(hold& part);
    void give_back_and_hear();

    // ---- The outcome ---------------------------------------------------------------------------

    std::span<request> requests() const noexcept { return {requests_.get(), of_.parts.size()}; }
    bool has_all() const noexcept;
    bool has_enough() const noexcept;
    bool is_fresh(std::size_t i) const noexcept;
    std::optional<error_code> why_end() const noexcept;
    std::size_t count(bool (*is_such)(error_code) noexcept) const noexcept;
    error_code first_error() const noexcept;

    // ---- Times ---------------------------------------------------------------------------------

    milliseconds lease_of(std::size_t i) const noexcept;
    bool is_renewed() const noexcept { return !options_.lease || options_.renew; }
    milliseconds server_limit() const noexcept;
    clock::duration next_round_limit() noexcept;
    milliseconds pause_before_next();

    order in_order() const;
    void grant();
    void fail(error_code);

    core_ptr inside_;
    lock_group of_;
    acquire_options options_;
    std::unique_ptr<request[]> requests_;
    std::size_t unanswered_ = 0;
    event<bool> round_over_;
    time_point deadline_ = never;   ///< until then it tries
    time_point answer_by_ = never;  ///< for the caller; the time between the two is for giving back
    milliseconds round_limit_;      ///< how long what is held is kept while others are waited for
    decide::alarm_queue::alarm limit_;  ///< of what is asked
    pause pause_;
    error_code ended_;  ///< from outside
    std::shared_ptr<registration> registration_;
};

}  // namespace colock
