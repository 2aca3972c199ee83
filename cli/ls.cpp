// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock ls: the locks that are held.
#include "commands.hpp"
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

class listing {
public:
    listing(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        progress const line{session_.context().get_executor(), "ls", [this] {
                                return "looked at " + counted(looked_at_, "hash") + ", found " +
                                    counted(static_cast<std::int64_t>(found_.size()), "lock");
                            }};
        auto const settings = settings_of(options_);
        auto const servers = co_await primaries_of(session_, settings);
        for (auto const& server : servers)
            co_await scan(server);
        co_return print();
    }

private:
    asio::awaitable<void> scan(primary const& server);
    asio::awaitable<void> look(primary const& server, std::vector<reply> keys);
    int print() const;

    session& session_;
    options const& options_;
    std::int64_t looked_at_ = 0;
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
        auto const& fields = answers[2 * i];
        if (fields.items.size() != 2)
            continue;
        auto const owners = read_owners(fields.items[1]);
        if (!owners)
            continue;
        picture p;
        p.key = keys[i].text;
        p.what = picture::content::lock;
        p.kind = owners->mode.empty() ? "lock" : "read-write";
        p.holders = owners->all;
        if (answers[2 * i + 1].number >= 0)
            p.lease = milliseconds{answers[2 * i + 1].number};
        found_.insert_or_assign(p.key, std::move(p));
    }
}

int listing::print() const
{
    if (options_.json) {
        for (auto const& [key, p] : found_)
            std::printf("%s\n", boost::json::serialize(to_json(p)).c_str());
        return status_ok;
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
    return status_ok;
}

}  // namespace

int ls(options const& o)
{
    session s{o, settings_of(o)};
    listing all{s, o};
    return s.run(all.run());
}

}  // namespace cli
