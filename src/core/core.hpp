#pragma once

#include "base/client_counters.hpp"
#include "base/paced_log.hpp"
#include "base/strand_task.hpp"
#include "base/timer.hpp"
#include "core/alarm_clock.hpp"
#include "decide/backoff.hpp"
#include "decide/linked_list.hpp"
#include "decide/names.hpp"
#include "decide/round_trip.hpp"
#include "redis/transport.hpp"
#include <colock/config.hpp>
#include <colock/detail/initiate.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

class heartbeat;
class hold_registry;
class keyed_state_registry;
class mailbox;
class poller;
class subscription_manager;
class watchdog;

inline namespace v0_3 {
namespace detail {

/// The base that every part of a client stands on: its strand, settings, log, alarms, numbers,
/// counters and transport. It lives as long as the client, a lock, a hold or an operation.
/// `client_state`, at the top, completes it with the life of the client, and owns the parts.
class core : public std::enable_shared_from_this<core> {
public:
    /// The values that must differ between clients.
    struct identity {
        std::string uuid;
        std::uint64_t seed;  ///< of the random delays

        /// From the system's random numbers.
        static identity draw();
        /// The same for the same number, for tests.
        static identity of(std::uint64_t number);
    };

    core(core const&) = delete;
    core& operator=(core const&) = delete;

    strand_type const& strand() const noexcept { return strand_; }
    asio::any_io_executor const& executor() const noexcept { return executor_; }
    config const& settings() const noexcept { return settings_; }

    /// The server as errors name it.
    std::shared_ptr<std::string const> const& server() const noexcept { return names_.server; }

    /// Tells the observer, and the log where a line is due.
    void tell(client_event const&) noexcept;

    // ---- On the strand -------------------------------------------------------------------------

    colock::transport& transport() const noexcept { return *transport_; }

    // The parts that a client makes once. The layer of each has its header.
    heartbeat& heartbeats() const noexcept { return *parts_.heartbeats; }
    hold_registry& holds() const noexcept { return *parts_.holds; }
    keyed_state_registry& keyed_states() const noexcept { return *parts_.states; }
    colock::mailbox& mailbox() const noexcept { return *parts_.letters; }
    colock::poller& poller() const noexcept { return *parts_.polled; }
    subscription_manager& subscriptions() const noexcept { return *parts_.subscriptions; }
    colock::watchdog& watchdog() const noexcept { return *parts_.renewals; }

    /// Call it before an operation uses the server: it opens the connections if nothing has yet.
    /// Returns the error for the caller, or none.
    virtual failure enter() = 0;

    /// The client sends nothing until `run()` is called again, if ever.
    bool is_stopped() const noexcept
    {
        return life_.now == phase::stopped || life_.now == phase::closed;
    }

    /// It has connections, or makes them.
    bool has_links() const noexcept
    {
        return life_.now == phase::running || life_.now == phase::closing;
    }

    /// It gives back what it has, and then stops.
    bool is_closing() const noexcept { return life_.now == phase::closing; }

    /// The error if the client refuses new work, or none.
    failure refusal() const noexcept
    {
        bool const refuses = life_.now == phase::closing || life_.now == phase::closed;
        return refuses ? failure{error::closed} : failure{};
    }

    /// Otherwise a walk over all keys would find nobody who waits.
    bool may_have_waits() const noexcept { return count.waiters != 0 || life_.activities != 0; }

    /// Work that needs the server, or that a caller waits for. While there is any, the client is
    /// not idle. A client that is destroyed finishes it, unless it only asks: it then owes nothing.
    class activity {
    public:
        enum class kind { owes, asks };

        explicit activity(core& of, kind what = kind::owes) noexcept
            : of_{&of}
            , owes_{what == kind::owes}
        {
            ++of.life_.activities;
            of.life_.owing += owes_;
        }
        activity(activity const&) = delete;
        activity& operator=(activity const&) = delete;
        ~activity() { finish(); }

        void finish() noexcept
        {
            auto* const of = std::exchange(of_, nullptr);
            if (!of)
                return;
            of->life_.owing -= owes_;
            if (--of->life_.activities == 0 || (owes_ && of->life_.owing == 0))
                of->on_quiet();
        }

    private:
        core* of_;
        bool owes_;
    };

    /// A key, a hold or a queue is gone, for which closing may wait.
    virtual void on_less() = 0;

    /// The context is destroyed: destroys handlers and tasks, because nothing will run them.
    virtual void shut_down() noexcept = 0;

    void set_alarm(alarm_clock::alarm& a, time_point at) { alarms_.set(a, at); }

    /// A short wait of a task. The core knows those under way, because a task may own the object
    /// that its pause is in; then only the core can end both.
    struct pause : decide::list_hook<> {
        /// Ends it early, if it is under way.
        void finish()
        {
            if (!is_linked())
                return;
            alarm.clear();
            unlink();
            over.set(true);
        }

        event<bool> over;
        alarm_clock::alarm alarm{[this] { finish(); }};
    };

    /// Begins a pause, which ends after a while, or as soon as a server is reached again.
    void rest(pause&, milliseconds);

    /// The pause before a step is sent again that the server has refused for the moment this often,
    /// from 1.
    milliseconds repeat_pause(std::uint32_t refusals) noexcept
    {
        return decide::repeat_pause(refusals, settings_.lease, jitter());
    }

    /// Makes this step, which takes something for this lease, wait for these copies.
    void ask_copies(step&, decide::copies const& wants, milliseconds lease) const;

    /// The client has given up releasing `what`. Closing then reports that, and the log may be the
    /// only other report.
    void note_unreleased(std::string_view what, failure why) noexcept;

    std::string const& uuid() const noexcept { return names_.client; }
    std::uint64_t next_number() noexcept { return ++last_number_; }

    /// The number of a new acquire in the order of arrival.
    std::uint64_t next_arrival() noexcept { return ++last_arrival_; }
    std::uint64_t last_arrival() const noexcept { return last_arrival_; }

    /// The field of an ownership in Redis.
    template <class String>
    void write_field(String& to, std::uint64_t number) const
    {
        to += names_.client;
        to += ':';
        decide::write_number(to, number);
    }
    template <class String = std::string>
    String field(std::uint64_t number, std::string_view end = {}) const
    {
        String text;
        text.reserve(names_.client.size() + 1 + 20 + end.size());
        write_field(text, number);
        text += end;
        return text;
    }

    /// The key of an object of this name at the server.
    std::string key_of(std::string name) const
    {
        return std::move(name.insert(0, settings_.key_prefix));
    }

    /// The counter from which the locks of this slot draw their tokens.
    std::string fence_counter(unsigned slot) const;

    /// How the names of the mailboxes begin that serve the locks of this slot. The id of a client
    /// follows.
    std::string mailbox_prefix(unsigned slot) const;

    /// The same as scripts that tell turns take it: behind a + if the server counts all receivers
    /// of a message, else behind a *.
    template <class String>
    void write_mailbox_argument(String& to, unsigned slot) const
    {
        to += transport().counts_receivers() ? '+' : '*';
        decide::write_mailbox_prefix(to, slot_of_mailbox(slot), settings_.key_prefix);
    }
    std::string mailbox_argument(unsigned slot) const
    {
        std::string text;
        write_mailbox_argument(text, slot);
        return text;
    }

    /// In [0, 1).
    double jitter() noexcept
    {
        // Not std::uniform_real_distribution, whose formula each standard library chooses.
        return static_cast<double>(random_() >> 11U) * 0x1p-53;
    }

    decide::round_trip& round_trip() noexcept { return round_trip_; }

    /// Logs the line that `make_line` makes, if the level is wanted.
    template <class MakeLine>
    void log(log_level level, MakeLine const& make_line) noexcept
    {
        if (settings_.log.sink && level >= settings_.log.level)
            write_log(settings_.log, level, make_line());
    }

    /// The same for a fault that may go on, or that many locks may have at once.
    template <class MakeLine>
    void log(log_level level, paced_log::kind const& of, MakeLine const& make_line) noexcept
    {
        if (faults_.takes(level))
            faults_.write(level, of, make_line());
    }
    paced_log& faults() noexcept { return faults_; }

    /// The same for what is said once.
    template <class MakeLine>
    void log_once(log_level level, std::string about, MakeLine const& make_line) noexcept
    {
        if (faults_.takes(level) && faults_.is_first(std::move(about)))
            write_log(settings_.log, level, make_line());
    }

    // ---- From any thread -----------------------------------------------------------------------

    /// Shared, so that metrics may read them from any thread without keeping the core alive.
    std::shared_ptr<client_counters> const counters = std::make_shared<client_counters>();
    client_counters& count = *counters;

    /// The context is destroyed, and nothing of the client runs any more.
    bool is_shut_down() const noexcept { return life_.shut_down; }

protected:
    enum class phase { idle, running, stopped, closing, closed };

    /// How far the client is; `client_state` moves it on.
    struct lifecycle {
        phase now = phase::idle;
        std::size_t activities = 0;  ///< under way
        std::size_t owing = 0;       ///< of these, the ones that a destroyed client finishes
        bool unreleased = false;     ///< since closing began
        std::atomic<bool> shut_down = false;
    };

    /// The parts, which `client_state` owns.
    struct parts {
        keyed_state_registry* states;
        hold_registry* holds;
        colock::watchdog* renewals;
        colock::poller* polled;
        heartbeat* heartbeats;
        subscription_manager* subscriptions;
        colock::mailbox* letters;
    };

    core(asio::any_io_executor, config, identity, parts);
    ~core() = default;

    /// The last activity has ended.
    virtual void on_quiet() noexcept = 0;

    /// Ends all pauses early.
    void end_pauses();
    void destroy_pauses() noexcept;

private:
    std::optional<unsigned> slot_of_mailbox(unsigned slot) const noexcept
    {
        return settings_.topology == topology::cluster ? std::optional{slot} : std::nullopt;
    }
    void wake_log(time_point at);

    struct names {
        std::string client;                         ///< its UUID
        std::shared_ptr<std::string const> server;  ///< for people
    };

    asio::any_io_executor executor_;
    strand_type strand_;

protected:
    alarm_clock alarms_;
    colock::transport* transport_ = nullptr;
    lifecycle life_;

private:
    config settings_;
    names names_;
    std::mt19937_64 random_;
    std::uint64_t last_number_ = 0;
    std::uint64_t last_arrival_ = 0;
    paced_log faults_{settings_.log, [this](time_point at) { wake_log(at); }};
    alarm_clock::alarm faults_due_{[this] { has_links() ? faults_.catch_up() : faults_.finish(); }};
    decide::round_trip round_trip_;
    parts parts_;
    decide::linked_list<pause> pauses_;
};

}  // namespace detail
}  // namespace v0_3

using detail::core;
using detail::core_ptr;

}  // namespace colock
