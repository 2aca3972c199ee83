#pragma once

#include "base/completion.hpp"
#include "base/recycling.hpp"
#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/backoff.hpp"
#include "decide/names.hpp"
#include "redis/link_settings.hpp"
#include "redis/transport.hpp"
#include "service/client_counters.hpp"
#include "service/heartbeat.hpp"
#include "service/hold_state.hpp"
#include "service/keyed_state.hpp"
#include "service/ownership.hpp"
#include "service/poller.hpp"
#include "service/protocol.hpp"
#include "service/subscription_manager.hpp"
#include "service/watchdog.hpp"
#include <colock/client.hpp>
#include <colock/config.hpp>

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

namespace colock {

class exclusive_lock;

namespace detail {

/// The state of a client: owns the services and the state of each key, and runs them on one strand.
/// It lives as long as the client, a lock, a hold or an operation.
class core final : public std::enable_shared_from_this<core>, private transport_listener {
public:
    using make_transport =
        std::function<std::unique_ptr<colock::transport>(core&, transport_listener&)>;

    /// The values that must differ between clients.
    struct identity {
        std::string uuid;
        std::uint64_t seed;  ///< of the random delays

        /// From the system's random numbers.
        static identity draw();
    };

    /// A core on the servers of its config.
    static core_ptr make(asio::any_io_executor, config);

    /// A core on another transport, for tests.
    static core_ptr make(
        asio::any_io_executor, config, make_transport const&, identity = identity::draw()
    );

    ~core();

    strand_type const& strand() const noexcept { return strand_; }
    asio::any_io_executor const& executor() const noexcept { return executor_; }
    config const& settings() const noexcept { return settings_; }
    colock::transport& transport() noexcept { return *transport_; }
    colock::watchdog& watchdog() noexcept { return watchdog_; }
    colock::poller& poller() noexcept { return poller_; }
    heartbeat& heartbeats() noexcept { return heartbeats_; }
    subscription_manager& subscriptions() noexcept { return subscriptions_; }
    observer& events() noexcept { return *events_; }

    // ---- On the strand -------------------------------------------------------------------------

    void run(std::shared_ptr<operation>, completion<>);
    void cancel_run(std::shared_ptr<operation> const&);
    void close(std::shared_ptr<operation>, completion<>);
    void cancel_close(std::shared_ptr<operation> const&);
    void stop();

    /// Call it before an operation uses the server: it opens the connections if nothing has yet.
    /// Returns the error for the caller, or none.
    error_code enter();

    /// The error if the client refuses new work, or none.
    error_code refusal() const noexcept;

    /// Work that needs the server, or that a caller waits for. While there is any, the client is
    /// not idle.
    class activity {
    public:
        explicit activity(core& of) noexcept : of_{&of} { ++of.activities_; }
        activity(activity const&) = delete;
        activity& operator=(activity const&) = delete;
        ~activity() { finish(); }

        void finish() noexcept
        {
            if (auto* const of = std::exchange(of_, nullptr); of && --of->activities_ == 0)
                of->on_quiet();
        }

    private:
        core* of_;
    };

    /// The client sends nothing until `run()` is called again, if ever.
    bool is_stopped() const noexcept { return phase_ == phase::stopped || phase_ == phase::closed; }

    /// The state of a key; makes it if there is none.
    exclusive_lock& key(lock_ref);
    exclusive_lock* find_key(lock_ref) noexcept;

    /// Drops the state of a key if nothing refers to it any more.
    void forget_if_idle(exclusive_lock&) noexcept;

    void add(ownership&);
    void remove(ownership&) noexcept;

    keyed_state_registry& keyed_states() noexcept { return keyed_states_; }
    void remove(keyed_state&) noexcept;

    void set_alarm(decide::alarm_queue::alarm&, time_point at);

    /// Sets `pause::over` after a while.
    void rest(pause&, milliseconds);

    /// The pause before a step is sent again that the server has refused for the moment this often,
    /// from 1.
    milliseconds repeat_pause(std::uint32_t refusals) noexcept
    {
        return decide::repeat_pause(refusals, settings_.lease, jitter());
    }

    /// The client has given up releasing `what`. Closing then reports that, and the log may be the
    /// only other report.
    void note_unreleased(std::string_view what, error_code why) noexcept;

    /// The client object is destroyed. Releases that are due have some time to be sent; then it is
    /// as after `stop()`, and it never runs again.
    void retire();
    std::string const& uuid() const noexcept { return uuid_; }
    std::uint64_t next_number() noexcept { return ++last_number_; }

    /// The number of a new acquire in the order of arrival.
    std::uint64_t next_arrival() noexcept { return ++last_arrival_; }
    std::uint64_t last_arrival() const noexcept { return last_arrival_; }

