// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/trials.hpp"
#include "support/redis_server.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>

namespace colock::test {

namespace {

using link = proxy::link;
using way = proxy::way;

/// Another fault may have the server down; then this one finds nobody to tell.
template <class... Words>
void tell(arena& at, Words const&... words)
{
    if (at.server().is_running())
        at.server().ask(words...);
}

/// One of the two networks, or both.
void on_some_networks(arena& at, std::function<void(proxy&)> const& what)
{
    int const which = at.dice().below(arena::networks + 1);
    for (int i = 0; i != arena::networks; ++i)
        if (which == i || which == arena::networks)
            what(at.network(i));
}

void on_all_networks(arena& at, std::function<void(proxy&)> const& what)
{
    for (int i = 0; i != arena::networks; ++i)
        what(at.network(i));
}

/// What was held back comes late, or never.
void let_through_or_cut(arena& at)
{
    bool const cut = at.dice().one_in(2);
    on_all_networks(at, [&](proxy& each) {
        if (cut)
            each.cut();
        each.let_through();
    });
}

fault cut(std::string name, link which)
{
    return {
        .name = std::move(name),
        .leaves = promise::exclusion,
        .begin = [which](arena& at
                 ) { on_some_networks(at, [&](proxy& each) { each.cut(which); }); },
        .loses_holds = false};
}

/// What is under way arrives late, or never.
fault hold_back(std::string name, std::function<void(proxy&)> how, int least)
{
    return {
        .name = std::move(name),
        .leaves = promise::exclusion,
        .begin = [how = std::move(how)](arena& at) { on_some_networks(at, how); },
        .end = let_through_or_cut,
        .least = least,
        .most = 3'000};
}

fault silence(std::string name, way direction)
{
    return hold_back(
        std::move(name), [direction](proxy& each) { each.hold_back_all(direction); }, 20
    );
}

/// New connections are well.
fault swallow(std::string name, way direction)
{
    return hold_back(
        std::move(name), [direction](proxy& each) { each.hold_back(direction); }, 300
    );
}

fault kill_clients(std::string name, std::string type)
{
    return {
        .name = std::move(name),
        .leaves = promise::exclusion,
        .begin = [type = std::move(type)](arena& at) { tell(at, "CLIENT", "KILL", "TYPE", type); },
        .loses_holds = false};
}

std::vector<fault> of_the_network()
{
    return {
        cut("connections reset", link::any),
        cut("command connections reset", link::command),
        cut("push connections reset", link::push),
        silence("black hole towards the server", way::to_server),
        silence("black hole towards the clients", way::to_client),
        silence("black hole both ways", way::both),
        swallow("requests under way come late, new connections are well", way::to_server),
        swallow("replies under way come late, new connections are well", way::to_client),
        {.name = "connection cut in the middle of a reply",
         .leaves = promise::exclusion,
         .begin =
             [](arena& at) {
                 auto const bytes = static_cast<std::size_t>(1 + at.dice().below(12));
                 on_some_networks(at, [&](proxy& each) { each.cut_reply("EVALSHA", bytes); });
             },
         .loses_holds = false},
        {.name = "connection cut before a request",
         .leaves = promise::exclusion,
         .begin = [](arena& at
                  ) { on_some_networks(at, [](proxy& each) { each.cut_request("EVALSHA"); }); },
         .loses_holds = false},
        {"delay of 10 to 500 ms",
         promise::exclusion,
         [](arena& at) {
             milliseconds const by{10 + at.dice().below(490)};
             on_some_networks(at, [&](proxy& each) { each.delay(by); });
         },
         [](arena& at) { on_all_networks(at, [](proxy& each) { each.delay(0ms); }); },
         200,
         1'500},
        {"all unlock messages dropped",
         promise::exclusion,
         [](arena& at) { on_all_networks(at, [](proxy& each) { each.drop_messages(true); }); },
         [](arena& at) { on_all_networks(at, [](proxy& each) { each.drop_messages(false); }); },
         200,
         2'000,
         true,
         false}};
}

/// Stands still in a script, which nobody may interrupt.
void run_slow_script(arena& at)
{
    if (!at.server().is_running())
        return;
    redis_cli busy{at.server().unix_socket()};
    busy.send(
        {"EVAL",
         "local t = redis.call('TIME') local e = t[1] * 1000000 + t[2] + ARGV[1] * 1000 "
         "repeat t = redis.call('TIME') until t[1] * 1000000 + t[2] > e "
         "return redis.status_reply('done')",
         "0",
         std::to_string(100 + at.dice().below(700))}
    );
    busy.read();
}

std::vector<fault> of_the_server()
{
    return {
        kill_clients("CLIENT KILL of command connections", "normal"),
        kill_clients("CLIENT KILL of push connections", "pubsub"),
        {.name = "SCRIPT FLUSH",
         .leaves = promise::exclusion,
         .begin = [](arena& at) { tell(at, "SCRIPT", "FLUSH"); },
         .excuses = false,
         .loses_holds = false},
        {"server stands still",
         promise::exclusion,
         [](arena& at) { at.server().pause(); },
         [](arena& at) { at.server().resume(); },
         50,
         3'000},
        // A refused renewal is sent again soon enough to find the time between two slow scripts.
        {.name = "slow script: BUSY",
         .leaves = promise::exclusion,
         .begin = run_slow_script,
         .loses_holds = false},
        {.name = "memory is full",
         .leaves = promise::exclusion,
         .begin = [](arena& at) { tell(at, "CONFIG", "SET", "maxmemory", "1"); },
         .end = [](arena& at) { tell(at, "CONFIG", "SET", "maxmemory", "0"); },
         .least = 50,
         .most = 1'500,
         .refuses = true},
        {.name = "the right to run scripts is taken away",
         .leaves = promise::exclusion,
         .begin = [](arena& at) { tell(at, "ACL", "SETUSER", "worker", "-@scripting"); },
         .end = [](arena& at) { tell(at, "ACL", "SETUSER", "worker", "+@all"); },
         .least = 50,
         .most = 1'500,
         .strands_places = true,
         .refuses = true},
        {"server killed, comes back with its data",
         promise::exclusion,
         [](arena& at) { at.server().kill(); },
         [](arena& at) { at.server().start(); },
         0,
         1'000}};
}

void of_each_process(arena& at, void (arena::*what)(int))
{
    for (int i = 0; i != at.plan().processes; ++i)
        (at.*what)(i);
}

std::vector<fault> of_processes()
{
    auto const stopped = std::make_shared<int>(0);
    return {
        {.name = "a process is killed",
         .leaves = promise::exclusion,
         .begin = [](arena& at) { at.kill_process(at.random_process()); },
         .excuses = false,
         .loses_holds = false,
         .kills = true},
        {"a process is stopped, up to three leases",
         promise::exclusion_of_who_runs,
         [stopped](arena& at) { at.stop_process(*stopped = at.random_process()); },
         [stopped](arena& at) { at.resume_process(*stopped); },
         1'000,
         6'000},
        // Then somebody who is stopped holds a lock, for sure.
        {"all processes are stopped for more than a lease",
         promise::exclusion_of_who_runs,
         [](arena& at) { of_each_process(at, &arena::stop_process); },
         [](arena& at) { of_each_process(at, &arena::resume_process); },
         2'500,
         4'000}};
}

void delete_lock(arena& at)
{
    int const key = at.random_key();
    at.takes(key, [&] { tell(at, "DEL", at.key(key)); });
}

void force_release(arena& at)
{
    int const key = at.random_key();
    at.takes(key, [&] {
        at.from_outside([&](client& outsider) -> asio::awaitable<void> {
            co_await lock{outsider, at.key(key)}.force_release(tuple);
        });
    });
}

/// Comes back as if it had never been.
void restart_empty(arena& at)
{
    at.server().kill();
    for (auto const* each : {"/appendonlydir", "/appendonly.aof"})
        std::filesystem::remove_all(at.server().folder() + each);
    at.server().start();
}

std::vector<fault> of_the_data()
{
    return {
        {"DEL of a lock", promise::fence, delete_lock},
        {"forced release", promise::fence, force_release},
        {.name = "FLUSHALL",
         .leaves = promise::fence,
         .begin = [](arena& at) { tell(at, "FLUSHALL"); },
         .takes_all = true},
        {.name = "server comes back empty",
         .leaves = promise::fence,
         .begin = restart_empty,
         .takes_all = true}};
}

}  // namespace

std::ostream& operator<<(std::ostream& to, fault const& what) { return to << what.name; }

std::vector<fault> const& all_faults()
{
    static auto const all = [] {
        std::vector<fault> faults;
        for (auto const& some : {of_the_network(), of_the_server(), of_processes(), of_the_data()})
            faults.insert(faults.end(), some.begin(), some.end());
        return faults;
    }();
    return all;
}

std::vector<fault> faults_that_leave(promise what)
{
    std::vector<fault> some;
    for (auto const& each : all_faults())
        if (each.leaves == what)
            some.push_back(each);
    return some;
}

arena_plan arena_for(std::vector<fault> const& faults)
{
    bool const needs_leases = std::ranges::any_of(faults, [](fault const& each) {
        return each.kills || each.leaves != promise::exclusion;
    });
    return needs_leases ? arena_plan{.keys = 8, .slow_keys = 4, .kinds = "lfwsFpmrwrpl"}
                        : arena_plan{.keys = 10, .slow_keys = 4, .kinds = "lfwsFpmrScwrpl"};
}

fault const& fault_named(std::string const& name)
{
    for (auto const& each : all_faults())
        if (each.name == name)
            return each;
    throw std::out_of_range{"no fault " + name};
}

}  // namespace colock::test
