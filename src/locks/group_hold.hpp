#pragma once

#include "core/keyed_state.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include <colock/multi_lock.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock {

using detail::core;

/// Several holds as one, while enough of them are held: all parts of a multi-lock, a majority of a
/// red lock. They may belong to several clients. This object runs on the strand of one of them,
/// whose client keeps it until it is released.
class group_hold final :
    public hold_target,
    public keyed_state,
    public std::enable_shared_from_this<group_hold> {
public:
    group_hold(core& inside, detail::lock_group const& of, std::vector<hold> parts);

    /// Makes the hold for all parts, and watches the parts.
    hold_ptr begin(core_ptr const&, owner const& who, milliseconds lease, bool renewed);

    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;
    void abandon_hold(hold_ptr const&) override;
    unsigned slot() const noexcept override { return 0; }

    // ---- For the core --------------------------------------------------------------------------

    void release_all() override { close(error::closed); }
    void destroy_pending() noexcept override;

    // ---- From any thread -----------------------------------------------------------------------

    time_point valid_until(hold_state const&) const noexcept override;
    std::uint64_t fencing_token(std::size_t i) const noexcept override;
    std::string shown_name() const override { return names_; }

private:
    using outcome = std::function<void(error_code)>;

    /// Not a part that was never acquired: with a majority, others may hold some parts.
    static bool is_won(hold const& part) noexcept;

    /// Applies the operation to all acquired parts. Reports no error if enough succeeded: as soon
    /// as that is clear if a majority is enough, otherwise when all have answered. `over` is called
    /// when all have.
    template <class Act>
    void for_all(Act act, outcome told, std::function<void()> over);
    void on_part_ended(error_code why);
    void close(error_code why);

    std::string names_;
    std::vector<hold> parts_;  ///< in the order of the locks
    bool by_majority_;
    std::size_t needed_;
    std::size_t held_;  ///< acquired parts that have not ended
    bool is_any_lost_ = false;
    std::weak_ptr<hold_state> whole_;
};

}  // namespace colock
