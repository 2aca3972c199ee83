// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/client_report.hpp"
#include "decide/names.hpp"
#include "soak/soak.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <malloc.h>
#include <string_view>
#include <unistd.h>
#include <unordered_set>

namespace colock::soak {

namespace {

using clock = std::chrono::steady_clock;

milliseconds since(clock::time_point begun)
{
    return std::chrono::duration_cast<milliseconds>(clock::now() - begun);
}

std::string figures(client_stats const& s)
{
    return "holds " + std::to_string(s.holds) + ", waiters " + std::to_string(s.waiters) +
        ", keys " + std::to_string(s.keys) + ", subscriptions " + std::to_string(s.subscriptions) +
        ", owed releases " + std::to_string(s.owed_releases);
}

}  // namespace

std::size_t resident_memory()
{
    ::malloc_trim(0);
    std::ifstream from{"/proc/self/statm"};
    std::size_t all = 0, resident = 0;
    from >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

asio::awaitable<findings> audit::look()
{
    findings seen;
    co_await look_at_tables(seen);
    co_await open_latches(seen);
    co_await end_leases();
    co_await look_at_permits(seen);
    co_await look_at_keys(seen);
    // What was asked here has left nothing either.
    findings again;
    co_await look_at_tables(again);
    seen.wrong.insert(seen.wrong.end(), again.wrong.begin(), again.wrong.end());
    seen.memory = resident_memory();
    co_return seen;
}

bool audit::is_quiet()
{
    return std::ranges::all_of(clients_, [](client* each) {
        auto const s = each->stats();
        return s.holds + s.waiters + s.keys + s.subscriptions + s.owed_releases == 0;
    });
}

/// What could not be released is owed for a lease at most.
asio::awaitable<void> audit::look_at_tables(findings& seen)
{
    auto const begun = clock::now();
    auto const limit = plan_.lease + 4 * plan_.linger + 5s;
    while (!is_quiet() && since(begun) < limit)
        co_await rest(10ms);
    for (auto* each : clients_)
        if (auto const s = each->stats();
            s.holds + s.waiters + s.keys + s.subscriptions + s.owed_releases != 0)
            seen.wrong.push_back("a client's tables: " + figures(s));
    auto channels = channels_left();
    while (!channels.empty() && since(begun) < limit) {
        co_await rest(10ms);
        channels = channels_left();
    }
    for (auto const& each : channels)
        seen.wrong.push_back("still subscribed: " + each);
    seen.until_quiet = since(begun);
}

/// Without one mailbox for each client, which stays for a minute after its last use.
std::vector<std::string> audit::channels_left()
{
    auto const mailbox = decide::mailbox_prefix({});
    std::size_t mailboxes = 0;
    std::vector<std::string> left;
    for (auto const& each : server_.ask("PUBSUB", "CHANNELS").items)
        if (!each.text.starts_with(mailbox) || ++mailboxes > clients_.size())
            left.push_back(each.text);
    return left;
}

asio::awaitable<void> audit::open_latches(findings& seen)
{
    auto const closed = server_.ask("KEYS", "soak:latch:*");
    for (auto const& each : closed.items) {
        ++seen.latches;
        countdown_latch const it{*clients_.front(), each.text};
        co_await it.count_down(asio::as_tuple(asio::deferred));
    }
}

/// Of permits that were lost: that is done by the next one who asks, for there may be nobody.
asio::awaitable<void> audit::end_leases()
{
    co_await rest(plan_.lease);
    for (std::size_t i = 0; i != plan_.names; ++i) {
        auto const name = plan::name_of(i);
        if (plan::kind_of(i) != kind::permits ||
            server_.ask("EXISTS", decide::permit_leases(name)).number == 0)
            continue;
        auto one = co_await test::take(*clients_.front(), kind::permits, name, {.wait = 0ms});
        if (one)
            co_await one.give_back();
    }
}

asio::awaitable<void> audit::look_at_permits(findings& seen)
{
    for (std::size_t i = 0; i != plan_.names; ++i) {
        auto const kind = plan::kind_of(i);
        if (kind != kind::semaphore && kind != kind::permits)
            continue;
        auto const left = co_await test::left_of(*clients_.front(), kind, plan::name_of(i));
        if (left != plan_.permits)
            seen.wrong.push_back(plan::name_of(i) + " has " + std::to_string(left) + " permits");
        else
            ++seen.semaphores;
    }
}

/// A lock whose release did not get through is there until its lease ends.
asio::awaitable<void> audit::look_at_keys(findings& seen)
{
    auto const begun = clock::now();
    auto left = strangers(seen);
    while (!left.empty() && since(begun) < plan_.lease + 2s) {
        co_await rest(100ms);
        left = strangers(seen);
    }
    for (auto const& each : left)
        seen.wrong.push_back(
            "left in Redis: " + each + ", " + server_.ask("TYPE", each).text + ", TTL " +
            std::to_string(server_.ask("PTTL", each).number) + " ms"
        );
}

std::vector<std::string> audit::strangers(findings& seen)
{
    std::unordered_set<std::string> kept;
    for (std::size_t i = 0; i != plan_.names; ++i)
        if (auto const kind = plan::kind_of(i); kind == kind::semaphore || kind == kind::permits)
            kept.insert(plan::name_of(i));
    seen.fencing_counters = seen.records = 0;
    std::vector<std::string> found;
    // The report of a client that lives still lasts as long as a report does.
    auto const ends_by_itself = [this](std::string const& report) {
        auto const left = server_.ask("PTTL", report).number;
        return left > 0 && left <= decide::report_life.count();
    };
    for (auto const& each : server_.ask("KEYS", "*").items) {
        std::string_view const key{each.text};
        if (key.starts_with("colock_fence:") || key.starts_with("redisson_lock_token:"))
            ++seen.fencing_counters;
        else if (key.starts_with("colock_once"))
            ++seen.records;
        else if (key.starts_with("colock_client:") && ends_by_itself(each.text))
            continue;
        else if (!kept.contains(each.text))
            found.push_back(each.text);
    }
    return found;
}

faults::faults(plan const& what, test::redis_server& server, networks between)
    : dice_{what.seed + 1}
    , lease_{what.lease}
    , server_{server}
    , networks_{between}
{}

asio::awaitable<void> faults::rage()
{
    ending_ = false;
    raging_ = true;
    while (!ending_) {
        co_await do_one();
        co_await rest(100ms + dice_.up_to(dice_.one_in(4) ? 2s : 400ms));
    }
    calm_down();
    raging_ = false;
}

asio::awaitable<void> faults::end()
{
    ending_ = true;
    while (raging_)
        co_await rest(10ms);
}

asio::awaitable<void> faults::do_one()
{
    switch (dice_.below(9)) {
    case 0:
        note("cut");
        network().cut(some_link());
        break;
    case 1:
        note("cut reply");
        network().cut_reply("EVALSHA", 1 + dice_.below(40));
        break;
    case 2:
        note("cut request");
        network().cut_request("EVALSHA");
        break;
    case 3:
        note("SCRIPT FLUSH");
        server_.ask("SCRIPT", "FLUSH");
        break;
    case 4:
        note("CLIENT KILL");
        kill_clients();
        break;
    case 5: co_await black_hole(); break;
    case 6: co_await refuse(); break;
    case 7: co_await slow_down(); break;
    default: co_await pause_server(); break;
    }
}

asio::awaitable<void> faults::black_hole()
{
    note("black hole");
    auto& here = network();
    if (dice_.one_in(3))
        here.hold_back_all(some_way());
    else
        here.hold_back(some_way(), some_link());
    co_await rest(dice_.up_to(dice_.one_in(8) ? 2 * lease_ : milliseconds{1'500}));
    if (dice_.one_in(2))
        here.cut();
    here.let_through();
}

asio::awaitable<void> faults::refuse()
{
    note("refused");
    auto& here = network();
    here.serve(false);
    here.cut();
    co_await rest(dice_.up_to(1s));
    here.serve(true);
}

asio::awaitable<void> faults::slow_down()
{
    note("delay");
    auto& here = network();
    here.delay(1ms + dice_.up_to(30ms));
    co_await rest(dice_.up_to(2s));
    here.delay(0ms);
}

/// At times for longer than all leases.
asio::awaitable<void> faults::pause_server()
{
    note("server paused");
    server_.pause();
    co_await rest(dice_.up_to(dice_.one_in(10) ? 2 * lease_ : milliseconds{800}));
    server_.resume();
}

void faults::kill_clients()
{
    server_.ask("CLIENT", "KILL", "TYPE", dice_.one_in(2) ? "normal" : "pubsub");
}

void faults::note(char const* what)
{
    ++count_;
    ++by_kind_[what];
}

void faults::calm_down()
{
    for (auto* each : networks_) {
        each->cut_request({});
        each->cut_reply({}, 0);
        each->delay(0ms);
        each->serve(true);
        each->let_through();
    }
}

}  // namespace colock::soak
