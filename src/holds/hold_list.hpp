#pragma once

#include "decide/linked_list.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/server_field.hpp"

#include <algorithm>
#include <cstddef>

namespace colock {

class presence;

/// The holds that live on one ownership; `of` is its mark at the server.
class hold_list {
public:
    bool is_empty() const noexcept { return holds_.empty(); }
    std::size_t size() const noexcept { return holds_.size(); }
    hold_state& front() noexcept { return holds_.front(); }
    bool is_only(hold_state const& hold) const noexcept
    {
        return &holds_.front() == &hold && &holds_.back() == &hold;
    }
    void add(hold_state& hold) { holds_.push_back(hold); }

    /// Those that the server has confirmed, and whose owners have not been told of a loss.
    std::size_t living() const noexcept;

    /// Any of them is not lost: the server has confirmed it, or is asked for it.
    bool is_wanted() const noexcept;

    /// Takes the lost holds out if this one is the last that is not lost. Returns until when they
    /// keep the lock taken.
    time_point drop_lost_beside(hold_state const& last) noexcept;

    /// The longest lease that any of them was promised; zero if there are none.
    milliseconds promised(time_point now) const noexcept;

    /// One of them keeps the lock taken after its end.
    bool stays_taken(time_point now) const noexcept
    {
        return std::ranges::any_of(holds_, [now](auto const& h) { return h.stays_taken(now); });
    }

    /// The shortest proven lease of those that a renewal would prove more for: they are renewed, or
    /// their fixed lease is not proven as a whole. The greatest duration if there are none.
    milliseconds shortest_due(time_point now) const noexcept;

    /// When the first of them is lost if nothing proves more.
    time_point lose_at() const noexcept;

    /// The copies without which some of them would not be proven.
    decide::copies wants() const noexcept;

    /// The script that was sent at `sent` has set this lease, of which `sure` is proven: for those
    /// that are confirmed, and those that `asking` names, if they want no other copies than `by`
    /// says that it has.
    void confirm(
        time_point sent,
        milliseconds set,
        milliseconds sure,
        answer const& by,
        hold_operations const& asking
    );

    /// Loses those whose time has come.
    void lose_due(time_point now, server_field const& of);

    /// The server no longer has the ownership.
    void lose_all(failure why, server_field const& of);

    /// The owner has released it, or the client closes.
    void remove(hold_state&, failure why, server_field const& of);

    /// Tells the client's report of the one that is held longest.
    void tell(presence&, server_field const& of) const;

    void destroy_pending() noexcept;

private:
    bool is_renewed(hold_state const&, time_point now) const noexcept;
    bool is_due(hold_state const&, time_point now) const noexcept;
    time_point lose_at(hold_state const&) const noexcept;
    static void lose(hold_state&, failure why, std::string_view because, server_field const& of);

    decide::linked_list<hold_state> holds_;
};

}  // namespace colock
