// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/keeping.hpp"
#include "decide/turns.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using decide::keeping;

constexpr decide::time_point start{1'000s};

keeping plain()
{
    return {
        .now = start,
        .since = start - 5ms,
        .keep = 2ms,
        .max_tenure = 10ms,
        .valid_until = start + 25s,
        .lease = 30s};
}

BOOST_AUTO_TEST_SUITE(decide_keeping)

BOOST_AUTO_TEST_CASE(a_lock_is_kept_for_a_while) { BOOST_TEST((plain().until() == start + 2ms)); }

BOOST_AUTO_TEST_CASE(a_tenure_ends_whatever_is_kept)
{
    auto s = plain();
    s.since = start - 9ms;
    BOOST_TEST((s.until() == start + 1ms));
    s.since = start - 10ms;
    BOOST_TEST((s.until() <= start));
}

BOOST_AUTO_TEST_CASE(half_the_validity_is_left_while_it_is_kept)
{
    auto s = plain();
    s.lease = 10s;  // valid for 9,898 ms
    s.valid_until = start + 4'950ms;
    BOOST_TEST((s.until() == start + 1ms));
    s.valid_until = start + 4'949ms;
    BOOST_TEST((s.until() <= start));
}

BOOST_AUTO_TEST_CASE(it_is_not_kept_from_others_nor_in_doubt)
{
    for (auto const disturb : std::vector<void (*)(keeping&)>{
             [](keeping& s) { s.is_alone = false; },
             [](keeping& s) { s.would_hear = false; },
             [](keeping& s) { s.is_sure = false; },
             [](keeping& s) { s.keep = 0ms; }}) {
        auto s = plain();
        disturb(s);
        BOOST_TEST((s.until() <= start));
    }
}

BOOST_AUTO_TEST_CASE(who_released_last_and_met_nobody_is_alone)
{
    decide::turns t{10ms, 0ms, 1'000ms};
    BOOST_TEST(!t.is_alone());  // nothing is known yet
    t.released(start, 0, 1ms);
    BOOST_TEST(t.is_alone());
    t.refused();
    BOOST_TEST(!t.is_alone());
    t.released(start, 1, 1ms);
    BOOST_TEST(!t.is_alone());
    t.released(start, 0, 1ms);
    BOOST_TEST(t.is_alone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
