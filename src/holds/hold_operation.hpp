#pragma once

#include "base/completion.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/copies.hpp"
#include "decide/time.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>

#include <boost/container/small_vector.hpp>

#include <functional>
#include <memory>

namespace colock {

using detail::core_ptr;
using detail::hold_ptr;

/// A call of `release` or `extend`, or an acquire that re-enters, while its caller waits.
struct hold_operation final : operation {
    hold_operation(core_ptr c, hold_ptr h);
    void cancel() override;

    /// Completes the caller, if it still waits.
    void complete(failure);

    core_ptr inside;
    hold_ptr hold;
    completion<> done{};
    std::function<void(failure)> entered{};  ///< re-entry: gives out the hold, or the error
    bool extends = false;                    ///< by `extend`; else it enters or releases
    decide::copies wants{};            ///< that have to have it: re-entry, or extension to more
    milliseconds lease_before{};       ///< extension: what the hold had
    failure refused{};                 ///< why it has not been done yet
    decide::alarm_queue::alarm limit;  ///< `config::timeout` for the caller
};

using hold_operations = boost::container::small_vector<std::shared_ptr<hold_operation>, 2>;

}  // namespace colock
