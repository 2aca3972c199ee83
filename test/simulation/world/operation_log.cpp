// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/operation_line.hpp"
#include "simulation/world/operation_log.hpp"

#include <algorithm>

namespace colock::simulation {

using test::operation_line;

void operation_log::finish()
{
    for (auto const& [hold, each] : places_)
        if (each.is_over)
            write_end(hold, each);
    places_.clear();
    to_ = nullptr;
}

std::uint64_t operation_log::acquire(std::string const& name, grant const& how)
{
    if (!is_on())
        return 0;
    auto const hold = ++last_;
    auto& made = places_[hold];
    made.name = name;
    {
        operation_line line{*to_, "acquire", name};
        line.with("hold", std::to_string(hold)).if_so("shared", how.shared);
        line.with("call", how.asked.count()).with("return", how.now.count());
        if (!how.owner.empty())
            line.with("owner", how.owner);
        if (how.admitted)
            line.with("admitted", how.admitted->count());
        if (how.permits != 0)
            line.with("permits", how.permits);
        if (!how.tokens.empty())
            line.tokens(how.tokens);
    }
    if (!how.tokens.empty())
        made.token = how.tokens.front();
    write(hold, made, how.now);
    return hold;
}

void operation_log::leave(std::uint64_t hold, end const& how)
{
    auto const at = places_.find(hold);
    if (at == places_.end())
        return;
    auto& mine = at->second;
    mine.how = how;
    mine.is_over = true;
    if (mine.token != 0)
        operation_line{*to_, "read", mine.name}
            .with("hold", std::to_string(hold))
            .with("call", how.now.count())
            .with("return", how.now.count())
            .with("order", stores_[mine.name].writes);
    write(hold, mine, how.now);
}

void operation_log::released(std::uint64_t hold, moment now)
{
    auto const at = places_.find(hold);
    if (at == places_.end())
        return;
    auto const& how = at->second.how;
    operation_line line{*to_, "release", at->second.name};
    line.with("hold", std::to_string(hold)).with("call", how.call.count());
    line.with("return", now.count());
    if (how.kept_until)
        line.with("kept_until", how.kept_until->count());
    places_.erase(at);
}

void operation_log::set(std::string const& name, std::int64_t permits, bool leases)
{
    if (is_on())
        operation_line{*to_, "set", name}
            .with("permits", permits)
            .if_so("leases", leases)
            .with("call", std::int64_t{0})
            .with("return", std::int64_t{0});
}

void operation_log::lose(std::string const& name, moment now, bool keeps, bool tokens_anew)
{
    if (is_on())
        operation_line{*to_, "lose", name}
            .with("call", now.count())
            .with("return", now.count())
            .if_so("keeps", keeps)
            .if_so("tokens_anew", tokens_anew);
}

void operation_log::write(std::uint64_t hold, place const& who, moment now)
{
    if (who.token == 0)
        return;
    auto& at = stores_[who.name];
    bool const is_taken = who.token >= at.highest;
    operation_line line{*to_, "write", who.name};
    line.with("hold", std::to_string(hold)).with("token", static_cast<std::int64_t>(who.token));
    line.with("call", now.count()).with("return", now.count()).if_so("taken", is_taken);
    if (!is_taken)
        return;
    at.highest = who.token;
    line.with("order", ++at.writes);
}

void operation_log::write_end(std::uint64_t hold, place const& of)
{
    operation_line line{*to_, "end", of.name};
    line.with("hold", std::to_string(hold)).with("call", of.how.call.count());
    line.with("why", of.how.why);
    if (of.how.kept_until)
        line.with("kept_until", of.how.kept_until->count());
}

}  // namespace colock::simulation
