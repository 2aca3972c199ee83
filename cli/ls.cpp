// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock ls: the locks that are held.
#include "commands.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace cli {

namespace {

/// Keys a call: each takes the server well under a millisecond.
constexpr char const* keys_a_scan = "500";

/// Fields that are looked at to see whether a hash is a lock's.
constexpr char const* fields_a_look = "16";

/// What PTTL says of a key that is gone.
constexpr std::int64_t no_such_key = -2;

std::string hashes(std::int64_t count) { return counted(count, "hash", "es"); }

class listing {
public:
    listing(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        progress const line{session_.context().get_executor(), "ls", [this] {
                                return "looked at " + hashes(looked_at_) + ", found " +
                                    counted(static_cast<std::int64_t>(found_.size()), "lock");
                            }};
        auto const settings = settings_of(options_);
        auto const servers = co_await primaries_of(session_, settings);
        for (auto const& server : servers)
            co_await scan(server);
        print();
        complain_about_refusals();
        co_return status_;
    }

private:
    asio::awaitable<void> scan(primary const& server);
    asio::awaitable<void> look(primary const& server, std::vector<reply> keys);
    void take(std::string const& key, reply const& scanned, reply const& lease);
    void note_refusal(reply const&);
    void complain_about_refusals() const;
    void print() const;

    session& session_;
    options const& options_;
    std::int64_t looked_at_ = 0, refused_ = 0;
    std::string why_refused_;  ///< the first time
    int status_ = status_ok;
    std::map<std::string, picture> found_;  ///< SCAN may name a key twice
};

asio::awaitable<void> listing::scan(primary const& server)
{
    std::string cursor = "0";
    do {
        std::vector<std::string> words{
            "SCAN", cursor, "MATCH", options_.pattern, "COUNT", keys_a_scan, "TYPE", "hash"};
        auto const answer = co_await session_.ask(server.key, std::move(words));
        if (answer.what != reply::kind::list || answer.items.size() != 2)
            throw failure{
                status_refused,
                "scan: " + (server.place.empty() ? session_.place() : server.place) + ": " +
                    answer.text + "; the user needs SCAN"};
        cursor = answer.items[0].text;
        co_await look(server, answer.items[1].items);
    } while (cursor != "0");
}

// A hash of the application may be large: only its first fields are looked at.
asio::awaitable<void> listing::look(primary const& server, std::vector<reply> keys)
{
    std::vector<session::question> questions;
    for (auto const& key : keys) {
        questions.push_back({server.key, {"HSCAN", key.text, "0", "COUNT", fields_a_look}});
        questions.push_back({server.key, {"PTTL", key.text}});
    }
    if (questions.empty())
        co_return;
    auto const answers = co_await session_.ask_all(std::move(questions));
    for (std::size_t i = 0; i != keys.size(); ++i) {
        ++looked_at_;
        take(keys[i].text, answers[2 * i], answers[2 * i + 1]);
    }
}

void listing::take(std::string const& key, reply const& scanned, reply const& lease)
{
    if (scanned.what == reply::kind::error)
        return note_refusal(scanned);
    auto const owners = scanned.items.size() == 2 ? read_owners(scanned.items[1]) : std::nullopt;
    if (!owners || lease.number == no_such_key)
        return;
    if (lease.what == reply::kind::error)
        return note_refusal(lease);
    picture p;
    p.key = key;
    p.what = picture::content::lock;
    p.kind = owners->mode.empty() ? "lock" : "read-write";
    p.holders = owners->all;
    if (lease.number >= 0)
        p.lease = milliseconds{lease.number};
    found_.insert_or_assign(p.key, std::move(p));
}

void listing::note_refusal(reply const& answer)
{
    // What is no hash any more has changed since the scan, and is no lock.
    if (answer.text.starts_with("WRONGTYPE"))
        return;
    if (refused_++ != 0)
        return;
    why_refused_ = answer.text;
    status_ = answer.text.starts_with("NOPERM") ? status_refused : status_unavailable;
}

void listing::complain_about_refusals() const
{
    if (refused_ == 0)
        return;
    auto const remedy =
        status_ == status_refused ? "; the user needs HSCAN and PTTL on the keys" : "";
    complain(
        "colock ls: " + hashes(refused_) + " could not be looked at: " + why_refused_ + remedy
    );
}

void listing::print() const
{
    if (options_.json) {
        for (auto const& [key, p] : found_)
            std::printf("%s\n", boost::json::serialize(to_json(p)).c_str());
        return;
    }
    std::size_t width = 3;
    for (auto const& [key, p] : found_)
        width = std::min<std::size_t>(std::max(width, shown(key).size()), 40);
    if (!found_.empty())
        std::printf(
            "%-*s  %-10s  %9s  %s\n", static_cast<int>(width), "KEY", "KIND", "LEASE", "HELD BY"
        );
    for (auto const& [key, p] : found_) {
        auto const others = p.holders.size() == 1
            ? std::string{}
            : " and " + counted(static_cast<std::int64_t>(p.holders.size()) - 1, "other");
        std::printf(
            "%-*s  %-10s  %9s  %s%s\n",
            static_cast<int>(width),
            shown(key).c_str(),
            p.kind.c_str(),
            p.lease ? shown(*p.lease).c_str() : "none",
            shown(p.holders.front()).c_str(),
            others.c_str()
        );
    }
}

}  // namespace

int ls(options const& o)
{
    session s{o, settings_of(o)};
    listing all{s, o};
    return s.run(all.run());
}

}  // namespace cli
