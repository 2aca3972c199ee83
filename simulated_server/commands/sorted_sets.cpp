// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace colock::simulation {

namespace {

auto find_member(sorted_set& in, std::string_view member)
{
    return std::ranges::find(in, member, &scored::member);
}

void insert(sorted_set& into, scored what)
{
    auto const comes_before = [](scored const& a, scored const& b) {
        return std::tie(a.score, a.member) < std::tie(b.score, b.member);
    };
    into.insert(std::ranges::upper_bound(into, what, comes_before), std::move(what));
}

// ---- ZADD and ZINCRBY --------------------------------------------------------------------------

/// The options of ZADD.
struct manner {
    bool only_known = false;  ///< XX
    bool only_new = false;    ///< NX
    bool only_up = false;     ///< GT
    bool adds = false;        ///< INCR
};

enum class deed { nothing, added, updated };

/// Sets one member's score and says what was done; `score` is then the member's.
deed set_score(sorted_set& in, double& score, std::string_view member, manner how)
{
    auto const at = find_member(in, member);
    if (at == in.end()) {
        if (how.only_known)
            return deed::nothing;
        insert(in, {score, std::string{member}});
        return deed::added;
    }
    if (how.only_new)
        return deed::nothing;
    auto const before = at->score;
    if (how.adds)
        score += before;
    if (std::isnan(score))
        throw refusal{"ERR resulting score is not a number (NaN)"};
    if (how.only_up && score <= before)
        return deed::nothing;
    if (score != before) {
        in.erase(at);
        insert(in, {score, std::string{member}});
    }
    return deed::updated;
}

/// Reads the options and leaves the pairs of scores and members.
manner read_options(words& given)
{
    manner how;
    for (given = given.subspan(2); !given.empty(); given = given.subspan(1))
        if (is_option(given[0], "XX"))
            how.only_known = true;
        else if (is_option(given[0], "NX"))
            how.only_new = true;
        else if (is_option(given[0], "GT"))
            how.only_up = true;
        else if (is_option(given[0], "INCR"))
            how.adds = true;
        else if (is_option(given[0], "LT") || is_option(given[0], "CH"))
            throw refusal{"ERR the simulated server lacks this option of ZADD"};
        else
            break;
    if (given.empty() || given.size() % 2 != 0)
        throw refusal{"ERR syntax error"};
    if (how.only_known && how.only_new)
        throw refusal{"ERR XX and NX options at the same time are not compatible"};
    if (how.only_up && how.only_new)
        throw refusal{"ERR GT, LT, and/or NX options at the same time are not compatible"};
    if (how.adds && given.size() != 2)
        throw refusal{"ERR INCR option supports a single increment-element pair"};
    return how;
}

outcome zadd(workspace& on, words given)
{
    auto const key = given[1];
    auto const how = read_options(given);
    std::vector<double> scores;
    for (std::size_t i = 0; i != given.size(); i += 2)
        scores.push_back(floating(given[i]));
    if (!on.read<sorted_set>(key) && how.only_known)
        return how.adds ? outcome{} : outcome{0};
    auto& in = on.write<sorted_set>(key);
    std::int64_t added = 0;
    auto last = deed::nothing;
    for (std::size_t i = 0; i != scores.size(); ++i) {
        last = set_score(in, scores[i], given[2 * i + 1], how);
        added += last == deed::added;
    }
    if (!how.adds)
        return added;
    return last == deed::nothing ? outcome{} : outcome{reply::of(to_text(scores.back()))};
}

outcome zincrby(workspace& on, words given)
{
    auto score = floating(given[2]);
    set_score(on.write<sorted_set>(given[1]), score, given[3], {.adds = true});
    return reply::of(to_text(score));
}

// ---- Members -----------------------------------------------------------------------------------

outcome zrem(workspace& on, words given)
{
    auto* const in = on.read<sorted_set>(given[1]);
    if (!in)
        return 0;
    std::int64_t removed = 0;
    for (auto const member : given.subspan(2))
        if (auto const at = find_member(*in, member); at != in->end()) {
            in->erase(at);
            ++removed;
        }
    on.drop_if_empty(given[1], *in);
    return removed;
}

outcome zscore(workspace& on, words given)
{
    auto* const in = on.read<sorted_set>(given[1]);
    if (!in)
        return {};
    auto const at = find_member(*in, given[2]);
    return at != in->end() ? outcome{reply::of(to_text(at->score))} : outcome{};
}

outcome zrank(workspace& on, words given)
{
    if (given.size() > 3)
        throw refusal{"ERR the simulated server knows no options of ZRANK"};
    auto* const in = on.read<sorted_set>(given[1]);
    if (!in)
        return {};
    auto const at = find_member(*in, given[2]);
    return at != in->end() ? outcome{at - in->begin()} : outcome{};
}

// ---- Ranges ------------------------------------------------------------------------------------

outcome list_of(std::span<scored const> some, bool with_scores)
{
    std::vector<reply> found;
    for (auto const& one : some) {
        found.push_back(reply::of(one.member));
        if (with_scores)
            found.push_back(reply::of(to_text(one.score)));
    }
    return reply::of(std::move(found));
}

// By rank, without other options than WITHSCORES.
outcome zrange(workspace& on, words given)
{
    bool const with_scores = given.size() == 5 && is_option(given[4], "WITHSCORES");
    if (given.size() > 4 && !with_scores)
        throw refusal{"ERR syntax error"};
    auto const start = integer(given[2]), stop = integer(given[3]);
    auto const* const in = on.read<sorted_set>(given[1]);
    if (!in)
        return reply::of(std::vector<reply>{});
    auto const [first, end] = range(start, stop, in->size());
    return list_of(std::span{*in}.subspan(first, end - first), with_scores);
}

/// An end of a range of scores: `(` in front leaves the score itself out.
struct bound {
    double score;
    bool is_open;
};

bound to_bound(std::string_view text)
{
    bool const is_open = text.starts_with('(');
    return {range_end(text.substr(is_open)), is_open};
}

std::span<scored const> between(sorted_set const& in, bound min, bound max)
{
    auto const first = std::ranges::find_if(in, [min](scored const& one) {
        return min.is_open ? one.score > min.score : one.score >= min.score;
    });
    auto const last = std::find_if(first, in.end(), [max](scored const& one) {
        return max.is_open ? one.score >= max.score : one.score > max.score;
    });
    return {first, last};
}

outcome zcount(workspace& on, words given)
{
    auto const min = to_bound(given[2]), max = to_bound(given[3]);
    auto const* const in = on.read<sorted_set>(given[1]);
    return in ? static_cast<std::int64_t>(between(*in, min, max).size()) : 0;
}

outcome zrangebyscore(workspace& on, words given)
{
    bool with_scores = false;
    std::int64_t offset = 0, limit = -1;
    for (auto left = given.subspan(4); !left.empty();) {
        bool const is_limit = left.size() >= 3 && is_option(left[0], "LIMIT");
        if (is_limit) {
            offset = integer(left[1]);
            limit = integer(left[2]);
        } else if (is_option(left[0], "WITHSCORES")) {
            with_scores = true;
        } else {
            throw refusal{"ERR syntax error"};
        }
        left = left.subspan(is_limit ? 3 : 1);
    }
    auto const min = to_bound(given[2]), max = to_bound(given[3]);
    auto const* const in = on.read<sorted_set>(given[1]);
    if (!in || offset < 0)
        return reply::of(std::vector<reply>{});
    auto some = between(*in, min, max);
    some = some.subspan(std::min(some.size(), static_cast<std::size_t>(offset)));
    if (limit >= 0)
        some = some.first(std::min(some.size(), static_cast<std::size_t>(limit)));
    return list_of(some, with_scores);
}

constexpr std::array all{
    command{"zadd", -4, &zadd},
    command{"zincrby", 4, &zincrby},
    command{"zrem", -3, &zrem},
    command{"zscore", 3, &zscore},
    command{"zrank", -3, &zrank},
    command{"zrange", -4, &zrange},
    command{"zcount", 4, &zcount},
    command{"zrangebyscore", -4, &zrangebyscore}};

}  // namespace

std::span<command const> sorted_set_commands() noexcept { return all; }

}  // namespace colock::simulation
