// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock ls: the locks that are held.
#include "commands.hpp"
#include "progress.hpp"
#include "scan.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cli {

namespace {

/// Locks that are kept to be sorted before they are printed.
constexpr std::size_t locks_a_page = 5'000;

class listing {
public:
    listing(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        line_.emplace(session_.context().get_executor(), "ls", [this] {
            return "looked at " + counted(scan_.looked_at(), "hash", "es") + ", found " +
                counted(found_in_all_, "lock");
        });
        co_await scan_.run(options_.pattern);
        line_.reset();
        print();
        if (auto const refusal = scan_.refusal(); !refusal.empty())
            complain("colock ls: " + refusal);
        co_return scan_.status();
    }

private:
    void take(picture);
    void print();
    std::string line_of(picture const&) const;
    std::string row(
        std::string const& key,
        std::string const& kind,
        std::string const& lease,
        std::string const& holders
    ) const;

    session& session_;
    options const& options_;
    lock_scan scan_{session_, settings_of(options_), [this](picture p) { take(std::move(p)); }};
    std::int64_t found_in_all_ = 0;
    std::size_t width_ = 0;                 ///< of the keys, once the head of the table is printed
    std::map<std::string, picture> found_;  ///< not printed yet
    std::optional<progress> line_;
};

void listing::take(picture p)
{
    auto key = p.key;
    if (found_.insert_or_assign(std::move(key), std::move(p)).second)
        ++found_in_all_;
    if (found_.size() >= locks_a_page)
        print();
}

/// Prints what has been found, sorted, and forgets it.
void listing::print()
{
    std::string text;
    if (!options_.json && !found_.empty() && width_ == 0) {
        width_ = 3;
        for (auto const& [key, p] : found_)
            width_ = std::min<std::size_t>(std::max(width_, shown(key).size()), 40);
        text = row("KEY", "KIND", "LEASE", "HELD BY");
    }
    for (auto const& [key, p] : found_)
        text += options_.json ? boost::json::serialize(to_json(p)) + "\n" : line_of(p);
    found_.clear();
    if (line_)
        line_->hide();
    write_out(text);
}

std::string listing::line_of(picture const& p) const
{
    auto const others = static_cast<std::int64_t>(p.holders.size()) - 1 + p.more_holders;
    return row(
        shown(p.key),
        p.kind,
        p.lease ? shown(*p.lease) : "none",
        shown(p.holders.front()) + (others == 0 ? "" : " and " + counted(others, "other"))
    );
}

std::string listing::row(
    std::string const& key,
    std::string const& kind,
    std::string const& lease,
    std::string const& holders
) const
{
    auto const padding = [](std::string const& text, std::size_t width) {
        return std::string(width - std::min(width, text.size()), ' ');
    };
    return key + padding(key, width_) + "  " + kind + padding(kind, 10) + "  " + padding(lease, 9) +
        lease + "  " + holders + "\n";
}

}  // namespace

int ls(options const& o)
{
    std::signal(SIGPIPE, SIG_IGN);  // a long scan ends when nobody reads any more
    session s{o, settings_of(o)};
    listing all{s, o};
    try {
        return s.run(all.run());
    } catch (nobody_reads const&) {
        die_of(SIGPIPE);
    }
}

}  // namespace cli
