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
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

/// Keys a call: each takes the server well under a millisecond.
constexpr char const* keys_a_scan = "500";

/// Names of fields that are looked at to see whether a hash is a lock's.
constexpr char const* fields_a_look = "16";

/// Requests under way, and keys that are looked at together.
constexpr std::size_t requests_at_once = 128;

/// Locks that are kept to be sorted before they are printed.
constexpr std::size_t locks_a_page = 5'000;

/// Locks can't have longer names.
constexpr std::size_t longest_key = 10'000;

/// A depth has not more digits. Longer values are the application's, and may be huge.
constexpr std::int64_t longest_depth = 20;

/// PTTL's answer for a key that is gone.
constexpr std::int64_t no_such_key = -2;

std::string hashes(std::int64_t count) { return counted(count, "hash", "es"); }

/// A hash whose fields have the names of a lock's.
struct candidate {
    std::string key;
    std::vector<std::string> fields;  ///< some of them; `mode` is always the first
};

/// Nothing if these are not the fields of a lock.
std::optional<candidate> candidate_of(std::string const& key, reply const& names)
{
    candidate found{key, {"mode"}};
    for (auto const& name : names.items) {
        if (name.text == "mode")
            continue;
        if (!is_owner(name.text))
            return {};
        found.fields.push_back(name.text);
    }
    if (found.fields.size() == 1)
        return {};
    return found;
}

