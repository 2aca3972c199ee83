#pragma once

#include <boost/intrusive/set.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace colock::decide {

/// When each ownership is to be renewed, and when it counts as lost if it isn't.
///
/// An entry has two times: `renew_at`, which is taken away while a renewal is under way, and
/// `lose_at`, which stands until it is moved. Entries are members of the ownerships.
class renewal_schedule {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;
    static constexpr time_point never = time_point::max();

    class entry :
        public boost::intrusive::set_base_hook<
            boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
            boost::intrusive::optimize_size<true>> {
    public:
        time_point renew_at() const noexcept { return renew_at_; }
        time_point lose_at() const noexcept { return lose_at_; }
        friend bool operator<(entry const& a, entry const& b) noexcept { return a.at() < b.at(); }

    private:
        friend class renewal_schedule;
        time_point renew_at_ = never;
        time_point lose_at_ = never;
        time_point at() const noexcept { return std::min(renew_at_, lose_at_); }
    };

    struct due {
        std::vector<entry*> lost;
        std::vector<entry*> renew;
    };

    /// Sets both times. True if the entry is now the earliest.
    bool set(entry& e, time_point renew_at, time_point lose_at)
    {
        if (e.is_linked() && e.renew_at_ == renew_at && e.lose_at_ == lose_at)
            return false;
        remove(e);
        e.renew_at_ = renew_at;
        e.lose_at_ = lose_at;
        if (e.at() == never)
            return false;
        auto const place = entries_.insert(e);  // before `begin` is asked
        return place == entries_.begin();
    }

    void remove(entry& e) noexcept
    {
        if (e.is_linked())
            e.unlink();
    }

    time_point next() const noexcept { return entries_.empty() ? never : entries_.begin()->at(); }

    /// Takes what is due at `now`, and with it what is to be renewed by `now` + `window`, so that
    /// renewals that are due together go together. What is to be renewed stays, with its loss
    /// alone; what is lost is out.
    due take(time_point now, milliseconds window)
    {
        due found;
        if (next() > now)
            return found;
        while (!entries_.empty() && entries_.begin()->at() <= now + window) {
            entry& e = *entries_.begin();
            if (e.lose_at_ <= now) {
                remove(e);
                found.lost.push_back(&e);
            } else if (e.renew_at_ <= now + window) {
                found.renew.push_back(&e);
                set(e, never, e.lose_at_);
            } else
                break;  // lost within the window, but not yet
        }
        return found;
    }

    bool empty() const noexcept { return entries_.empty(); }

    /// When a lease that was sent at `sent` is renewed: after a third of it, at most a tenth of
    /// that sooner by `dice` in [0, 1), so that what was acquired together spreads.
    static time_point renewal_time(time_point sent, milliseconds lease, double dice) noexcept
    {
        auto const third = std::chrono::duration<double, std::milli>(lease) / 3;
        return sent + std::chrono::ceil<milliseconds>(third * (1 - dice / 10));
    }

    /// The same for the first time, anywhere within the period but its first tenth.
    static time_point spread_time(time_point sent, milliseconds lease, double dice) noexcept
    {
        auto const third = std::chrono::duration<double, std::milli>(lease) / 3;
        return sent + std::chrono::ceil<milliseconds>(third * (1 - dice * 0.9));
    }

    /// When a renewal that failed is tried again: soon, then in doubling pauses up to a tenth of
    /// the lease.
    static time_point retry_time(time_point now, milliseconds lease, unsigned failures) noexcept
    {
        auto const longest = std::max(lease / 10, milliseconds{10});
        return now + std::min(longest, milliseconds{10LL << std::min(failures, 16U)});
    }

private:
    boost::intrusive::multiset<entry, boost::intrusive::constant_time_size<false>> entries_;
};

}  // namespace colock::decide