    /// The field of an ownership in Redis.
    template <class String>
    void write_field(String& to, std::uint64_t number) const
    {
        to += uuid_;
        to += ':';
        decide::write_number(to, number);
    }
    template <class String = std::string>
    String field(std::uint64_t number, std::string_view end = {}) const
    {
        String text;
        text.reserve(uuid_.size() + 1 + 20 + end.size());
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
    std::string fence_counter(unsigned slot) const
    {
        auto const counter = decide::fence_counter(slot);
        std::string key;
        key.reserve(settings_.key_prefix.size() + counter.size());
        return key.append(settings_.key_prefix).append(counter);
    }
    double jitter() noexcept { return std::uniform_real_distribution<>{}(random_); }

    /// The smoothed round trip of a script.
    clock::duration round_trip() const noexcept { return round_trip_; }
    /// The shortest round trip so far: that of a server which is not busy.
    clock::duration least_round_trip() const noexcept
    {
        return std::min(least_round_trip_, round_trip_);
    }
    /// A sample counts up to twice the last value: a longer one has another cause, such as a pause
    /// of the process or a server that stood still.
    void note_round_trip(clock::duration d) noexcept
    {
        round_trip_ = round_trip_ == clock::duration{}
            ? d
            : round_trip_ + (std::min(d, 2 * round_trip_) - round_trip_) / 8;
        least_round_trip_ = std::min(least_round_trip_, d);
    }

    /// Logs the line that `make_line` makes, if the level is wanted.
    template <class MakeLine>
    void log(log_level level, MakeLine const& make_line) noexcept
    {
        if (settings_.log.sink && level >= settings_.log.level)
            write_log(settings_.log, level, make_line());
    }

    // ---- From any thread -----------------------------------------------------------------------

    /// Shared, so that metrics may read them from any thread without keeping the core alive.
    std::shared_ptr<client_counters> const counters = std::make_shared<client_counters>();
    client_counters& count = *counters;

    /// Takes a hold that its owner has dropped, to release it. Never throws.
    void abandon(hold_ptr) noexcept;

    bool is_shut_down() const noexcept { return shut_down_; }

    /// The context is destroyed: destroys handlers and tasks, because nothing will run them.
    void shut_down() noexcept;

private:
    enum class phase { idle, running, stopped, closing, closed };

    core(asio::any_io_executor, config, identity);
    struct deferred_delete;
    static void destroy(core*) noexcept;
    void destroy_pending() noexcept;

    void on_link_up(std::size_t link, std::uint64_t epoch) override;
    void on_link_down(std::size_t link, error_code why) override;
    void on_reached(slot_filter const&) override;
    void on_rerouted() override { subscriptions_.on_rerouted(); }
    void on_pubsub_up(unsigned pubsub) override;
    void on_pubsub_down(unsigned pubsub) override;
    void on_subscribed(unsigned pubsub, std::string_view channel) override;
    void on_refused(unsigned pubsub, std::string_view channel, std::string_view why) override;
    void on_changed(unsigned pubsub) override { subscriptions_.on_changed(pubsub); }
    void on_ended(unsigned pubsub, std::string_view channel) override;
    void on_message(std::string_view channel, std::string_view payload) override;

    bool has_links() const noexcept { return phase_ == phase::running || phase_ == phase::closing; }

    error_code check_settings() const;
    error_code start();
    void look_if_idle();
    bool is_idle() const noexcept;
    void part();
    void refuse_who_waits();
    void on_quiet() noexcept;
    void end_flush_if_done();
    void give_up_flush();
    void arm_timer();
    void rearm_timer();

    /// Acts on the chosen keys. Acting may add and drop keys, so it goes by their names.
    template <class IsWanted, class Act>
    void for_each_key(IsWanted const& is_wanted, Act const& act)
    {
        std::vector<lock_id> wanted;
        for (auto const& [which, key] : keys_)
            if (is_wanted(*key))
                wanted.push_back({std::string{which.name}, which.kind});
        for (auto const& id : wanted)
            if (auto* const key = find_key(ref_of(id)))
                act(*key);
    }

    void drain_abandoned() noexcept;
    void end_waiters(error_code);
    void end_run(error_code);
    void release_some();
    void finish_closing_if_done();
    void finish_closing(error_code);

    asio::any_io_executor executor_;
    strand_type strand_;
    config settings_;
    std::shared_ptr<observer> events_;
    std::string uuid_;
    std::mt19937_64 random_;
    std::uint64_t last_number_ = 0;
    std::uint64_t last_arrival_ = 0;
    clock::duration round_trip_{};
    clock::duration least_round_trip_ = clock::duration::max();
    phase phase_ = phase::idle;
    int process_;

    error_code failure_{};        ///< why the last operation could not start the client
    time_point start_again_{};    ///< not before
    std::size_t activities_ = 0;  ///< under way
    bool was_wanted_ = false;     ///< since the last check whether the client is idle

    decide::alarm_queue alarms_;
    timer_type timer_;
    time_point armed_ = never;

    completion<> running_;
    completion<> closing_;
    std::shared_ptr<operation> runner_;
    std::shared_ptr<operation> closer_;
    decide::alarm_queue::alarm close_limit_;
    decide::alarm_queue::alarm idle_look_;
    decide::alarm_queue::alarm flush_limit_;
    core_ptr flushing_;        ///< itself: the client is gone, and releases are being sent
    bool unreleased_ = false;  ///< since closing began
    bool releasing_ = false;

    std::atomic<hold_state*> abandoned_ = nullptr;
    std::atomic<bool> shut_down_ = false;
    std::atomic<bool> is_context_gone_ = false;

    // Destroyed from the bottom up: the tasks that wait for the transport go first, while the state
    // that they refer to still exists.
    using key_allocator =
        recycling_allocator<std::pair<lock_ref const, std::unique_ptr<exclusive_lock>>>;
    std::unordered_map<
        lock_ref,
        std::unique_ptr<exclusive_lock>,
        hash_lock_ref,
        std::equal_to<lock_ref>,
        key_allocator>
        keys_;  // own names
    keyed_state_registry keyed_states_;
    using ownership_list =
        boost::intrusive::list<ownership, boost::intrusive::constant_time_size<false>>;
    ownership_list ownerships_;
    ownership_list::iterator next_release_;  ///< while closing: the first one to release
    boost::intrusive::list<pause, boost::intrusive::constant_time_size<false>> pauses_;
    colock::watchdog watchdog_;
    colock::poller poller_;
    heartbeat heartbeats_;
    subscription_manager subscriptions_;
    std::unique_ptr<colock::transport> transport_;
};

}  // namespace detail

using detail::core;

}  // namespace colock
