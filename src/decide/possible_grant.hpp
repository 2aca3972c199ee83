#pragma once

#include "decide/lease_steps.hpp"
#include "decide/time.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace colock::decide {

/// The lease of a field that was requested, as its answer proves it.
struct proven_grant {
    time_point sent;
    milliseconds lease;
    milliseconds sure = lease;             ///< see `lease_steps::end`
    std::shared_ptr<lease_steps> steps{};  ///< that may still run; mostly none
};

/// A grant that a request may have left at the server without a holder: it is given to a waiter, or
/// given back. Also decides what becomes of a grant that comes late.
class possible_grant {
public:
    /// The server may have granted it, just now: a slow server runs it late. An earlier attempt
    /// with the same field may have set a longer lease.
    void may_stand(time_point now, milliseconds lease) noexcept { may_stand_until(now + lease); }
    void may_stand_until(time_point end) noexcept { until_ = std::max(until_, end); }

    bool stands(time_point now) const noexcept { return until_ > now; }
    time_point until() const noexcept { return until_; }

    /// It has a holder, or somebody else gives it back.
    void is_taken_over() noexcept { until_ = {}; }

    /// There is nothing at the server.
    void refused() noexcept
    {
        until_ = {};
        was_late_ = false;
    }

    /// Another field is requested. `others`: steps of it that may still run.
    void begin(std::shared_ptr<lease_steps> others = {}) noexcept { steps_ = std::move(others); }

    /// A request of the field is answered, and was written at last at `on`. A request that was lost
    /// may still run, and set its lease then.
    proven_grant prove(milliseconds lease, answer const& got, connection_life const& on)
    {
        if (got.what == answer::kind::lost && !steps_)
            steps_ = std::make_shared<lease_steps>();
        if (!steps_)
            return {got.sent, lease};
        auto const sure = steps_->end(steps_->begin(lease), got, on);
        if (steps_->is_empty())
            steps_ = nullptr;
        return {got.sent, lease, sure, steps_};
    }

    enum class use {
        give,       ///< at least half of its validity is left
        ask_again,  ///< too late: the same field is acquired again, which renews it
        give_back   ///< the server or the network is always that late: others have their chance
    };

    /// A grant has come, for a request that was sent then.
    use use_of_grant(
        time_point now, time_point sent, milliseconds lease, time_point resumed = time_point::min()
    ) noexcept
    {
        if (!is_fresh(now, sent, lease, resumed))
            return std::exchange(was_late_, true) ? use::give_back : use::ask_again;
        was_late_ = false;
        return use::give;
    }

private:
    time_point until_{};
    std::shared_ptr<lease_steps> steps_;  ///< lost requests of the field
    bool was_late_ = false;               ///< the last grant
};

}  // namespace colock::decide