class listing {
public:
    listing(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        progress const line{session_.context().get_executor(), "ls", [this] {
                                return "looked at " + hashes(looked_at_) + ", found " +
                                    counted(found_in_all_, "lock");
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
    using replies = std::vector<reply>;
    using questions = std::vector<session::question>;

    asio::awaitable<void> scan(primary const& server);
    asio::awaitable<void> look(primary const& server, std::span<reply const> keys);
    asio::awaitable<void> read(primary const& server, std::vector<candidate> locks);
    asio::awaitable<replies> ask(questions all)
    {
        return session_.ask_all(std::move(all), requests_at_once);
    }
    bool is_answer(reply const&);
    void take(
        candidate const&, std::span<reply const> depths, reply const& lease, std::int64_t size
    );
    void note_refusal(reply const&);
    void complain_about_refusals() const;
    void print();
    void print_line(picture const&) const;

    session& session_;
    options const& options_;
    std::int64_t looked_at_ = 0, refused_ = 0, found_in_all_ = 0;
    std::string why_refused_;  ///< the first time
    int status_ = status_ok;
    std::size_t width_ = 0;                 ///< of the keys, once the head of the table is printed
    std::map<std::string, picture> found_;  ///< not printed yet; SCAN may name a key twice
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
        // A server that is resizing its table may name many more keys than it was asked for.
        std::span<reply const> keys = answer.items[1].items;
        while (!keys.empty()) {
            auto const part = std::min(keys.size(), requests_at_once);
            co_await look(server, keys.first(part));
            keys = keys.subspan(part);
        }
    } while (cursor != "0");
}

// A hash of the application may be large, and each of its values: only the names of some fields are
// looked at.
asio::awaitable<void> listing::look(primary const& server, std::span<reply const> keys)
{
    questions names;
    std::vector<std::string> asked;
    for (auto const& key : keys) {
        ++looked_at_;
        if (key.text.size() > longest_key)
            continue;
        names.push_back({server.key, {"HRANDFIELD", key.text, fields_a_look}});
        asked.push_back(key.text);
    }
    auto const answers = co_await ask(std::move(names));
    std::vector<candidate> locks;
    for (std::size_t i = 0; i != asked.size(); ++i)
        if (is_answer(answers[i]))
            if (auto lock = candidate_of(asked[i], answers[i]))
                locks.push_back(std::move(*lock));
    co_await read(server, std::move(locks));
}

/// The hashes that are locks by the names of their fields; first asks for the length of the values.
asio::awaitable<void> listing::read(primary const& server, std::vector<candidate> locks)
{
    questions lengths, depths;
    for (auto const& lock : locks)
        for (auto const& field : lock.fields)
            lengths.push_back({server.key, {"HSTRLEN", lock.key, field}});
    auto const known = co_await ask(std::move(lengths));
    auto length = known.begin();
    std::erase_if(locks, [&](candidate const& lock) {
        bool is_lock = true;
        for (std::size_t i = 0; i != lock.fields.size(); ++i, ++length)
            is_lock = is_lock && is_answer(*length) && length->number <= longest_depth;
        return !is_lock;
    });
    for (auto const& lock : locks) {
        for (auto const& field : lock.fields)
            depths.push_back({server.key, {"HGET", lock.key, field}});
        depths.push_back({server.key, {"PTTL", lock.key}});
        depths.push_back({server.key, {"HLEN", lock.key}});
    }
    auto const answers = co_await ask(std::move(depths));
    std::span<reply const> next = answers;
    for (auto const& lock : locks) {
        auto const count = lock.fields.size();
        auto const of_lock = next.first(count + 2);
        if (std::ranges::all_of(of_lock, [this](reply const& r) { return is_answer(r); }))
            take(lock, of_lock.first(count), of_lock[count], of_lock[count + 1].number);
        next = next.subspan(of_lock.size());
    }
    if (found_.size() >= locks_a_page)
        print();
}

/// False of a refusal, which is noted.
bool listing::is_answer(reply const& r)
{
    if (r.what == reply::kind::error)
        note_refusal(r);
    return r.what != reply::kind::error;
}

void listing::take(
    candidate const& lock, std::span<reply const> depths, reply const& lease, std::int64_t size
)
{
    reply hash = reply::of(std::vector<reply>{});
    for (std::size_t i = 0; i != lock.fields.size(); ++i) {
        if (depths[i].what == reply::kind::nil)
            continue;  // released meanwhile, or no read-write lock
        hash.items.push_back(reply::of(lock.fields[i]));
        hash.items.push_back(depths[i]);
    }
    auto const owners = read_owners(hash);
    if (!owners || lease.number == no_such_key)
        return;
    picture p;
    p.key = lock.key;
    p.what = picture::content::lock;
    p.kind = owners->mode.empty() ? "lock" : "read-write";
    p.holders = owners->all;
    p.more_holders =
        std::max<std::int64_t>(0, size - static_cast<std::int64_t>(hash.items.size() / 2));
    if (lease.number >= 0)
        p.lease = milliseconds{lease.number};
    if (found_.insert_or_assign(p.key, std::move(p)).second)
        ++found_in_all_;
}

void listing::note_refusal(reply const& answer)
{
    // A key that is no longer a hash has changed since the scan, and is not a lock.
    if (answer.text.starts_with("WRONGTYPE"))
        return;
    if (answer.text.starts_with("ERR unknown command"))
        throw failure{
            status_refused, "look at hashes: " + answer.text + "; ls needs Redis 6.2 or later"};
    if (refused_++ != 0)
        return;
    why_refused_ = answer.text;
    status_ = answer.text.starts_with("NOPERM") ? status_refused : status_unavailable;
}

void listing::complain_about_refusals() const
{
    if (refused_ == 0)
        return;
    auto const remedy = status_ == status_refused
        ? "; the user needs HRANDFIELD, HSTRLEN, HGET, HLEN and PTTL on the keys"
        : "";
    complain(
        "colock ls: " + hashes(refused_) + " could not be looked at: " + why_refused_ + remedy
    );
}

/// Prints what has been found, sorted, and forgets it.
void listing::print()
{
    if (!options_.json && !found_.empty() && width_ == 0) {
        width_ = 3;
        for (auto const& [key, p] : found_)
            width_ = std::min<std::size_t>(std::max(width_, shown(key).size()), 40);
        auto const width = static_cast<int>(width_);
        std::printf("%-*s  %-10s  %9s  %s\n", width, "KEY", "KIND", "LEASE", "HELD BY");
    }
    for (auto const& [key, p] : found_)
        if (options_.json)
            std::printf("%s\n", boost::json::serialize(to_json(p)).c_str());
        else
            print_line(p);
    found_.clear();
}

void listing::print_line(picture const& p) const
{
    auto const others = static_cast<std::int64_t>(p.holders.size()) - 1 + p.more_holders;
    std::printf(
        "%-*s  %-10s  %9s  %s%s\n",
        static_cast<int>(width_),
        shown(p.key).c_str(),
        p.kind.c_str(),
        p.lease ? shown(*p.lease).c_str() : "none",
        shown(p.holders.front()).c_str(),
        others == 0 ? "" : (" and " + counted(others, "other")).c_str()
    );
}

}  // namespace

int ls(options const& o)
{
    session s{o, settings_of(o)};
    listing all{s, o};
    return s.run(all.run());
}

}  // namespace cli
