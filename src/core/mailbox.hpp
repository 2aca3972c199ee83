#pragma once

#include "base/clock.hpp"
#include "core/subscription_manager.hpp"
#include "decide/alarm_queue.hpp"
#include <colock/detail/initiate.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace colock {

using detail::core;

/// The channel by which scripts tell this client alone that its turn for a lock or for permits has
/// come, or that a lock was taken away from it. One serves all keys; in a cluster one for each
/// slot, because a channel belongs to the node of its slot.
///
/// A mailbox opens when the client first waits for a lock or a permit, or first renews one: a
/// client that does neither, or has spin locks alone, needs no subscription. It closes a minute
/// after the last lock of its slots was held or waited for.
///
/// A letter is a hint. While a mailbox is not live, the next renewal, or the next look of the
/// poller, finds what it would have said.
class mailbox {
public:
    explicit mailbox(core& owner);

    /// A lock of this slot is waited for, or held for longer.
    void open(unsigned slot);

    /// The client starts, perhaps again.
    void start();

    /// Whether letters about keys of a slot arrive. A letter from before the last change may have
    /// been missed.
    struct state {
        bool is_live = false;
        bool is_refused = false;    ///< by the server
        std::uint64_t changes = 0;  ///< of this state

        /// There is nothing to wait for.
        bool is_settled() const noexcept { return is_live || is_refused; }

        friend bool operator==(state const&, state const&) = default;
    };
    state of(unsigned slot) const noexcept
    {
        auto const at = open_.find(key_of(slot));
        return at == open_.end() ? state{} : at->second.now;
    }

    /// Nothing is held or waited for any more.
    void close();

    bool is_open() const noexcept { return !open_.empty(); }

    /// The client stops: asks for nothing any more. An open mailbox stays so, for the next start.
    void stop() noexcept
    {
        look_.clear();
        news_.clear();
    }

    /// Takes the letter that this ownership was forced, if one came before the client knew of it:
    /// the answer to the acquire comes over another connection. True if there was one.
    bool take_letter_about(std::uint64_t number) noexcept
    {
        bool const is_meant = number == last_unknown_;
        if (is_meant)
            last_unknown_ = 0;
        return is_meant;
    }

private:
    struct box final : subscription_manager::listener {
        explicit box(mailbox& whose) noexcept : of{whose} {}

        void on_subscribed() override { change(true, false); }
        void on_interrupted() override { change(false, false); }
        void on_not_subscribed() override { change(false, true); }
        void on_message(std::string_view payload) override { of.read(payload); }
        void change(bool is_live, bool is_refused);

        mailbox& of;
        std::string channel{};
        time_point used{};
        state now{};
    };
    using boxes = std::map<unsigned, box>;

    unsigned key_of(unsigned slot) const noexcept;
    void read(std::string_view payload);
    void look();
    boxes::iterator close(boxes::iterator);

    core& core_;
    boxes open_;  ///< by slot; where one serves all, by 0
    decide::alarm_queue::alarm look_, news_;
    std::uint64_t last_unknown_ = 0;
    std::uint64_t changes_ = 0;  ///< of all boxes
};

}  // namespace colock
