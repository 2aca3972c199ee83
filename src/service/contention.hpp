#pragma once

#include "decide/agenda.hpp"
#include "redis/transport.hpp"
#include "service/subscription_manager.hpp"
#include "service/tenure.hpp"
#include "service/waiter.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace colock {

/// All that this client knows of one key: the ownership it has, those who wait for it, and the
/// one attempt that is under way for their head.
class contention final : private subscription_manager::listener {
public:
    contention(core& inside, std::string name);
    ~contention();

    std::string const& name() const noexcept { return name_; }
    unsigned slot() const noexcept { return slot_; }
    tenure* held() const noexcept { return tenure_.get(); }

    /// Takes in an acquire: re-enters, joins the queue, or answers at once.
    void admit(std::shared_ptr<waiter> const&);

    /// A waiter goes, for this reason; none: its wait ran out.
    void leave(waiter&, error_code why);

    /// An ownership has ended, or can't be relied on: the key is open to the next attempt.
    void ended(tenure&);

    /// Whatever is slept for may have come.
    void wake();
    void wake_sleeper() { sleeping_ ? wake() : void(); }

    void end_waiters(error_code);

    /// Destroys handlers, answering nobody: the context goes away.
    void abandon() noexcept;

    bool is_idle() const noexcept { return queue_.empty() && !tenure_ && !contending_; }

private:
    struct attempt;
    /// What an answer means for the attempt.
    struct verdict {
        enum class field { unchanged, absent, unclaimed, given };

        field stands = field::unchanged;  ///< in Redis: with nobody to hold it, or with a hold
        bool asleep = false;              ///< ask again when something has happened
    };

    sequence contend();
    verdict judge(attempt const&, answer const&);
    verdict on_granted(attempt const&, std::uint64_t token, time_point sent);
    verdict on_refused(std::int64_t pttl);
    verdict on_failed(error_code why);
    bool subscribe();
    void give(std::uint64_t number, std::uint64_t token, time_point sent);
    void owe_release(std::uint64_t number, time_point until);
    void re_enter(std::shared_ptr<waiter> const&);
    void take_out(waiter&);
    void send_away_who_tries_once();
    verdict sleep(milliseconds longest, verdict::field);

    void on_subscribed() override { wake(); }
    void on_message(std::string_view) override { wake(); }

    core& core_;
    std::string name_;
    std::string channel_;
    unsigned slot_;
    boost::intrusive::list<waiter, boost::intrusive::constant_time_size<false>> queue_;
    std::shared_ptr<tenure> tenure_;
    event<bool> wake_;
    decide::agenda::entry sleep_;
    step* sending_ = nullptr;
    unsigned late_ = 0;  ///< grants in a row that came too late
    bool contending_ = false;
    bool sleeping_ = false;
    bool subscribed_ = false;
};

}  // namespace colock
