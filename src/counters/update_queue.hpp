#pragma once

#include "base/completion.hpp"
#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/reliable.hpp"
#include "core/script_call.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

using detail::core_ptr;

class update_queue;

/// A change of a counter that a caller wants: some permits more, a count less.
struct update final : operation {
    struct request {
        std::string name;  ///< as the caller gave it; here, of the key at the server
        scripts::script const& what;
        std::int64_t amount;
        std::string (*channel)(std::string_view name, std::string_view prefix);  ///< or none
        bool owed;                ///< it is carried out even without a caller
        std::string text{};       ///< the script's first argument, if it is not the amount
        bool has_leases = false;  ///< the script has the leases of permits as its third key
    };

    update(core_ptr, request);
    void cancel() override { complete(asio::error::operation_aborted, 0); }
    void complete(failure, std::int64_t result);

    core_ptr inside;
    request asked;
    std::function<void(failure, std::int64_t result)> done;
    update_queue* queue = nullptr;     ///< the queue that it is in, while its caller waits
    failure refused{};                 ///< why it has not been done yet
    decide::alarm_queue::alarm limit;  ///< `config::timeout` for the caller
};

/// The updates of one counter, one after the other: each takes effect once, however often its
/// answer is lost. Updates at the same time that can be added up go as one.
///
/// The server keeps the number of the last update, and its result. So each update has a higher
/// number than the one before it, and is sent only when that one is answered.
class update_queue final : public keyed_state, public std::enable_shared_from_this<update_queue> {
public:
    update_queue(core& inside, std::string name);

    /// On the strand: refuses the update, or adds it to the queue of its counter, which is made if
    /// there is none.
    static void admit(std::shared_ptr<update> const&);

    void end_waiters(failure) override;
    void destroy_pending() noexcept override;

    /// Drops the next update if its last caller has gone and it is not owed.
    void withdraw_unwanted();

private:
    void add(std::shared_ptr<update>);

    /// One or several updates as one step.
    struct batch {
        std::uint64_t number = 0;
        std::int64_t amount = 0;
        time_point until = never;  ///< set once an answer was lost: see `decide::repeat_until`
        std::vector<std::shared_ptr<update>> of;
    };

    strand_task run();
    bool ask_copies(script_call&);
    bool take_next();
    script_call::request next_step() const;
    bool is_wanted() const noexcept;
    bool is_owed() const noexcept;
    void complete(update&, failure, std::int64_t result);
    void conclude(answer const&);

    std::string record_;
    std::vector<std::shared_ptr<update>> waiting_;
    batch now_;
    event<bool> covered_;  ///< what the last batch owed to its copies
    reliable sending_;
    bool running_ = false;
};

}  // namespace colock
