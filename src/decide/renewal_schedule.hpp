#pragma once

#include "decide/backoff.hpp"
#include "decide/linked_list.hpp"
#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

namespace colock::decide {

/// Says when to renew each ownership, and when it counts as lost without a renewal.
///
/// An entry has two times: `renew_at`, which is taken away while a renewal is under way, and
/// `lose_at`, which stands until it is moved. Entries are members of the ownerships; they lie in
/// lists, one for each few milliseconds, so that moving one among 100,000 touches its neighbours
/// in one list and no tree of all.
class renewal_schedule {
public:
    using duration = std::chrono::steady_clock::duration;

    class entry : public list_hook<renewal_schedule> {
    public:
        time_point renew_at() const noexcept { return renew_at_; }
        time_point lose_at() const noexcept { return lose_at_; }

    private:
        friend class renewal_schedule;
        using hook = list_hook<renewal_schedule>;

        time_point at() const noexcept { return std::min(renew_at_, lose_at_); }

        time_point renew_at_ = never;
        time_point lose_at_ = never;
    };

    struct due {
        std::vector<entry*> lost;
        std::vector<entry*> renew;
    };

    /// Sets both times. True if it is now the earliest.
    bool set(entry& e, time_point renew_at, time_point lose_at)
    {
        if (e.hook::is_linked() && e.renew_at_ == renew_at && e.lose_at_ == lose_at)
            return false;
        remove(e);
        e.renew_at_ = renew_at;
        e.lose_at_ = lose_at;
        if (e.at() == never)
            return false;
        prune();
        put(e);
        if (e.at() >= next_)
            return false;
        next_ = e.at();
        return true;
    }

    void remove(entry& e) noexcept
    {
        if (e.hook::is_linked())
            e.hook::unlink();
    }

    /// Nothing is due before this time. It may be too early, because of entries removed since the
    /// last `take`.
    time_point next() const noexcept { return next_; }

    /// Takes the entries that are due at `now`, and the renewals that are due by `now` + `window`,
    /// so that renewals that are due together go together. No renewal comes early by more than a
    /// small part of the time that it has left then, because otherwise a short lease would be
    /// renewed all the time. An entry to renew stays, with only its time of loss; a lost entry is
    /// removed.
    due take(time_point now, milliseconds window)
    {
        due found;
        if (next_ > now)
            return found;
        auto const end = tick_of(now + window);
        bool const is_due = has_due(now);
        for (auto at = lists_.begin(); is_due && at != lists_.end() && at->first <= end; ++at)
            for (auto e = at->second.begin(); e != at->second.end();)
                take_if_due(*e++, now, window, found);
        find_next();
        return found;
    }

    /// Nothing is watched any more.
    bool empty() noexcept
    {
        drop_passed();
        return lists_.empty();
    }

    /// The time to renew a lease that was sent at `sent`: after a third of it, up to a tenth of
    /// that earlier by `jitter` in [0, 1), so that what was acquired together spreads.
    static time_point renewal_time(time_point sent, milliseconds lease, double jitter) noexcept
    {
        auto const third = std::chrono::duration<double, std::milli>(lease) / 3;
        return sent + std::chrono::ceil<milliseconds>(third * (1 - jitter / 10));
    }

    /// The same for the first renewal: anywhere within the period except its first tenth.
    static time_point spread_time(time_point sent, milliseconds lease, double jitter) noexcept
    {
        auto const third = std::chrono::duration<double, std::milli>(lease) / 3;
        return sent + std::chrono::ceil<milliseconds>(third * (1 - jitter * 0.9));
    }

    /// The time to try a renewal again after this many failures: soon, then with pauses that double
    /// up to a tenth of the lease. A busy server may have little time between two long scripts, so
    /// there the pauses grow only up to a fortieth. Each is shortened by up to half by `jitter` in
    /// [0, 1).
    static time_point retry_time(
        time_point now, milliseconds lease, unsigned failures, bool is_busy, double jitter
    ) noexcept
    {
        auto const longest = std::max(lease / (is_busy ? 40 : 10), milliseconds{10});
        return now + backoff_pause(milliseconds{10}, longest, 2, failures + 1, jitter);
    }

private:
    using list_type = linked_list<entry, entry::hook>;
    using tick = std::chrono::steady_clock::rep;

    /// The time span of one list.
    static constexpr milliseconds width{8};
    static constexpr std::size_t least_prune = 8'192;

    static tick tick_of(time_point t) noexcept
    {
        return t.time_since_epoch() / std::chrono::steady_clock::duration{width};
    }

    // Lists that have become empty stay until they are passed, or are too many: what is acquired
    // and released at once would make and destroy one each time.
    void prune()
    {
        if (lists_.size() < prune_at_)
            return;
        std::erase_if(lists_, [](auto const& l) { return l.second.empty(); });
        prune_at_ = std::max(least_prune, 2 * lists_.size());
    }

    void put(entry& e) { lists_[tick_of(e.at())].push_back(e); }

    bool has_due(time_point now) const
    {
        return std::any_of(lists_.begin(), lists_.upper_bound(tick_of(now)), [now](auto const& l) {
            return std::ranges::any_of(l.second, [now](entry const& e) { return e.at() <= now; });
        });
    }

    void take_if_due(entry& e, time_point now, milliseconds window, due& found)
    {
        if (e.lose_at_ <= now) {
            remove(e);
            found.lost.push_back(&e);
        } else if (e.renew_at_ <= now + std::min<duration>(window, (e.lose_at_ - e.renew_at_) / 64)) {
            found.renew.push_back(&e);
            remove(e);
            e.renew_at_ = never;
            if (e.lose_at_ != never)
                put(e);
        }
    }

    void drop_passed() noexcept
    {
        while (!lists_.empty() && lists_.begin()->second.empty())
            lists_.erase(lists_.begin());
    }

    void find_next() noexcept
    {
        drop_passed();
        next_ = never;
        if (!lists_.empty())
            for (auto const& e : lists_.begin()->second)
                next_ = std::min(next_, e.at());
    }

    std::map<tick, list_type> lists_;
    std::size_t prune_at_ = least_prune;
    time_point next_ = never;
};

}  // namespace colock::decide
