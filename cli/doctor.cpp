// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock doctor: what in the server's set-up would hurt locks.
#include "commands.hpp"
#include "diagnosis.hpp"
#include "failovers.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unistd.h>

namespace cli {

namespace {

using std::chrono::microseconds;
using steady = std::chrono::steady_clock;
using level = finding::level;

constexpr int pings = 30;
constexpr milliseconds clock_pause{250}, longest_clock_span{2'000};

/// A moment on the server's clock, and when it was on ours: in the middle, give or take.
struct moment {
    microseconds server{};
    steady::time_point own;
    microseconds unsure = microseconds::max();
};

class examination {
public:
    /// `parts`: the servers that were met before. It adds its own.
    examination(session& s, options const& o, colock::config settings, std::vector<part>& parts)
        : session_{s}
        , options_{o}
        , settings_{std::move(settings)}
        , parts_{parts}
    {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        doing_ = "asking what there is";
        line_.emplace(session_.context().get_executor(), "doctor", [this] { return doing_; });
        auto const servers = co_await primaries_of(session_, settings_);
        for (auto const& server : servers)
            co_await examine(server);
        if (settings_.topology == colock::topology::cluster) {
            auto const answer =
                co_await session_.ask(servers.front().key, words("CLUSTER", "INFO"));
            print("", judge_cluster(fields{answer}));
        }
        co_return status();
    }

private:
    asio::awaitable<void> examine(primary const&);
    asio::awaitable<finding> clock_rate(std::string key);
    asio::awaitable<moment> best_moment(std::string key);
    asio::awaitable<std::vector<microseconds>> delays(std::string key);
    asio::awaitable<void> judge_failovers(primary const&);
    int status() const noexcept;
    void print(std::string const& place, finding const&);
    void print(std::string const& place, failover_verdict const&);

    session& session_;
    options const& options_;
    colock::config settings_;
    std::vector<part>& parts_;
    std::string doing_;
    std::optional<progress> line_;
    bool is_bad_ = false;
    std::optional<failover_verdict::loss> worst_;
    bool has_colours_ = has_colours(STDOUT_FILENO);
};

/// Of what the client had to say, what the server at this place of a cluster, or the only one,
/// refuses it; not why there was no connection.
std::vector<std::string> refusals_at(std::string const& place, std::vector<std::string> const& said)
{
    // In a cluster, such a line begins with its server.
    auto const begin = place.empty() ? std::string{} : place + ": ";
    std::vector<std::string> found;
    for (auto const& line : said) {
        auto const rest = line.starts_with(begin) ? line.substr(begin.size()) : std::string{};
        bool const is_refusal = rest.starts_with("the server refuses ") ||
            (rest.starts_with("user ") && rest.find(" may not ") != rest.npos);
        if (is_refusal && std::ranges::find(found, rest) == found.end())
            found.push_back(rest);
    }
    return found;
}

asio::awaitable<void> examination::examine(primary const& server)
{
    auto const& key = server.key;
    doing_ = "examining " + (server.place.empty() ? session_.place() : server.place);
    auto const info_reply = co_await session_.ask(key, words("INFO"));
    fields const info{info_reply};
    auto const save = co_await session_.ask(key, words("CONFIG", "GET", "save"));
    auto const fsync = co_await session_.ask(key, words("CONFIG", "GET", "appendfsync"));
    auto const client_kill = co_await session_.ask(key, words("CLIENT", "KILL", "ID", "0"));
    auto const measured = co_await delays(key);
    std::vector<finding> all;
    bool can_ask = true;
    if (info.empty())
        all.push_back(
            {level::note,
             "INFO",
             "refused: " + info_reply.text,
             "version, eviction policy, memory, persistence, replicas and connections can't be "
             "looked at. ACL SETUSER ... +info"}
        );
    else {
        all.push_back(judge_version(info));
        can_ask = std::atoi(info.text("redis_version").c_str()) >= 7;
        all.push_back(judge_eviction(info));
        all.push_back(judge_memory(info));
        all.push_back(judge_persistence(info, save, fsync));
        all.push_back(judge_replicas(info));
        all.push_back(judge_connections(info));
    }
    auto const refusals = refusals_at(server.place, session_.said());
    for (auto& each : judge_permissions(refusals, client_kill, can_ask))
        all.push_back(std::move(each));
    all.push_back(judge_delays(measured, info));
    for (auto const& each : all)
        print(server.place, each);
    print(server.place, co_await clock_rate(key));
    if (options_.urls.size() > 1) {
        auto const place = server.place.empty() ? session_.place() : server.place;
        part own{place, info.text("run_id"), info.text("master_replid")};
        if (!parts_.empty())
            print(server.place, judge_part(own, parts_));
        parts_.push_back(std::move(own));
        print(server.place, judge_votes(info, fsync));
    }
    co_await judge_failovers(server);
}

asio::awaitable<void> examination::judge_failovers(primary const& server)
{
    doing_ = "asking the replicas of " + (server.place.empty() ? session_.place() : server.place);
    auto const facts =
        co_await ask_for_failovers(session_, options_, settings_, server.key, server.place);
    auto const verdict = judge_failover(facts);
    if (options_.durability)
        for (auto const& each : verdict.conditions)
            print(server.place, judge_condition(each));
    print(server.place, verdict);
}

/// A verdict counts if it was asked for, by the profile.
int examination::status() const noexcept
{
    using loss = failover_verdict::loss;
    if (options_.durability && worst_ == loss::yes)
        return status_loses;
    if (is_bad_)
        return status_no;
    return options_.durability && worst_ == loss::not_by_one_fault ? status_may_lose : status_ok;
}

asio::awaitable<std::vector<microseconds>> examination::delays(std::string key)
{
    std::vector<microseconds> found;
    for (int i = 0; i != pings; ++i) {
        auto const begin = steady::now();
        co_await session_.ask(key, words("PING"));
        found.push_back(std::chrono::duration_cast<microseconds>(steady::now() - begin));
    }
    co_return found;
}

/// The quickest of some answers to TIME.
asio::awaitable<moment> examination::best_moment(std::string key)
{
    moment best;
    for (int i = 0; i != 10; ++i) {
        auto const begin = steady::now();
        auto const answer = co_await session_.ask(key, words("TIME"));
        auto const half = std::chrono::duration_cast<microseconds>(steady::now() - begin) / 2;
        if (answer.items.size() != 2)
            throw failure{
                status_refused,
                "ask with TIME: " + session_.place() + ": " + answer.text +
                    "; fencing tokens need it"};
        if (half >= best.unsure)
            continue;
        auto const at = std::atoll(answer.items[0].text.c_str()) * 1'000'000 +
            std::atoll(answer.items[1].text.c_str());
        best = {microseconds{at}, begin + half, half};
    }
    co_return best;
}

asio::awaitable<finding> examination::clock_rate(std::string key)
{
    auto const first = co_await best_moment(key);
    for (;;) {
        asio::steady_timer timer{session_.context(), clock_pause};
        co_await timer.async_wait(asio::as_tuple(asio::deferred));
        auto const last = co_await best_moment(key);
        auto const own = std::chrono::duration_cast<microseconds>(last.own - first.own);
        auto const unsure = first.unsure + last.unsure;
        // A long way to the server takes longer to tell.
        if (own > 1000 * unsure || own > longest_clock_span)
            co_return judge_clock(last.server - first.server, own, unsure);
    }
}

/// `text` in lines of at most so many columns, each but the first behind `indent` blanks.
std::string wrapped(std::string const& text, std::size_t indent, std::size_t columns)
{
    std::string made;
    std::size_t column = indent;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find(' ', at), text.size());
        if (column != indent && column + 1 + (end - at) > columns) {
            made += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column != indent) {
            made += ' ';
            ++column;
        }
        made += text.substr(at, end - at);
        column += end - at;
        at = end + 1;
    }
    return made;
}

void examination::print(std::string const& place, finding const& f)
{
    is_bad_ = is_bad_ || f.how == level::bad;
    if (line_)
        line_->hide();
    auto const found = safe_to_print(f.found);
    char const* const word = f.how == level::good ? "ok" : f.how == level::note ? "note" : "bad";
    if (options_.json) {
        boost::json::object line{{"check", f.check}, {"level", word}, {"found", json_text(found)}};
        if (!f.meaning.empty())
            line["meaning"] = f.meaning;
        line["server"] = json_text(place.empty() ? session_.place() : place);
        std::printf("%s\n", boost::json::serialize(line).c_str());
    } else {
        char const* const colour = f.how == level::good ? "\033[32m"
            : f.how == level::note                      ? "\033[33m"
                                                        : "\033[31m";
        constexpr std::size_t indent = 19, columns = 100;
        auto const where = place.empty() ? std::string{} : safe_to_print(place) + ": ";
        std::printf(
            "%s%-4s%s  %-11s  %s\n",
            has_colours_ ? colour : "",
            word,
            has_colours_ ? "\033[0m" : "",
            f.check.c_str(),
            wrapped(where + found, indent, columns).c_str()
        );
        if (!f.meaning.empty())
            std::printf(
                "%s%s\n",
                std::string(indent, ' ').c_str(),
                wrapped(f.meaning, indent, columns).c_str()
            );
    }
    std::fflush(stdout);
}

void examination::print(std::string const& place, failover_verdict const& v)
{
    using loss = failover_verdict::loss;
    worst_ = std::max(worst_.value_or(loss::no), v.can_lose);
    if (!options_.json) {
        auto const how = v.can_lose == loss::no ? finding::level::good : finding::level::note;
        return print(place, {how, "verdict", "a failover can lose a lock: " + said_of(v), {}});
    }
    boost::json::array because;
    for (auto const& each : v.conditions)
        if (v.can_lose == loss::yes && each.is != failover_condition::state::met)
            because.emplace_back(each.name);
    boost::json::object const line{
        {"check", "verdict"},
        {"level", v.can_lose == loss::no ? "ok" : "note"},
        {"found", json_text(safe_to_print(said_of(v)))},
        {"verdict", word_of(v.can_lose)},
        {"because", std::move(because)},
        {"server", json_text(place.empty() ? session_.place() : place)}};
    if (line_)
        line_->hide();
    std::printf("%s\n", boost::json::serialize(line).c_str());
    std::fflush(stdout);
}

int examine_at(options const& o, std::vector<part>& parts)
{
    auto settings = settings_of(o);
    session s{o, settings};
    examination e{s, o, std::move(settings), parts};
    return s.run(e.run());
}

}  // namespace

int doctor(options const& o)
{
    std::vector<part> parts;
    if (o.urls.empty())
        return examine_at(o, parts);
    int worst = status_ok;
    for (auto const& url : o.urls) {
        auto one = o;
        one.url = url;
        worst = std::max(worst, examine_at(one, parts));
    }
    return worst;
}

}  // namespace cli
