// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/any_kind.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace colock::soak {

using test::kind;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// All chance of a run comes from its seed.
class dice {
public:
    explicit dice(std::uint64_t seed) : engine_{seed} {}

    std::size_t below(std::size_t limit) { return engine_() % limit; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    milliseconds up_to(milliseconds most)
    {
        return milliseconds{below(static_cast<std::size_t>(most.count()) + 1)};
    }

private:
    std::mt19937_64 engine_;
};

/// What a run of some length does. A short one has fewer names, for each is to be used.
struct plan {
    plan(seconds run, std::uint64_t chosen) : length{run}, seed{chosen} {}

    seconds length;
    std::uint64_t seed;
    std::size_t names = std::clamp<std::size_t>(
        200 * static_cast<std::size_t>(std::max<std::int64_t>(0, length.count())), 1'000, 100'000
    );
    std::size_t tasks = std::clamp<std::size_t>(names / 50, 200, 2'000);
    std::size_t hot_names = 44;  ///< that many want at once
    int permits = 3;
    milliseconds lease = 3s;
    milliseconds linger = 500ms;
    std::size_t growth_allowed = std::size_t{5} << 20U;

    static kind kind_of(std::size_t name)
    {
        return test::all_kinds.at(name % test::all_kinds.size());
    }
    static std::string name_of(std::size_t name)
    {
        return "soak:" + std::string{test::name_of(kind_of(name))} + ':' + std::to_string(name);
    }
};

namespace asio = boost::asio;

/// Waits. A cancellation ends it, and nothing else.
asio::awaitable<void> rest(milliseconds);

/// What the tasks have come to.
struct tally {
    std::uint64_t cycles = 0;     ///< visits that have ended
    std::uint64_t taken = 0;      ///< that had the lock
    std::uint64_t cancelled = 0;  ///< that were cancelled on their way
    std::uint64_t lost = 0;       ///< whose hold was lost while they had it
    std::uint64_t overlaps = 0;   ///< that came in while the last owner had not been told
    std::map<std::string, std::uint64_t> errors;
};

/// Tasks that take and give back locks of all kinds, each time another one.
class crowd {
public:
    using clients = std::array<client*, 2>;

    crowd(plan const& what, clients at, asio::io_context& on);
    crowd(crowd const&) = delete;
    crowd& operator=(crowd const&) = delete;

    /// Gives the semaphores their permits. False if that failed.
    asio::awaitable<bool> prepare();

    void start();

    /// Ends the tasks, which takes as long as their last visit.
    asio::awaitable<void> stop();

    tally const& so_far() const noexcept { return tally_; }
    bool all_names_used() const noexcept { return next_ >= plan_.names; }

private:
    asio::awaitable<void> live();
    asio::awaitable<void> visit(std::size_t name);
    asio::awaitable<void> visit_latch(std::size_t name);
    asio::awaitable<void> stay(std::size_t name, test::taken& inside);
    asio::awaitable<void> leave(test::taken& inside);
    asio::awaitable<void> dwell(hold& held, milliseconds);
    std::size_t some_name();
    client& some_client() { return *clients_.at(dice_.below(clients_.size())); }
    test::manner some_manner();
    void note(error_code const&);

    plan plan_;
    clients clients_;
    asio::io_context& context_;
    dice dice_{plan_.seed};
    std::vector<hold const*> inside_ = std::vector<hold const*>(plan_.names);
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    bool stopping_ = false;
    tally tally_;
};

/// What goes wrong between clients and server, one thing after the other.
class faults {
public:
    using networks = std::array<test::proxy*, 2>;

    faults(plan const& what, test::redis_server& server, networks between);

    /// Until told to end; then all is well again.
    boost::asio::awaitable<void> rage();
    boost::asio::awaitable<void> end();

    std::uint64_t count() const noexcept { return count_; }
    std::map<std::string, std::uint64_t> const& by_kind() const noexcept { return by_kind_; }

private:
    boost::asio::awaitable<void> do_one();
    boost::asio::awaitable<void> black_hole();
    boost::asio::awaitable<void> refuse();
    boost::asio::awaitable<void> slow_down();
    boost::asio::awaitable<void> pause_server();
    void kill_clients();
    void note(char const* what);
    void calm_down();

    test::proxy& network() { return *networks_.at(dice_.below(networks_.size())); }
    test::proxy::link some_link() { return static_cast<test::proxy::link>(dice_.below(3)); }
    test::proxy::way some_way() { return static_cast<test::proxy::way>(dice_.below(3)); }

    dice dice_;
    milliseconds lease_;
    test::redis_server& server_;
    networks networks_;
    bool ending_ = false, raging_ = false;
    std::uint64_t count_ = 0;
    std::map<std::string, std::uint64_t> by_kind_;
};

/// Of this process, in bytes; what is free was given back to the system before.
std::size_t resident_memory();

/// What there is when nobody does anything.
struct findings {
    std::vector<std::string> wrong;
    std::size_t fencing_counters = 0;  ///< of locks, and of fenced locks: they stay
    std::size_t records = 0;           ///< of requests of semaphores and latches: for an hour
    std::size_t semaphores = 0;        ///< with all their permits
    std::size_t latches = 0;           ///< that a cancelled visit had left closed
    milliseconds until_quiet{0};       ///< tables and channels
    std::size_t memory = 0;
};

/// Looks at clients and server when all tasks have ended.
class audit {
public:
    audit(plan const& what, test::redis_server& server, crowd::clients at)
        : plan_{what}
        , server_{server}
        , clients_{at}
    {}

    asio::awaitable<findings> look();

private:
    asio::awaitable<void> look_at_tables(findings&);
    std::vector<std::string> channels_left();
    asio::awaitable<void> open_latches(findings&);
    asio::awaitable<void> end_leases();
    asio::awaitable<void> look_at_permits(findings&);
    asio::awaitable<void> look_at_keys(findings&);
    std::vector<std::string> strangers(findings&);
    bool is_quiet();

    plan plan_;
    test::redis_server& server_;
    crowd::clients clients_;
};

}  // namespace colock::soak
