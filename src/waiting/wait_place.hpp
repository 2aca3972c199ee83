#pragma once

#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "core/subscription_manager.hpp"
#include "decide/reply.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

class keyed_state;

/// The place of this client in the list of those who wait for one key, at the server. Each attempt
/// that is refused stands there, by the number of its request, and a release tells the first by the
/// mailbox of its client. The client knows since when it stands, so that it comes back to its place
/// if the list is lost, or if its turn was in vain.
///
/// The key's own channel tells everybody. The client listens there only if nobody else would tell
/// it: while it is the first, and the holder may be a client that does not know the list, such as
/// Redisson; and if it can't stand in the list, or its kind has none.
class wait_place final : private subscription_manager::listener {
public:
    /// `ask` is set when a message may have been missed. `heard` follows each of the key's channel.
    wait_place(
        core&,
        keyed_state const& whose,
        bool has_list,
        event<bool>& ask,
        std::function<void()> heard
    );
    wait_place(wait_place const&) = delete;
    wait_place& operator=(wait_place const&) = delete;

    /// Since when it stands in the list, for the next attempt: the server's time in µs, zero before
    /// it has stood there.
    std::int64_t since() const noexcept { return since_; }

    /// In place of that, of an attempt that waits behind those who have the turn, but could not be
    /// told itself.
    static constexpr std::string_view none = "-";

    /// An attempt is about to be sent.
    void begin_attempt() noexcept { forget_release(); }

    /// It was refused, and waits. `asked_at`: the mailbox when it was sent; if that was live, it
    /// was to take a place. Listens to the key's channel if that is necessary; `channel` makes its
    /// name. True if a message may have been missed, so that the client has to ask once more.
    template <class Channel>
    bool refused(
        decide::acquire_answer const& got, mailbox::state const& asked_at, Channel const& channel
    )
    {
        note(got);
        known_at_ = asked_at;
        if (!needs_channel())
            unsubscribe();
        else if (subscribe(channel))
            return true;
        auto const now = core_.mailbox().of(slot_);
        return has_list_ && now.is_live && !(now == asked_at);
    }

    /// A release of this client is about to be sent that may put the next request into the list.
    void begin_joining();

    bool is_joining() const noexcept { return it_ == standing::joining; }

    /// Its answer: since when it stands there, zero if it does not.
    void joined(std::int64_t since) noexcept;

    /// It stands there by that release, so there is nothing to ask for yet. True once.
    bool awaits_turn() noexcept;

    /// The lock is granted, or nobody waits here any more: the place is given up.
    void over() noexcept;

    /// As far as is known.
    bool stands() const noexcept { return it_ >= standing::joined; }
    bool is_first() const noexcept { return it_ >= standing::first; }

    /// The next release tells this client and no other one.
    bool is_sure_to_be_told() const noexcept
    {
        return it_ == standing::first && core_.mailbox().of(slot_).is_live;
    }

    /// The mailbox has changed since the server was asked last, so that letters may have been
    /// missed.
    bool take_mailbox_change() noexcept
    {
        return std::exchange(known_at_, core_.mailbox().of(slot_)) != core_.mailbox().of(slot_);
    }

    /// A message can wake it.
    bool can_be_told() const noexcept
    {
        return hears() || (stands() && core_.mailbox().of(slot_).is_live);
    }

    /// It listens to the key's channel, so that it hears the next message there.
    bool hears() const noexcept
    {
        return !channel_.empty() && core_.subscriptions().is_live(channel_);
    }

private:
    /// By the last answer. Those from `joined` on stand in the list, those from `first` on first.
    enum class standing {
        outside,
        joining,  ///< a release is under way that may put it there
        joined,   ///< by that release: there is nothing to ask for yet
        behind,
        first,
        first_to_foreigner,  ///< first, and the holder may not know the list
    };

    void note(decide::acquire_answer const&) noexcept;
    void forget_release() noexcept;
    bool needs_channel() const noexcept;
    template <class Channel>
    bool subscribe(Channel const& channel)
    {
        if (!channel_.empty())
            return false;
        channel_ = channel();
        return core_.subscriptions().add(channel_, *this);
    }
    void unsubscribe();

    // Messages from before the subscription were missed.
    void on_subscribed() override { ask_.set(true); }
    void on_message(std::string_view) override { heard_(); }

    core& core_;
    unsigned const slot_;
    bool const has_list_;
    event<bool>& ask_;
    std::function<void()> heard_;
    std::string channel_{};      ///< subscribed, if not empty
    std::int64_t since_ = 0;     ///< the place, in µs of the server; zero before it has one
    mailbox::state known_at_{};  ///< the mailbox, when this answer was asked for
    standing it_ = standing::outside;
};

}  // namespace colock
