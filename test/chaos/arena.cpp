// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/arena.hpp"
#include "checker/operations.hpp"
#include "support/child_process.hpp"
#include "support/patience.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <unistd.h>

namespace colock::test {

namespace {

// Its data outlives its process; a user of their own, whose rights can be taken away.
std::vector<std::string> server_lines(std::string const& rights)
{
    return {
        "appendonly yes",
        "appendfsync no",
        "busy-reply-threshold 50",
        "user worker on >secret ~* &* " + rights};
}

/// Where a run that has found something leaves what the processes wrote.
std::filesystem::path folder_to_keep()
{
    auto const* given = std::getenv("COLOCK_CHAOS_KEEP");
    return given ? std::filesystem::path{given} : std::filesystem::temp_directory_path();
}

/// For the outside checker, if COLOCK_HISTORIES says where: a file of each arena.
std::string file_of_operations()
{
    static int arenas = 0;
    auto const* given = std::getenv("COLOCK_HISTORIES");
    if (given == nullptr)
        return {};
    return given + ("/chaos." + std::to_string(::getpid()) + '.') + std::to_string(++arenas) +
        ".jsonl";
}

template <class Lock>
asio::awaitable<void> pass_by(Lock which, milliseconds limit)
{
    auto held = co_await which.try_acquire_for(limit);
    BOOST_TEST(held.has_value(), which.name() << " isn't to be had");
    if (held)
        co_await held->release(tuple);
}

}  // namespace

std::set<std::uint32_t> arena_plan::queues() const
{
    std::set<std::uint32_t> fair;
    for (int i = 0; i != all_keys(); ++i)
        if (kind_of(i) == 'f')
            fair.insert(static_cast<std::uint32_t>(i));
    return fair;
}

arena::arena(arena_plan plan, server_kind kind)
    : plan_{std::move(plan)}
    , server_{kind, server_lines(plan_.rights)}
    , history_{history_of(0)}
{
    std::cout << "seed " << dice_.seed() << std::endl;
    for (auto& each : networks_) {
        each = std::make_unique<proxy>(server_.port());
        each->remember(false);
    }
    set_permits();
    for (int i = 0; i != plan_.processes; ++i)
        processes_.push_back(start(i % networks, plan_.worker, plan_.through));
    if (until_all_enter(20s) < 0)
        throw std::runtime_error{"arena: not all processes have begun"};
}

arena::process arena::start(
    int network, std::string const& worker, std::vector<std::string> through
)
{
    process p{
        .number = ++started_,
        .network = network,
        .worker = worker,
        .through = through,
        .running = {}};
    auto command = std::move(through);
    auto const value = [](char const* name, int number) {
        return std::string{name} + '=' + std::to_string(number);
    };
    command.insert(
        command.end(),
        {worker,
         "redis://worker:secret@127.0.0.1:" + std::to_string(this->network(network).port()),
         board_file_.path(),
         history_of(p.number),
         std::to_string(p.number),
         std::to_string(dice_.seed() + p.number),
         "prefix=" + prefix_,
         "kinds=" + plan_.kinds,
         value("tasks", plan_.tasks),
         value("sitters", plan_.sitters),
         value("keys", plan_.keys),
         value("slow_keys", plan_.slow_keys),
         value("visit", plan_.longest_visit),
         value("break", plan_.longest_break),
         value("stay", plan_.longest_stay),
         value("lease", plan_.lease)}
    );
    command.insert(command.end(), plan_.more.begin(), plan_.more.end());
    p.running = child_process{command, log_file()};
    return p;
}

std::string arena::history_of(std::uint32_t number) const
{
    return histories_.path() + "/history." + std::to_string(number);
}

void arena::set_permits()
{
    for (int i = 0; i != plan_.all_keys(); ++i)
        if (has_permits(i))
            server_.ask("SET", key(i), "1");
}

/// It is a semaphore as at the beginning.
bool arena::has_its_permit(std::string const& name)
{
    for (int i = 0; i != plan_.all_keys(); ++i)
        if (has_permits(i) && key(i) == name)
            return server_.ask("GET", name).text == "1";
    return false;
}

void arena::note(what kind, std::uint32_t number, std::int64_t at)
{
    event e;
    e.at = at;
    e.kind = kind;
    e.process = number;
    history_.add(e);
}

void arena::note_span(what kind, std::uint32_t key, std::int64_t since)
{
    event e;
    e.at = chaos_board::now();
    e.kind = kind;
    e.key = key;
    e.valid_until = since;
    history_.add(e);
}

void arena::takes(int key, std::function<void()> const& done)
{
    auto const since = chaos_board::now();
    done();
    note_span(what::taken, static_cast<std::uint32_t>(key), since);
}

void arena::work_for(int ms)
{
    holds_within(milliseconds{ms}, [] { return false; });
}

void arena::kill_process(int which)
{
    auto& victim = processes_.at(static_cast<std::size_t>(which));
    BOOST_TEST(victim.running.is_running(), "process " << victim.number << " has died");
    // On a busy machine it may take seconds until this goes on, and until it is gone.
    auto const at = chaos_board::now();
    victim.running.signal(SIGKILL);
    note(what::killed, victim.number, at);
    victim.running.kill();
    std::string id;
    std::ifstream{history_of(victim.number) + ".id"} >> id;
    killed_clients_.push_back(std::move(id));
    let_places_stay();
    victim = start(victim.network, victim.worker, victim.through);
}

void arena::stop_process(int which)
{
    auto& victim = processes_.at(static_cast<std::size_t>(which));
    note(what::stopped, victim.number);
    victim.running.signal(SIGSTOP);
}

void arena::resume_process(int which)
{
    auto& victim = processes_.at(static_cast<std::size_t>(which));
    note(what::resumed, victim.number);
    victim.running.signal(SIGCONT);
}

void arena::add_process(std::string const& worker, std::vector<std::string> const& through)
{
    processes_.push_back(start(static_cast<int>(processes_.size()) % networks, worker, through));
}

std::int64_t arena::until_all_enter(milliseconds limit)
{
    auto const since = chaos_board::now();
    auto last = since;
    bool const all = holds_within(limit, [&] {
        return std::ranges::all_of(processes_, [&](process const& each) {
            auto const entered = board_.last_entry_of(each.number).load();
            last = std::max(last, entered);
            return entered > since;
        });
    });
    return all ? (last - since) / 1'000'000 : -1;
}

void arena::from_outside(deed const& what)
{
    asio::io_context context;
    client outsider{context.get_executor(), server_.by_port()};
    outsider.run(asio::detached);
    auto const visit = [&]() -> asio::awaitable<void> {
        co_await what(outsider);
        auto const [ec] = co_await outsider.close(tuple);
        BOOST_TEST(!ec, "close: " << ec.message());
    };
    asio::co_spawn(context, visit, [](std::exception_ptr thrown) {
        if (thrown)
            std::rethrow_exception(thrown);
    });
    context.run();
}

findings arena::finish(milliseconds limit)
{
    for (auto& each : processes_)
        BOOST_TEST(each.running.is_running(), "process " << each.number << " has died");
    board_.stop();
    stopwatch const watch;
    for (auto& each : processes_) {
        bool const ended = each.running.wait(std::max(0ms, limit - milliseconds{watch.ms()}));
        BOOST_TEST(ended, "process " << each.number << " doesn't end");
        BOOST_TEST(
            (!ended || each.running.has_succeeded()), "process " << each.number << " failed"
        );
    }
    auto const history = read_history(history_files());
    auto const lease = plan_.lease * std::int64_t{1'000'000};
    auto const found = check(history, lease, plan_.queues());
    if (auto const file = file_of_operations(); !file.empty()) {
        std::ofstream to{file};
        write_operations(history, lease, prefix_, to);
    }
    for (auto const& each : found.examples)
        std::cout << "  " << each << std::endl;
    pass_by_each_key();
    see_what_is_left();
    return found;
}

void arena::keep() const
{
    auto const where = folder_to_keep() /
        ("colock-chaos-" + std::to_string(::getpid()) + '-' + std::to_string(server_.port()));
    std::filesystem::create_directories(where);
    auto files = history_files();
    files.push_back(log_file());
    for (auto const& each : files)
        if (std::filesystem::exists(each))
            std::filesystem::copy(each, where);
    std::cout << "kept in " << where << ": processes.log, and what colock-check-history reads"
              << std::endl;
}

std::vector<std::string> arena::history_files() const
{
    std::vector<std::string> files;
    for (std::uint32_t i = 0; i <= started_; ++i)
        files.push_back(history_of(i));
    return files;
}

// A permit whose lease has ended is out until somebody asks. In a queue where nobody lives any more
// the dead stand until then, and in a wait list until somebody releases.
void arena::pass_by_each_key()
{
    from_outside([this](client& outsider) -> asio::awaitable<void> {
        auto const limit = milliseconds{plan_.lease} + 6s;
        for (int i = 0; i != plan_.all_keys(); ++i) {
            auto const name = key(i);
            auto const kind = plan_.kind_of(i);
            if (kind == 'p')
                co_await pass_by(permit_semaphore{outsider, name}, limit);
            else if (places_stay_ && kind == 'f')
                co_await pass_by(fair_lock{outsider, name}, limit);
            else if (lists_stay_ && kind == 'w')
                co_await pass_by(read_write_lock{outsider, name}.write(), limit);
            else if (lists_stay_ && (kind == 'l' || kind == 'F'))
                co_await pass_by(lock{outsider, name}, limit);
            else if (lists_stay_ && (kind == 'm' || kind == 'r'))
                for (auto const* part : {":a", ":b", ":c"})
                    co_await pass_by(lock{outsider, name + part}, limit);
        }
    });
}

// Where nobody has released the lock since. It ends ten minutes after the last of them has joined
// it, or looked at it.
bool arena::is_list_of_killed(std::string const& key)
{
    constexpr std::int64_t ten_minutes = 600'000;
    auto const left = server_.ask("PTTL", key).number;
    return key.starts_with("colock_wait:") && 0 <= left && left <= ten_minutes &&
        std::ranges::all_of(server_.ask("ZRANGE", key, "0", "-1").items, [&](auto const& entry) {
               return std::ranges::any_of(killed_clients_, [&](std::string const& id) {
                   return !id.empty() && entry.text.starts_with(id);
               });
           });
}

// A client that closes leaves nothing but its last report, which ends by itself. What killed
// processes held is there until its lease ends, their tickets a little longer.
void arena::see_what_is_left()
{
    auto const ends_by_itself = [&](std::string const& key) {
        constexpr std::int64_t without_end = -1;
        bool const is_report = key.starts_with("colock_client:");
        return (is_report && server_.ask("PTTL", key).number != without_end) ||
            is_list_of_killed(key) || has_its_permit(key);
    };
    auto const look = [&] {
        left_behind_.clear();
        for (auto const& each : server_.ask("KEYS", "*").items)
            if (!is_kept(each.text) && !ends_by_itself(each.text))
                left_behind_.push_back(each.text);
        return left_behind_.empty();
    };
    holds_within(leases_run_out_ ? milliseconds{plan_.lease} + 6s : 1s, look);
}

}  // namespace colock::test
