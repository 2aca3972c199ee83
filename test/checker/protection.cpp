// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/protection.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace colock::test {

namespace {

/// One hold, as it says itself.
struct claim {
    event const* got = nullptr;
    std::int64_t valid_until = 0;                                   ///< the last that was noted
    std::int64_t ended = std::numeric_limits<std::int64_t>::max();  ///< it has left, or was told

    std::int64_t protected_until() const { return std::min(valid_until, ended); }
};

class protection {
public:
    explicit protection(std::int64_t lease) : lease_{lease} {}

    // A process that is being killed runs until the signal arrives, so what it notes meanwhile
    // counts: it may have released.
    void take(event const& e)
    {
        auto const id = (std::uint64_t{e.process} << 32) | e.attempt;
        if (e.kind == what::taken)
            return taken_.push_back(&e);
        if (e.kind == what::got && claims_.try_emplace(id, claim{&e, e.valid_until}).second)
            return by_key_[e.key].push_back(&claims_.at(id));
        auto const found = claims_.find(id);
        if (found == claims_.end())
            return;
        auto& mine = found->second;
        if (e.kind == what::used || e.kind == what::left)
            mine.valid_until = std::max(mine.valid_until, e.valid_until);
        if (e.kind == what::left || e.kind == what::told)
            mine.ended = std::min(mine.ended, e.at);
    }

    void judge(findings& found) const
    {
        for (auto const& [key, claims] : by_key_)
            judge(claims, found);
    }

private:
    void judge(std::vector<claim const*> const& claims, findings& found) const
    {
        std::vector<claim const*> inside;
        for (auto const* next : claims) {
            auto const at = next->got->at;
            std::erase_if(inside, [&](auto const* each) { return each->protected_until() <= at; });
            if (next->got->valid_until <= at)
                continue;  // it says itself that it has nothing
            for (auto const* each : inside)
                if (!(each->got->shared && next->got->shared))
                    judge(*each, *next, found);
            inside.push_back(next);
        }
    }

    void judge(claim const& each, claim const& next, findings& found) const
    {
        if (is_taken(each, next))
            return void(++found.violations_of_taken);
        found.complain(
            found.violations,
            "violation: [" + to_string(*each.got) + "], protected for another " +
                std::to_string((each.protected_until() - next.got->at) / 1'000) + " us, and [" +
                to_string(*next.got) + ']'
        );
    }

    /// The server has lost the grant of one of them before the second got in. A hold that was
    /// renewed after that was not lost; the renewal was sent at its validity less the lease.
    bool is_taken(claim const& each, claim const& next) const
    {
        return std::ranges::any_of(taken_, [&](event const* t) {
            bool const is_this = t->key == every_key || t->key == next.got->key;
            bool const was_before =
                std::min(each.valid_until, next.got->valid_until) - lease_ <= t->at;
            return is_this && was_before && t->valid_until <= next.got->at;
        });
    }

    std::int64_t lease_;
    std::unordered_map<std::uint64_t, claim> claims_;
    std::map<std::uint32_t, std::vector<claim const*>> by_key_;
    std::vector<event const*> taken_;
};

}  // namespace

void judge_protection(std::vector<event> const& history, std::int64_t lease, findings& found)
{
    protection all{lease};
    for (auto const& e : history)
        all.take(e);
    all.judge(found);
}

}  // namespace colock::test
