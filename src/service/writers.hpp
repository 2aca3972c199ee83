#pragma once

#include "service/exclusive_lock.hpp"

#include <memory>

namespace colock {

class readers;

/// Who writes a read-write lock here, or waits to: one at a time, as for any lock, but beside its
/// readers. All who wait, on whichever side, are served in the order in which they came.
class writers final : public exclusive_lock {
public:
    writers(core& inside, lock_ref which)
        : exclusive_lock{inside, which}
        , let_pass_{[this] { let_pass(); }}
    {}

    /// What there is at this client, if there is any.
    static writers* find(core&, std::string_view name) noexcept;

    /// Somebody waits here who came before him, and goes before him.
    bool has_one_before(waiter const& reader) const noexcept;

    /// Readers wait behind our head. If after a while it is others who keep it out, they pass it:
    /// those who wait by then.
    void let_pass_in_time();

    /// The readers are not what they were.
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
