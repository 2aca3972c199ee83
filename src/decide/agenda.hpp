#pragma once

#include <boost/intrusive/set.hpp>

#include <chrono>
#include <functional>

namespace colock::decide {

/// What is to be done at which time: one timer serves any number of entries.
///
/// An entry is a member of whoever waits; setting and clearing it costs no allocation, and an
/// entry that is destroyed is no longer due.
class agenda {
public:
    using time_point = std::chrono::steady_clock::time_point;

    class entry :
        public boost::intrusive::set_base_hook<
            boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    public:
        explicit entry(std::function<void()> act) : act_{std::move(act)} {}
        bool is_set() const noexcept { return is_linked(); }
        void clear() noexcept
        {
            if (is_linked())
                unlink();
        }
        friend bool operator<(entry const& a, entry const& b) noexcept { return a.at_ < b.at_; }

    private:
        friend class agenda;
        std::function<void()> act_;
        time_point at_{};
    };

    /// Sets or moves the entry. True if it is now the earliest: the timer may have to be moved.
    bool set(entry& e, time_point at)
    {
        if (e.is_linked())
            e.unlink();
        e.at_ = at;
        auto const place = entries_.insert(e);  // before `begin` is asked
        return place == entries_.begin();
    }

    /// When the next entry is due; the greatest time point if there is none.
    time_point next() const noexcept
    {
        return entries_.empty() ? time_point::max() : entries_.begin()->at_;
    }

    /// Takes out what is due and acts on it, the earliest first. Acting may set, clear and destroy
    /// entries, also those that are due; what is set meanwhile for now or earlier acts too.
    void run(time_point now)
    {
        while (!entries_.empty() && entries_.begin()->at_ <= now) {
            entry& due = *entries_.begin();
            entries_.erase(entries_.begin());
            auto const act = due.act_;  // acting may destroy the entry
            act();
        }
    }

    /// Nothing is due any more.
    void clear() noexcept { entries_.clear(); }

    bool empty() const noexcept { return entries_.empty(); }

private:
    boost::intrusive::multiset<entry, boost::intrusive::constant_time_size<false>> entries_;
};

}  // namespace colock::decide
