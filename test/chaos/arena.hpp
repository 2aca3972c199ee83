// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "checker/checker.hpp"
#include "integration/suites.hpp"
#include "support/child_process.hpp"
#include "support/places.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"
#include "support/seed.hpp"
#include "support/shared_memory.hpp"
#include "workers/chaos_board.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

/// By design: fencing counters, and for an hour the number of a client's last request.
inline bool is_kept(std::string const& key)
{
    return key.starts_with("colock_fence:") || key.starts_with("redisson_lock_token:") ||
        key.starts_with("colock_once");
}

struct arena_plan {
    int processes = 4;
    int tasks = 6;    ///< of a process
    int sitters = 2;  ///< of them, that stay for long
    int keys = 6;
    int slow_keys = 4;         ///< of the sitters
    int longest_visit = 2;     ///< ms of the others
    int longest_break = 20;    ///< ms of a task between two sections
    int longest_stay = 4'000;  ///< ms of a sitter
    int lease = 2'000;         ///< ms
    /// Of the keys in turn: lock, fair, read-write, spin, Fenced, permits, multi, red, Semaphore,
    /// countdown latch. The last two have no lease.
    std::string kinds = "lfwlsl";
    std::vector<std::string> more{};  ///< words for the workers
    std::string rights = "+@all";     ///< of their user at the server
    /// Words before a worker's own: a program that runs it.
    std::vector<std::string> through{};
    std::string worker = beside_this_program("colock-worker-chaos_worker");

    int all_tasks() const noexcept { return processes * tasks; }
    int all_keys() const noexcept { return keys + slow_keys; }
    char kind_of(int key) const { return kinds.at(static_cast<std::size_t>(key) % kinds.size()); }
    /// Of the fair locks.
    std::set<std::uint32_t> queues() const;
};

/// A server, two networks to it, and processes that contend for its locks while they and it go
/// through worse. Everything is noted; the checker has the last word.
class arena {
public:
    explicit arena(arena_plan, server_kind = usual_server());
    arena(arena const&) = delete;
    arena& operator=(arena const&) = delete;

    random_numbers& dice() noexcept { return dice_; }
    redis_server& server() noexcept { return server_; }
    chaos_board& board() noexcept { return board_; }
    arena_plan const& plan() const noexcept { return plan_; }

    /// Processes with an even number are behind the first one.
    proxy& network(int which) { return *networks_.at(static_cast<std::size_t>(which)); }
    static constexpr int networks = 2;

    std::string key(int i) const { return prefix_ + std::to_string(i); }
    int random_key() { return dice_.below(plan_.all_keys()); }

    /// What somebody does from outside, by a client of his own.
    using deed = std::function<asio::awaitable<void>(client&)>;
    void from_outside(deed const&);

    /// Lets them work.
    void work_for(int ms);

    // ---- What may happen to processes ----------------------------------------------------------

    int random_process() { return dice_.below(static_cast<int>(processes_.size())); }
    /// Another takes its place.
    void kill_process(int which);
    void stop_process(int which);
    void resume_process(int which);
    /// One more, of another make.
    void add_process(std::string const& worker, std::vector<std::string> const& through = {});

    // ---- The course of a trial -----------------------------------------------------------------

    void fault_begins() { note(what::fault_begins, 0); }
    void fault_is_over() { note(what::fault_is_over, 0); }

    /// The server refuses requests, or loses all that it has granted, from then until now.
    void note_since(what kind, std::int64_t since) { note_span(kind, every_key, since); }

    /// The server loses what it has granted of a key while this is done.
    void takes(int key, std::function<void()> const& done);

    /// Milliseconds until each process has been inside again, from now on; -1 if one hasn't.
    std::int64_t until_all_enter(milliseconds limit);

    /// Lets them end, sees what they leave, and reads what they have noted.
    findings finish(milliseconds limit = 20s);

    /// What somebody had stays until its lease is over, for nobody gives it back.
    void let_leases_run_out() { leases_run_out_ = true; }

    /// And places in queues, until somebody asks: their owners can't take them along.
    void let_places_stay() { leases_run_out_ = places_stay_ = true; }

    /// And places in wait lists: the server has refused to take waiters out.
    void let_all_places_stay()
    {
        let_places_stay();
        lists_stay_ = true;
    }

    /// Copies what the processes have written to COLOCK_CHAOS_KEEP, or where temporary files are.
    void keep() const;

    /// Keys that are left but fencing counters; after finish().
    std::vector<std::string> const& left_behind() const noexcept { return left_behind_; }

private:
    struct process {
        std::uint32_t number = 0;
        int network = 0;
        std::string worker;
        std::vector<std::string> through;
        child_process running;
    };

    process start(int network, std::string const& worker, std::vector<std::string> through);
    std::string history_of(std::uint32_t number) const;
    std::string log_file() const { return server_.folder() + "/processes.log"; }
    void note(what, std::uint32_t number, std::int64_t at = chaos_board::now());
    void note_span(what, std::uint32_t key, std::int64_t since);
    std::vector<std::string> history_files() const;
    bool has_permits(int key) const
    {
        return plan_.kind_of(key) == 'p' || plan_.kind_of(key) == 'S';
    }
    void set_permits();
    bool has_its_permit(std::string const& key);
    void pass_by_each_key();
    bool is_list_of_killed(std::string const& key);
    void see_what_is_left();

    arena_plan plan_;
    random_numbers dice_;
    std::string prefix_ = "chaos:";
    redis_server server_;
    std::array<std::unique_ptr<proxy>, networks> networks_;
    temporary_file board_file_;
    chaos_board board_{board_file_.path()};
    temporary_folder histories_;  ///< whose disk is slow isn't to be taken for one that is stopped
    history_writer history_;
    std::uint32_t started_ = 0;
    std::vector<process> processes_;
    std::vector<std::string> killed_clients_;  ///< their ids
    bool leases_run_out_ = false;
    bool places_stay_ = false;
    bool lists_stay_ = false;
    std::vector<std::string> left_behind_;
};

}  // namespace colock::test
