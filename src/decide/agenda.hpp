#pragma once

#include <boost/intrusive/set.hpp>

#include <chrono>
#include <cstring>
#include <type_traits>

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
            boost::intrusive::link_mode<boost::intrusive::auto_unlink>,
            boost::intrusive::optimize_size<true>> {
    public:
        /// `act` may capture one pointer: there are many entries, and each is as small as it can
        /// be.
        template <class Act>
        explicit entry(Act act) noexcept
            : run_{[](void* captured) { (*static_cast<Act*>(captured))(); }}
        {
            static_assert(sizeof(Act) <= sizeof captured_ && std::is_trivially_copyable_v<Act>);
            std::memcpy(&captured_, &act, sizeof act);
        }
        entry(entry const&) = delete;
        entry& operator=(entry const&) = delete;
        bool is_set() const noexcept { return is_linked(); }
        void clear() noexcept
        {
            if (is_linked())
                unlink();
        }
        friend bool operator<(entry const& a, entry const& b) noexcept { return a.at_ < b.at_; }

    private:
        friend class agenda;
        void (*run_)(void*);
        void* captured_ = nullptr;
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
            auto const run = due.run_;  // acting may destroy the entry
            auto captured = due.captured_;
            run(&captured);
        }
    }

    /// Nothing is due any more.
    void clear() noexcept { entries_.clear(); }

    bool empty() const noexcept { return entries_.empty(); }

private:
    boost::intrusive::multiset<entry, boost::intrusive::constant_time_size<false>> entries_;
};

}  // namespace colock::decide
