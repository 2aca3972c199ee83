#pragma once

#include "core/core.hpp"
#include "core/script_call.hpp"
#include "decide/copies.hpp"
#include "redis/transport.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace colock {

/// The same step once more. None: it does not matter any more.
using step_again = std::function<std::optional<script_call::request>()>;

/// The debt of a step to its copies, which gives something back and is answered without them. After
/// `until` it does not matter any more. If the connection ends before they have it, the step is
/// sent again, to the server that is the primary then: there it does its work, or finds it done.
/// Closing waits for it. `over`: the copies have it, or it does not matter any more.
std::shared_ptr<owed_copies> owe(
    core&,
    unsigned slot,
    decide::copies const& wants,
    time_point until,
    step_again again,
    std::function<void()> over = {}
);

}  // namespace colock
