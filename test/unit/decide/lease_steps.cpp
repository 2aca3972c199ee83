// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/lease_steps.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <unordered_set>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using decide::connection_life;
using decide::lease_steps;
using decide::milliseconds;

answer came(answer::kind what) { return {what, {}, {}, decide::time_point{1ms}}; }

constexpr connection_life written_at(
    std::uint64_t place, std::uint32_t life = 1, std::uint32_t oldest = 1
)
{
    return {.link = 1, .number = life, .oldest = oldest, .place = place};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(decide_lease_steps)

BOOST_AUTO_TEST_CASE(answered_in_order_each_proves_what_it_sets)
{
    lease_steps all;
    auto const first = all.begin(3s), second = all.begin(20s), third = all.begin(1s);
    BOOST_TEST((all.longest_under_way() == 20s));
    BOOST_TEST((all.end(first, came(answer::kind::replied), written_at(1)) == 1s)
    );  // the others may have run
    BOOST_TEST((all.end(second, came(answer::kind::replied), written_at(2)) == 1s));
    BOOST_TEST((all.end(third, came(answer::kind::replied), written_at(3)) == 1s));
    BOOST_TEST(all.is_empty());
    BOOST_TEST((all.longest_under_way() == 0s));
    auto const next = all.begin(20s);
    BOOST_TEST((all.end(next, came(answer::kind::replied), written_at(4)) == 20s));
}

BOOST_AUTO_TEST_CASE(a_step_that_was_answered_before_ran_before_if_it_was_written_before)
{
    for (bool const is_first : {true, false}) {
        lease_steps all;
        auto const other = all.begin(3s), mine = all.begin(20s);
        all.end(other, came(answer::kind::replied), written_at(is_first ? 1 : 2));
        BOOST_TEST(
            (all.end(mine, came(answer::kind::replied), written_at(is_first ? 2 : 1)) ==
             (is_first ? 20s : 3s))
        );
    }
}

BOOST_AUTO_TEST_CASE(what_was_lost_may_run_until_its_connection_was_ended)
{
    lease_steps all;
    auto const lost = all.begin(3s);
    all.end(lost, came(answer::kind::lost), written_at(1, 1));
    BOOST_TEST((all.end(all.begin(20s), came(answer::kind::replied), written_at(1, 2, 1)) == 3s));
    BOOST_TEST((all.end(all.begin(2s), came(answer::kind::replied), written_at(2, 2, 1)) == 2s));
    BOOST_TEST(!all.is_empty());
    BOOST_TEST((all.longest_under_way() == 0s));
    BOOST_TEST((all.end(all.begin(20s), came(answer::kind::replied), written_at(1, 3, 3)) == 20s));
    BOOST_TEST(all.is_empty());
}

BOOST_AUTO_TEST_CASE(what_is_never_written_never_runs)
{
    lease_steps all;
    auto const taken_back = all.begin(1s);
    auto const mine = all.begin(20s);
    all.end(taken_back, answer{}, {});
    BOOST_TEST((all.end(mine, came(answer::kind::replied), written_at(1)) == 20s));
}

BOOST_AUTO_TEST_CASE(a_reader_shortens_no_writer)
{
    lease_steps all;
    auto const reads = all.begin(1s, lease_steps::side::reader), writes = all.begin(20s);
    BOOST_TEST((all.end(writes, came(answer::kind::replied), written_at(1)) == 20s));
    BOOST_TEST((all.end(reads, came(answer::kind::replied), written_at(2)) == 1s));
    auto const longer = all.begin(20s, lease_steps::side::reader);
    all.begin(3s);
    BOOST_TEST((all.end(longer, came(answer::kind::replied), written_at(3)) == 3s));
}

namespace {

constexpr std::size_t most_steps = 4;

/// Steps on an old connection and a new one. A step is begun, written, run and answered. A server
/// may not know its script: then it is written again. Once the old connection is cut, and what was
/// not answered on it is lost. If its server has not ended it, the server runs that at any time,
/// in its order.
struct late_world {
    enum class phase : char { none, begun, written, ran, over, lost, lost_after };

    struct one {
        phase is = phase::none;
        bool on_new = false;
        unsigned char place = 0;  ///< among what was written
        unsigned char run = 0;    ///< among what has run
        unsigned char seen = 0;   ///< answered: how many were begun
        bool operator==(one const&) const = default;
    };

    bool may_run(std::size_t i) const
    {
        auto const& s = steps[i];
        return s.is == phase::begun || s.is == phase::written || (s.is == phase::lost && !is_ended);
    }

    /// The next one of its connection.
    bool is_front(std::size_t i) const
    {
        auto const& s = steps[i];
        if (s.is != phase::written && (s.is != phase::lost || is_ended))
            return false;
        return std::ranges::none_of(steps, [&](one const& o) {
            return (o.is == phase::written || o.is == phase::lost) && o.on_new == s.on_new &&
                o.place < s.place;
        });
    }

    std::string key() const
    {
        std::string text;
        for (auto const& s : steps)
            text +=
                {static_cast<char>(s.is),
                 static_cast<char>(s.on_new),
                 static_cast<char>(s.place),
                 static_cast<char>(s.run),
                 static_cast<char>(s.seen)};
        return text += {static_cast<char>(is_cut), static_cast<char>(bounces)};
    }

    std::array<one, most_steps> steps;
    bool is_cut = false;
    bool is_ended = false;  ///< the old connection, before the new one was up
    unsigned char writes = 0, runs = 0, bounces = 0;
};

/// All orders, with these leases.
struct all_orders {
    void go(late_world const& w, lease_steps const& rule)
    {
        if (!seen.insert(w.key() + (w.is_ended ? 'e' : 'u')).second)
            return;
        auto const next = std::ranges::find(w.steps, late_world::phase::none, &late_world::one::is);
        auto const begun = static_cast<std::size_t>(next - w.steps.begin());
        if (begun != leases.size()) {
            auto then = w;
            auto ruled = rule;
            then.steps[begun].is = late_world::phase::begun;
            ruled.begin(leases[begun]);
            go(then, ruled);
        }
        for (std::size_t i = 0; i != begun; ++i)
            act(w, rule, i, begun);
        if (!w.is_cut)
            for (bool const ended : {false, true})
                cut(w, rule, ended, begun);
    }

    void act(late_world const& w, lease_steps const& rule, std::size_t i, std::size_t begun)
    {
        auto then = w;
        auto& s = then.steps[i];
        if (s.is == late_world::phase::begun) {
            s = {late_world::phase::written, w.is_cut, ++then.writes, 0, 0};
            go(then, rule);
        }
        if (w.is_front(i)) {
            s.is = s.is == late_world::phase::lost ? late_world::phase::lost_after
                                                   : late_world::phase::ran;
            s.run = ++then.runs;
            go(then, rule);
        }
        if (w.steps[i].is == late_world::phase::written && w.is_front(i) && w.bounces == 0) {
            then = w;
            then.steps[i] = {.is = late_world::phase::begun};
            ++then.bounces;
            go(then, rule);
        }
        if (w.steps[i].is == late_world::phase::ran) {
            then = w;
            auto ruled = rule;
            then.steps[i].is = late_world::phase::over;
            then.steps[i].seen = static_cast<unsigned char>(begun);
            judge(w, i, ruled.end(step(i), came(answer::kind::replied), place_of(w, i)));
            go(then, ruled);
        }
    }

    void cut(late_world w, lease_steps rule, bool ended, std::size_t begun)
    {
        w.is_cut = true;
        w.is_ended = ended;
        for (std::size_t i = 0; i != begun; ++i) {
            auto& s = w.steps[i];
            bool const has_run = s.is == late_world::phase::ran;
            if (!has_run && s.is != late_world::phase::written)
                continue;
            rule.end(step(i), came(answer::kind::lost), place_of(w, i));
            s.is = has_run ? late_world::phase::lost_after : late_world::phase::lost;
        }
        go(w, rule);
    }

    lease_steps::step step(std::size_t i) const
    {
        return {static_cast<std::uint32_t>(i + 1), leases[i], lease_steps::side::whole};
    }

    static connection_life place_of(late_world const& w, std::size_t i)
    {
        auto const& s = w.steps[i];
        return written_at(s.place, s.on_new ? 2 : 1, s.on_new && w.is_ended ? 2 : 1);
    }

    /// Each one sets the end to the time at which it runs and its lease. So after step `i` the
    /// server's lease ends `least` after it was sent, or later, where `least` is the shortest of
    /// all that run then or later, at whatever times they do.
    void judge(late_world const& w, std::size_t i, milliseconds proven)
    {
        ++answers;
        auto least = leases[i];
        bool is_in_doubt = w.bounces != 0;
        for (std::size_t j = 0; j != leases.size(); ++j) {
            auto const& other = w.steps[j];
            if (j != i && (w.may_run(j) || other.run > w.steps[i].run))
                least = std::min(least, leases[j]);
            is_in_doubt |= other.is == late_world::phase::ran ||
                (other.run != 0 && other.on_new != w.steps[i].on_new && !w.is_ended);
        }
        broken += proven > least;
        // Of connections that were ended and answers that come in order nothing is in doubt.
        weak += proven < least && !is_in_doubt;
    }

    std::vector<milliseconds> leases;
    std::unordered_set<std::string> seen;
    std::size_t answers = 0, broken = 0, weak = 0;
};

}  // namespace

// In the order in which they begin, which any of them may be the short one of.
BOOST_AUTO_TEST_CASE(in_no_order_is_more_proven_than_the_server_keeps)
{
    std::vector<std::vector<milliseconds>> const all{
        {1ms, 2ms, 3ms},
        {3ms, 2ms, 1ms},
        {2ms, 1ms, 3ms},
        {1ms, 9ms, 9ms, 9ms},
        {9ms, 1ms, 9ms, 9ms},
        {9ms, 9ms, 1ms, 9ms},
        {9ms, 9ms, 9ms, 1ms}};
    for (auto const& leases : all) {
        all_orders every{leases, {}};
        every.go({}, {});
        BOOST_TEST(every.broken == 0U);
        BOOST_TEST(every.weak == 0U);
        BOOST_TEST(every.answers > 0U);
        BOOST_TEST_MESSAGE(every.seen.size() << " states, " << every.answers << " answers");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
