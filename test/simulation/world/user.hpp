// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/judge.hpp"
#include <colock/client.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>
#include <colock/owner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

class process;

/// How a lock is to be held.
struct asked_terms {
    std::optional<milliseconds> lease{};
    bool renew = false;
    int synced = 0;
    milliseconds at_least{};
};

/// What a user will do in one section: drawn from the seed, the user and the number of the section
/// alone, so that leaving out others changes nothing.
struct section {
    enum class way { wait, attempt, timed, coroutine };

    unsigned object = 0;
    bool writes = true;
    way how = way::wait;
    milliseconds limit{};  ///< of a timed try
    asked_terms on;
    bool as_owner = false;
    bool drops = false;
    bool gives = false;
    bool adopts = false;  ///< if there is a claim
    std::optional<moment> cancel_after{};
    moment pause{};
    moment stay{};
    std::int64_t permits = 1;

    // What happens in the stay, from its beginning on.
    struct re_entry {
        moment after{};
        asked_terms on;
        bool writes = false;  ///< if the section does
    };
    std::vector<re_entry> re_entries{};
    struct extension {
        moment after{};
        milliseconds lease{};
        std::size_t of = 0;  ///< of which hold; 0: the outer one
    };
    std::vector<extension> extensions{};

    /// The outer hold ends first, and those of re-entries so much later.
    std::optional<moment> stays_inside{};

    /// A hold may be lost without a fault: it has a lease that nobody renews, or
    /// one that changes.
    bool may_end() const noexcept;
};

section draw_section(scenario const&, dice, std::size_t objects);

/// One after the other: pauses, asks for a lock or a permit by the public interface, stays, and
/// gives it back. Everything of it runs on its process's machine.
class user : public std::enable_shared_from_this<user> {
public:
    user(process& home, int number, std::uint64_t first_section);

    /// Begins the next section, unless the world comes to its end.
    void go_on();

    /// Its process is killed: what still refers to it does nothing any more.
    void die() noexcept
    {
        is_dead_ = true;
        nap_.reset();
        signal_.slot().clear();
    }

    int number() const noexcept { return number_; }
    std::uint64_t next_section() const noexcept { return next_; }
    bool is_idle() const noexcept { return idle_; }

    /// Since when it waits for something that should come to it.
    std::optional<moment> waits_since() const noexcept { return waits_since_; }
    object const* wants() const noexcept { return of_; }

private:
    void begin();
    void ask();
    template <class Lock>
    void ask_for(Lock const& l);
    bool may_travel() const noexcept;
    bool may_stay_taken() const noexcept;
    void adopt();
    void give();
    void ask_semaphore();
    void ask_latch();
    void run_coroutine();
    boost::asio::awaitable<void> work(hold& held);
    std::string field_of(hold const& held) const;
    /// Each step waits for all replicas, unless a call says another number.
    bool has_profile() const noexcept;
    judge::stay told_by(hold const& held, int synced) const;

    void on_answer(error_code ec, hold got, std::string permit = {});
    void enter();
    void re_enter(section::re_entry const&);
    struct re_entry_asked {
        section::re_entry how;
        std::vector<node::mishaps> before;
        moment at;
    };
    void enter_again(hold got, re_entry_asked const&);
    void extend(section::extension const&);
    void leave();
    void leave_inner();
    void finish();
    /// Of this section's operations; the answer may come in the next one.
    auto checked()
    {
        return [self = shared_from_this(), when = now_, what = of_](error_code ec) {
            self->check_error(ec, when, *what);
        };
    }
    void check_error(error_code ec) const { check_error(ec, now_, *of_); }
    void check_error(error_code, section const&, object const&) const;
    bool leaves_time(section const&, object const&) const;
    acquire_options options(asked_terms const&) const;

    template <class F>
    void after(moment time, F f);
    template <class Handler>
    auto cancellable(Handler h)
    {
        return boost::asio::bind_cancellation_slot(signal_.slot(), std::move(h));
    }

    process& home_;
    int number_;
    std::uint64_t next_;
    dice dice_;
    section now_;
    std::vector<node::mishaps> mishaps_;  ///< of the servers, when it asked
    object* of_ = nullptr;
    owner self_;
    hold held_;
    std::string permit_;
    std::optional<judge::place> inside_;
    struct inner {
        hold held;
        judge::place at;
    };
    std::list<inner> again_;  ///< those of its re-entries
    std::optional<moment> waits_since_;
    moment asked_{};  ///< when this section began to ask
    boost::asio::cancellation_signal signal_;
    std::uint64_t operation_ = 0;     ///< so that a late timer does not touch the next section
    std::vector<std::string> uuids_;  ///< of the clients that it asks
    std::shared_ptr<void> nap_;       ///< the wait of its coroutine, and with it the coroutine
    bool idle_ = true;
    bool is_dead_ = false;
    bool cancelled_ = false;
    bool is_adopted_ = false;  ///< its hold was another's
    int counts_left_ = 0;      ///< of a latch
};

}  // namespace colock::simulation
