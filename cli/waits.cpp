// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "waits.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace cli {

namespace {

using entry = client_report::entry;

/// A wait, with the client that it is of.
struct wait {
    client_report const* client;
    entry const* wants;
};

class search {
public:
    search(std::vector<client_report> const& all, fields_of_locks const& locks, std::size_t most)
        : locks_{locks}
        , most_{most}
    {
        for (auto const& client : all)
            for (auto const& each : client.entries)
                if (each.waits)
                    waits_.push_back({&client, &each});
                else
                    holds_.emplace(each.id, wait{&client, &each});
    }

    std::vector<cycle_of_waits> run()
    {
        for (auto const& each : waits_)
            follow(each);
        return found_;
    }

private:
    /// Whether the holder with this field keeps the waiting one out.
    static bool blocks(entry const& wants, std::string_view field)
    {
        return wants.kind != "read" || field.ends_with(":write");
    }

    /// Goes from a wait to the holders of the lock, and to their waits.
    void follow(wait const& from)
    {
        if (found_.size() >= most_ || path_.size() > longest || ++steps_ > most_steps ||
            done_.contains(from.wants))
            return;
        auto const at = locks_.find(from.wants->key);
        if (at == locks_.end())
            return;
        open_.push_back(from.wants);
        for (auto const& field : at->second)
            if (auto const holder = holds_.find(field); holder != holds_.end() &&
                blocks(*from.wants, field) && holder->second.wants->key == from.wants->key)
                go_on(*holder->second.client, *holder->second.wants);
        open_.pop_back();
        if (open_.empty() || path_.empty())
            done_.insert(from.wants);
    }

    void go_on(client_report const& client, entry const& has)
    {
        auto const is_same = [&](wait const& w) {
            return w.client == &client && w.wants->owner == has.owner;
        };
        bool const is_certain = std::ranges::any_of(waits_, is_same);
        for (auto const& next : waits_) {
            // A wait for the lock that its own client has is of another task of that client.
            if (next.client != &client || next.wants->key == has.key ||
                (is_certain && !is_same(next)))
                continue;
            path_.push_back({&client, &has, next.wants, is_certain});
            auto const begin = std::ranges::find(open_, next.wants);
            if (begin != open_.end())
                take({path_.begin() + (begin - open_.begin()), path_.end()});
            else
                follow(next);
            path_.pop_back();
        }
    }

    void take(cycle_of_waits cycle)
    {
        if (found_.size() < most_ && names_.insert(name_of(cycle)).second)
            found_.push_back(std::move(cycle));
    }

    static constexpr std::size_t longest = 32, most_steps = 200'000;

    fields_of_locks const& locks_;
    std::size_t most_, steps_ = 0;
    std::vector<wait> waits_;
    std::map<std::string, wait> holds_;  ///< by the fields
    std::vector<entry const*> open_;     ///< the waits on the way
    cycle_of_waits path_;
    std::set<entry const*> done_;
    std::set<std::string> names_;
    std::vector<cycle_of_waits> found_;
};

}  // namespace

std::vector<cycle_of_waits> find_cycles(
    std::vector<client_report> const& all, fields_of_locks const& locks, std::size_t most
)
{
    return search{all, locks, most}.run();
}

std::string name_of(cycle_of_waits const& cycle)
{
    std::set<std::string> links;
    for (auto const& each : cycle)
        links.insert(
            each.has->id + ' ' + std::to_string(each.wants->owner) + ' ' + each.wants->key
        );
    std::string text;
    for (auto const& each : links)
        text += each + '\n';
    return text;
}

}  // namespace cli
