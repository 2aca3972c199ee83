#pragma once

#include "decide/time.hpp"

#include <boost/intrusive/set.hpp>

#include <cstring>
#include <type_traits>

namespace colock::decide {

/// The alarms of a client, by time: one timer serves any number of them.
///
/// An alarm is a member of the object that waits; setting and clearing it costs no allocation, and
/// an alarm that is destroyed is no longer due.
class alarm_queue {
public:
    /// Its hook does not have the `optimize_size` of Boost.Intrusive, which keeps a colour in a bit
    /// of a pointer and reads that pointer before it is set: tools such as valgrind would report
    /// each alarm.
    class alarm :
        public boost::intrusive::set_base_hook<
            boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    public:
        /// `act` may capture one pointer: there are many alarms, and each is as small as it can
        /// be.
        template <class Act>
        explicit alarm(Act act) noexcept
            : run_{[](void* captured) { (*static_cast<Act*>(captured))(); }}
        {
            static_assert(sizeof(Act) <= sizeof captured_ && std::is_trivially_copyable_v<Act>);
            std::memcpy(&captured_, &act, sizeof act);
        }
        alarm(alarm const&) = delete;
        alarm& operator=(alarm const&) = delete;
        bool is_set() const noexcept { return is_linked(); }
        bool is_due_by(time_point then) const noexcept { return is_set() && at_ <= then; }
        void clear() noexcept
        {
            if (is_linked())
                unlink();
        }
        friend bool operator<(alarm const& a, alarm const& b) noexcept { return a.at_ < b.at_; }

    private:
        friend class alarm_queue;
        void (*run_)(void*);
        void* captured_ = nullptr;
        time_point at_{};
    };

    /// Sets or moves the alarm. True if it is now the earliest: the timer may have to be moved.
    bool set(alarm& e, time_point at)
    {
        if (e.is_linked())
            e.unlink();
        e.at_ = at;
        // Most alarms are set for a later time than all others: those of `config::timeout`.
        auto const inserted = alarms_.insert(alarms_.end(), e);  // before `begin` is asked
        return inserted == alarms_.begin();
    }

    /// When the next alarm is due; the greatest time point if there is none.
    time_point next() const noexcept { return alarms_.empty() ? never : alarms_.begin()->at_; }

    /// Takes out what is due and acts on it, the earliest first. Acting may set, clear and destroy
    /// alarms, also those that are due; what is set meanwhile for now or earlier acts too.
    void run(time_point now)
    {
        while (!alarms_.empty() && alarms_.begin()->at_ <= now) {
            alarm& due = *alarms_.begin();
            alarms_.erase(alarms_.begin());
            auto const run = due.run_;  // acting may destroy the alarm
            auto captured = due.captured_;
            run(&captured);
        }
    }

    /// Nothing is due any more.
    void clear() noexcept { alarms_.clear(); }

    bool empty() const noexcept { return alarms_.empty(); }

private:
    boost::intrusive::multiset<alarm, boost::intrusive::constant_time_size<false>> alarms_;
};

}  // namespace colock::decide
