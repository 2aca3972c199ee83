#pragma once

#include "service/change.hpp"
#include "service/hold_state.hpp"
#include "service/ownership.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace colock {

using detail::core;

/// Several holds as one, for as long as enough of them are held: all of a multi-lock's, most of a
/// red lock's. They may be of several clients; what is here runs on the strand of one.
class bundle final : public ownership, public std::enable_shared_from_this<bundle> {
public:
    bundle(core& inside, std::vector<hold> parts, std::size_t needed);

    /// Makes the hold that stands for all, and watches over them.
    hold_ptr begin(core_ptr const&, owner const& who, milliseconds lease, bool renewed);

    void release(std::shared_ptr<change>) override;
    void extend(std::shared_ptr<change>, milliseconds lease) override;
    void drop(hold_ptr const&) override;
    unsigned slot() const noexcept override { return 0; }

    // ---- From any thread -----------------------------------------------------------------------

    time_point valid_until(time_point own) const noexcept override;
    std::uint64_t fencing_token(std::size_t i) const noexcept override;

private:
    using outcome = std::function<void(error_code)>;

    /// Does it to all parts, and tells when all have answered: no error if enough succeeded.
    template <class Act>
    void for_all(Act act, outcome told);
    void on_part_lost();

    core& core_;
    std::vector<hold> parts_;
    std::size_t needed_;
    std::size_t held_;
    std::weak_ptr<hold_state> whole_;
};

}  // namespace colock
