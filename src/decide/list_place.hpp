#pragma once

#include <charconv>
#include <string_view>
#include <utility>

namespace colock::decide {

/// The message that it is a client's turn: how many clients listen to the lock's channel.
inline unsigned read_turn(std::string_view payload) noexcept
{
    unsigned listening = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), listening);
    return listening;
}

/// The place of this client in the list of the clients that wait for a lock, as far as the client
/// knows. The list lies at the server. A release takes the first client out of it and tells that
/// client alone, which then asks for the lock.
class list_place {
public:
    static constexpr std::string_view behind = "behind";
    static constexpr std::string_view check = "check";

    /// The place to name in the next attempt. `is_heard`: the client hears when it is told;
    /// otherwise it takes no new place. `gives_way`: the lock was just left to another client.
    std::string_view to_ask(bool is_heard, bool gives_way) const noexcept
    {
        if (may_stand())
            return check;
        if (!is_heard)
            return "";
        return state_ == state::told ? "first" : gives_way ? behind : "last";
    }

    /// A script is on its way that may add or remove the client.
    void sent() noexcept
    {
        looks_for_entry_ = may_stand();
        state_ = state::unsure;
        was_told_ = false;
    }

    /// The answer of that script. A message that came in between may be older or newer than it.
    /// `joined`: the script has put the client there. If the client stood there before, a release
    /// has taken it out since, and its message is still to come.
    void answered(bool stands, bool is_first = false, bool joined = false) noexcept
    {
        is_first_ = is_first;
        bool const is_clear = !std::exchange(was_told_, false);
        if (std::exchange(looks_for_entry_, false) && joined)
            message_may_come_ = is_clear;
        state_ = !is_clear ? state::unsure : stands ? state::standing : state::absent;
    }

    /// It has the lock: the script has removed its entry, unless a release had done so.
    void granted() noexcept
    {
        if (looks_for_entry_)
            message_may_come_ = !was_told_;
        state_ = state::absent;
    }

    /// It is this client's turn. If the message is about an entry from before, the client still
    /// stands there, and a release that tells it again would tell nobody who waits.
    void told() noexcept
    {
        was_told_ = true;
        bool const is_late = std::exchange(message_may_come_, false);
        if (state_ != state::unsure)
            state_ = is_late && state_ == state::standing ? state::unsure : state::told;
    }

    /// Messages may be lost, and a release passes over a client that isn't connected.
    void interrupted() noexcept
    {
        if (state_ != state::absent)
            state_ = state::unsure;
    }

    /// The entry of an earlier wait may stand there still, because its leave was called off.
    void remains() noexcept { state_ = state::unsure; }

    /// The list is gone, or the client leaves it.
    void gone() noexcept
    {
        message_may_come_ = message_may_come_ || may_stand();
        state_ = state::absent;
    }

    bool is_standing() const noexcept { return state_ == state::standing; }

    /// The next release tells this client and no other one.
    bool is_first() const noexcept { return is_standing() && is_first_; }
    bool may_stand() const noexcept { return state_ == state::standing || state_ == state::unsure; }

    /// The client may stand in the list, or was told, so it has to say if it gives up.
    bool owes_an_answer() const noexcept { return state_ != state::absent; }

private:
    enum class state { absent, standing, told, unsure };

    state state_ = state::absent;
    bool is_first_ = false;          ///< while it stands
    bool was_told_ = false;          ///< since the last script was sent
    bool looks_for_entry_ = false;   ///< that script, until it is answered
    bool message_may_come_ = false;  ///< for an entry that is not there any more
};

}  // namespace colock::decide
