#pragma once

#include "locks/exclusive_lock.hpp"

#include <memory>

namespace colock {

class readers;

/// The writer of a read-write lock in this client, and the waiting ones: one at a time, as for any
/// lock, but in turn with its readers. The waiters of both sides are served in the order of their
/// arrival.
class writers final : public exclusive_lock {
public:
    writers(core& inside, lock_ref which)
        : exclusive_lock{inside, which}
        , let_pass_{[this] { let_pass(); }}
    {}

    /// The state for this name in this client, if there is any.
    static writers* find(core&, std::string_view name) noexcept;

    /// Whether a writer waits here that came before this reader and goes first.
    bool has_one_before(waiter const& reader) const noexcept;

    /// Readers wait behind our head. If after a while readers of other clients keep it out, the
    /// readers that wait by then pass it.
    void let_pass_in_time();

    /// The readers have changed.
    void look_again() { go_on(); }

    void admit(std::shared_ptr<waiter> const&) override;
    void ended(ownership&) override;

private:
    std::shared_ptr<readers> beside() const;
    void let_pass();

    bool stands_behind(waiter const&) const override;
    bool may_go_on(ownership const&) const override;
    void on_queue_changed() override;
    void on_message(std::string_view) override;

    decide::alarm_queue::alarm let_pass_;
    std::uint64_t passed_ = 0;  ///< readers that arrived up to that number pass
    bool has_asked_ = false;    ///< our head, since readers passed it
};

}  // namespace colock
