#pragma once

#include "base/completion.hpp"
#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/pause.hpp"
#include "locks/group_requests.hpp"
#include <colock/multi_lock.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace colock {

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
    class registration;

    strand_task acquire_all();
    strand_task give_up(error_code why, std::shared_ptr<operation> life);

    /// Empty: it goes on. No error: somebody else has the lock.
    std::optional<error_code> why_end() const noexcept;

    bool is_renewed() const noexcept { return !options_.lease || options_.renew; }
    milliseconds server_limit() const noexcept;
    clock::duration next_round_limit() noexcept;
    milliseconds pause_before_next();
    std::vector<std::size_t> in_order() const;

    void grant();
    void fail(error_code);

    core_ptr inside_;
    lock_group of_;
    acquire_options options_;
    group_requests parts_;
    time_point deadline_ = never;   ///< until then it tries
    time_point answer_by_ = never;  ///< for the caller; the time between the two is for giving back
    milliseconds round_limit_;      ///< how long what is held is kept while others are waited for
    pause pause_;
    error_code ended_;  ///< from outside
    std::shared_ptr<registration> registration_;
};

}  // namespace colock
