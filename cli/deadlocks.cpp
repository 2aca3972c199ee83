// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock doctor --deadlocks: clients that wait for each other.
#include "commands.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"
#include "waits.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <set>

namespace cli {

namespace {

namespace admin = colock::admin;

constexpr std::size_t most_cycles = 20;

/// Within this time each client has told again for which locks it waits.
constexpr milliseconds between_looks = admin::report_beat + milliseconds{1'000};

constexpr char const* remedy =
    "Remedy: end one of these processes, or free one of the locks with 'colock unlock'. In the "
    "programs: take locks in one order everywhere, take them together with a multi_lock, or limit "
    "the wait with try_acquire_for.";

/// The clients and locks at one moment.
struct look {
    std::vector<client_report> clients;
    fields_of_locks locks;
    std::set<std::string> silent;  ///< holders of awaited locks that tell nothing of themselves
    std::int64_t refused = 0;      ///< reports and locks that could not be read
    std::string why_refused;       ///< of one of them
    std::vector<cycle_of_waits> cycles;
};

class deadlock_search {
public:
    deadlock_search(session& s, options const& o, colock::config settings)
        : session_{s}
        , options_{o}
        , settings_{std::move(settings)}
    {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        progress line{session_.context().get_executor(), "doctor", [] {
                          return "looking who waits for whom";
                      }};
        // The cycles refer to the reports, which must not move.
        auto first = std::make_unique<look>();
        co_await read(*first);
        std::set<std::string> seen;
        for (auto const& each : first->cycles)
            seen.insert(name_of(each));
        if (!seen.empty()) {
            // Clients that wait for each other in the same way at two moments have waited all the
            // time.
            asio::steady_timer pause{session_.context(), between_looks};
            co_await pause.async_wait(asio::as_tuple(asio::deferred));
            first = std::make_unique<look>();
            co_await read(*first);
            std::erase_if(first->cycles, [&](auto const& each) {
                return !seen.contains(name_of(each));
            });
        }
        line.hide();
        for (auto const& each : first->cycles)
            print(each);
        print_end(*first);
        co_return !first->cycles.empty() ? status_no
            : first->refused != 0        ? status_refused
                                         : status_ok;
    }

private:
    asio::awaitable<void> read(look&);
    asio::awaitable<void> read_clients(look&);
    asio::awaitable<void> read_locks(look&);
    void print(cycle_of_waits const&) const;
    void print_end(look const&) const;

    session& session_;
    options const& options_;
    colock::config settings_;
};

/// A key that is not a lock any more is no refusal.
void note_refusal(look& l, admin::reply const& answer)
{
    if (answer.what != admin::reply::kind::error || answer.text.starts_with("WRONGTYPE"))
        return;
    if (l.refused++ == 0)
        l.why_refused = answer.text;
}

asio::awaitable<void> deadlock_search::read(look& l)
{
    co_await read_clients(l);
    co_await read_locks(l);
    l.cycles = find_cycles(l.clients, l.locks, most_cycles);
}

asio::awaitable<void> deadlock_search::read_clients(look& l)
{
    std::set<std::string> keys;
    auto const servers = co_await primaries_of(session_, settings_);
    for (auto const& server : servers) {
        std::string cursor = "0";
        do {
            // A client may have a prefix for its keys.
            auto const answer = co_await session_.ask(
                server.key, words("SCAN", cursor, "MATCH", "*colock_client:*", "COUNT", "1000")
            );
            if (answer.items.size() != 2)
                throw failure{
                    status_refused,
                    "scan: " + session_.place() + ": " + answer.text + "; the user needs SCAN"};
            cursor = answer.items[0].text;
            for (auto const& key : answer.items[1].items)
                keys.insert(key.text);
        } while (cursor != "0");
    }
    std::vector<session::question> all;
    for (auto const& key : keys) {
        all.push_back({key, {"GET", key}});
        all.push_back({key, {"PTTL", key}});
    }
    auto const answers = co_await session_.ask_many(std::move(all));
    for (std::size_t i = 0; i + 1 < answers.size(); i += 2) {
        auto const pttl_is_refused = answers[i + 1].what == admin::reply::kind::error;
        note_refusal(l, answers[pttl_is_refused ? i + 1 : i]);
        if (auto found = admin::read_client_report(answers[i].text)) {
            auto const since = pttl_is_refused
                ? milliseconds{0}
                : admin::report_life - milliseconds{answers[i + 1].number};
            for (auto& each : found->entries)
                each.age += std::max(since, milliseconds{0});
            l.clients.push_back(std::move(*found));
        }
    }
}

/// Reads the holders of the locks for which somebody waits.
asio::awaitable<void> deadlock_search::read_locks(look& l)
{
    std::set<std::string> keys, clients;
    for (auto const& client : l.clients) {
        clients.insert(client.client);
        for (auto const& each : client.entries)
            if (each.waits && each.kind != "semaphore" && each.kind != "permit" &&
                each.kind != "latch")
                keys.insert(each.key);
    }
    std::vector<session::question> all;
    all.reserve(keys.size());
    for (auto const& key : keys)
        all.push_back({key, {"HSCAN", key, "0", "COUNT", "1000"}});
    auto const answers = co_await session_.ask_many(std::move(all));
    auto key = keys.begin();
    for (auto const& answer : answers) {
        note_refusal(l, answer);
        auto const is_scan = answer.items.size() == 2;
        auto const found = is_scan ? read_owners(answer.items[1]) : std::nullopt;
        if (found)
            for (auto const& h : found->all) {
                l.locks[*key].push_back(h.field);
                if (!clients.contains(std::string{admin::client_of(h.field)}))
                    l.silent.insert(h.field);
            }
        ++key;
    }
}

void deadlock_search::print(cycle_of_waits const& cycle) const
{
    bool const is_certain = std::ranges::all_of(cycle, &link_of_waits::is_certain);
    auto const name = [](link_of_waits const& each) {
        return each.client->label.empty() ? each.client->client : each.client->label;
    };
    if (options_.json) {
        boost::json::array links;
        for (auto const& each : cycle)
            links.push_back(boost::json::object{
                {"client", json_text(each.client->client)},
                {"label", json_text(each.client->label)},
                {"has", json_text(each.has->key)},
                {"held_ms", each.has->age.count()},
                {"wants", json_text(each.wants->key)},
                {"waits_ms", each.wants->age.count()}});
        boost::json::object const line{
            {"check", "deadlock"}, {"level", "bad"}, {"certain", is_certain}, {"cycle", links}};
        std::printf("%s\n", boost::json::serialize(line).c_str());
        return;
    }
    std::printf(
        "bad   deadlock: %s\n",
        is_certain ? "each of these waits for the next one"
                   : "each of these waits for the next one, if the task that has the one lock is "
                     "the task that waits for the other"
    );
    for (auto const& each : cycle)
        std::printf(
            "      %s has %s (for %s) and waits for %s (for %s)\n",
            shown(name(each)).c_str(),
            shown(each.has->key).c_str(),
            shown(each.has->age).c_str(),
            shown(each.wants->key).c_str(),
            shown(each.wants->age).c_str()
        );
    std::printf("      %s\n", remedy);
}

void deadlock_search::print_end(look const& l) const
{
    bool const is_cut =
        std::ranges::any_of(l.clients, [](auto const& each) { return !each.is_whole; });
    auto const clients = counted(static_cast<std::int64_t>(l.clients.size()), "client");
    auto const silent = static_cast<std::int64_t>(l.silent.size());
    if (options_.json) {
        boost::json::object const line{
            {"check", "clients"},
            {"level", silent == 0 && !is_cut && l.refused == 0 ? "ok" : "note"},
            {"clients", l.clients.size()},
            {"silent_holders", silent},
            {"refused", l.refused},
            {"whole", !is_cut}};
        std::printf("%s\n", boost::json::serialize(line).c_str());
        return;
    }
    if (l.refused != 0)
        std::printf(
            "note  %s can't be read, so deadlocks may be unseen: %s; the user needs GET and "
            "PTTL on colock_client:*, and HSCAN on the locks\n",
            counted(l.refused, "key").c_str(),
            safe_to_print(l.why_refused).c_str()
        );
    else if (l.cycles.empty())
        std::printf(
            "ok    no deadlock among the %s that tell what they wait for\n", clients.c_str()
        );
    if ((l.clients.empty() && l.refused == 0) || silent != 0)
        std::printf(
            "note  %s: Redisson, older versions and clients with an empty label don't tell what "
            "they wait for, so deadlocks with them are not seen\n",
            l.clients.empty()
                ? "no client tells"
                : (counted(silent, "holder") + " of awaited locks can't be followed").c_str()
        );
    if (is_cut)
        std::printf(
            "note  some clients hold or wait for more than %zu locks, and tell of these alone, or "
            "of "
            "no waits\n",
            admin::most_reported
        );
}

}  // namespace

int deadlocks(options const& o)
{
    auto settings = settings_of(o);
    session s{o, settings};
    deadlock_search e{s, o, std::move(settings)};
    return s.run(e.run());
}

}  // namespace cli
