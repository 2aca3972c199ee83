// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/operation_line.hpp"
#include "checker/operations.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace colock::test {

namespace {

constexpr auto never = std::numeric_limits<std::int64_t>::max();

class operations {
public:
    operations(std::int64_t lease, std::string_view prefix, std::ostream& to)
        : lease_{lease}
        , prefix_{prefix}
        , to_{to}
    {}

    void take(event const& e)
    {
        if (e.kind == what::taken)
            return write_loss(e);
        if (e.kind == what::killed)
            return void(killed_.emplace(e.process, e.at));
        if (e.attempt == 0)
            return;
        auto& mine = attempts_[{e.process, e.attempt}];
        mine.last = e.at;
        switch (e.kind) {
        case what::asked: mine.asked = e.at; return;
        case what::got: mine.got = e; break;
        case what::told: mine.told = std::min(mine.told, e.at); return;
        case what::left: mine.left = e.at; break;
        case what::released: mine.released = e.well ? e.at : never; return;
        case what::used: write_use(e); break;
        default: return;
        }
        mine.valid_until = std::max(mine.valid_until, e.valid_until);
    }

    /// Of what has no lease nothing says when it was admitted, and without that the search for an
    /// order takes too long.
    void finish() const
    {
        for (auto const& [id, each] : attempts_)
            if (each.got.kind == what::got && each.got.valid_until != no_lease)
                write_hold(each);
    }

private:
    struct attempt {
        std::int64_t asked = 0;
        event got{};
        std::int64_t valid_until = 0;  ///< the last that was noted
        std::int64_t told = never;
        std::int64_t left = never;
        std::int64_t released = never;  ///< the server had it until its answer
        std::int64_t last = 0;          ///< noted
    };

    std::string name_of(std::uint32_t key) const { return prefix_ + std::to_string(key); }
    static std::string hold_of(event const& e)
    {
        return std::to_string(e.process) + '.' + std::to_string(e.attempt);
    }

    void write_loss(event const& e) const
    {
        operation_line{to_, "lose", e.key == every_key ? std::string{} : name_of(e.key)}
            .with("call", e.valid_until)
            .with("return", e.at);
    }

    void write_use(event const& e) const
    {
        operation_line line{to_, "write", name_of(e.key)};
        line.with("hold", hold_of(e)).with("token", static_cast<std::int64_t>(e.token));
        line.with("call", e.at).with("return", e.done).if_so("taken", e.accepted);
        if (e.accepted)
            line.with("order", e.order);
    }

    void write_hold(attempt const& of) const
    {
        auto const& got = of.got;
        {
            operation_line line{to_, "acquire", name_of(got.key)};
            line.with("hold", hold_of(got)).if_so("shared", got.shared);
            line.with("call", of.asked).with("return", got.at);
            line.with("admitted", admitted_after(got, lease_));
            if (!got.shared && got.token != 0)
                line.tokens(std::array{got.token});
        }
        auto const killed = killed_.find(got.process);
        bool const is_killed = killed != killed_.end() && of.left == never;
        // It may have been killed between a write and its note.
        if (is_killed && !got.shared && got.token != 0)
            operation_line{to_, "write", name_of(got.key)}
                .with("hold", hold_of(got))
                .with("token", static_cast<std::int64_t>(got.token))
                .with("call", of.last);
        write_end(of, is_killed ? killed->second : never);
    }

    void write_end(attempt const& of, std::int64_t killed) const
    {
        auto const& got = of.got;
        if (of.told == never && of.left != never && of.released != never)
            return void(operation_line{to_, "release", name_of(got.key)}
                            .with("hold", hold_of(got))
                            .with("call", of.left)
                            .with("return", of.released));
        // It hangs: others may wait for it for ever.
        if (of.told == never && of.left == never && killed == never)
            return;
        std::pair<std::int64_t, char const*> const first = std::min(
            {std::pair{of.told, "told"},
             {of.left, "left"},
             {killed, "killed"},
             {of.valid_until, "over"}},
            [](auto const& a, auto const& b) { return a.first < b.first; }
        );
        operation_line{to_, "end", name_of(got.key)}
            .with("hold", hold_of(got))
            .with("call", first.first)
            .with("why", first.second);
    }

    std::int64_t lease_;
    std::string prefix_;
    std::ostream& to_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, attempt> attempts_;
    std::map<std::uint32_t, std::int64_t> killed_;
};

}  // namespace

void write_operations(
    std::vector<event> const& history, std::int64_t lease, std::string_view prefix, std::ostream& to
)
{
    operations all{lease, prefix, to};
    for (auto const& e : history)
        all.take(e);
    all.finish();
}

}  // namespace colock::test
