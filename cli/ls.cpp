// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock ls: the locks that are held.
#include "commands.hpp"
#include "progress.hpp"
#include "scan.hpp"
#include "session.hpp"
#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
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
        progress const line{session_.context().get_executor(), "ls", [this] {
                                return "looked at " + counted(scan_.looked_at(), "hash", "es") +
                                    ", found " + counted(found_in_all_, "lock");
                            }};
        co_await scan_.run(options_.pattern);
        print();
        if (auto const refusal = scan_.refusal(); !refusal.empty())
            complain("colock ls: " + refusal);
        co_return scan_.status();
    }

private:
    void take(picture);
    void print();
    void print_line(picture const&) const;

    session& session_;
    options const& options_;
    lock_scan scan_{session_, settings_of(options_), [this](picture p) { take(std::move(p)); }};
    std::int64_t found_in_all_ = 0;
    std::size_t width_ = 0;                 ///< of the keys, once the head of the table is printed
    std::map<std::string, picture> found_;  ///< not printed yet
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
