#pragma once

#include "base/clock.hpp"
#include "base/recycling.hpp"
#include "base/strand_task.hpp"
#include "core/reliable.hpp"
#include "holds/hold_operation.hpp"
#include <colock/detail/initiate.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace colock {

class ownership;
class owed_copies;
using detail::core;

/// The scripts that bring the server to what the holds of an ownership need: a depth and a lease
/// while there are holds, the release when there are none. One script after the other; what is
/// asked for in the meantime goes with the next one. A script that waits for its connection is
/// taken back then, so that nobody waits behind the wishes of a caller who has gone.
class settlement : public recycled {
public:
    settlement(core& inside, ownership& of) noexcept : core_{inside}, of_{of}, sending_{inside} {}

    void ask(std::shared_ptr<hold_operation>);

    /// A script is under way or due.
    bool is_running() const noexcept { return running_; }

    /// The release of a grant that nobody wants is owed to the copies until then.
    void owes_until(time_point end) noexcept { owed_until_ = end; }

    /// For the end of the context: the operations that are to be destroyed without an answer.
    hold_operations take_asked() noexcept;

private:
    struct request;

    strand_task run(std::shared_ptr<ownership> self);
    void begin(request&, hold_operations const& doing);
    std::shared_ptr<owed_copies> owe_release() const;
    /// The step has to be sent again: its operations stay asked for.
    void keep_due(request const&, hold_operations& doing, answer const&);
    void conclude(request const&, hold_operations const& doing, answer const&);
    void take_back_extension(hold_state& of, milliseconds lease);
    void note_found_lost(hold_operations const& doing);
    failure conclude_release(request const&, answer const&, failure unanswered);
    failure conclude_extension(request const&, hold_operations const& doing, answer const&);
    unsigned others_of(std::int64_t receivers, std::string_view channel) const noexcept;

    core& core_;
    ownership& of_;
    hold_operations asked_;
    reliable sending_;
    time_point owed_until_ = never;
    bool running_ = false;
    bool unsure_ = false;          ///< a release's answer was lost: a repeat may find its effect
    bool unsure_of_stay_ = false;  ///< the same of a lease that keeps a released lock taken
};

}  // namespace colock
