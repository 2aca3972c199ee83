// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The lease of a hold, what the server has of it, and its renewals: plain values, told the time.
#include "decide/lease.hpp"
#include "decide/renewal.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using decide::hold_terms;
using decide::milliseconds;
using decide::renewal;
using decide::server_lease;
using decide::valid_until;
using time_point = std::chrono::steady_clock::time_point;

constexpr time_point never = time_point::max();

time_point at(milliseconds after) { return time_point{1'000s} + after; }

hold_terms granted(milliseconds length, bool renewed = true)
{
    hold_terms made{.lease = length, .renewed = renewed};
    made.born = at(0ms);
    made.ends = at(0ms) + length;
    return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(decide_lease)

BOOST_AUTO_TEST_CASE(validity_counts_from_before_the_script_was_sent)
{
    auto hold = granted(3s);
    BOOST_TEST((hold.confirm(at(0ms), 3s, 3s, true, {}) == valid_until(at(0ms), 3s)));
    BOOST_TEST((hold.proven == 3s));
    BOOST_TEST(
        (hold.confirm(at(1s), 3s, 3s, true, valid_until(at(0ms), 3s)) == valid_until(at(1s), 3s))
    );
}

BOOST_AUTO_TEST_CASE(an_older_answer_takes_nothing_away)
{
    auto hold = granted(3s);
    auto const until = hold.confirm(at(1s), 3s, 3s, true, {});
    BOOST_TEST((hold.confirm(at(0ms), 3s, 3s, true, until) == until));
    BOOST_TEST((hold.proven == 3s));
    BOOST_TEST((hold.ends == at(4s)));
}

BOOST_AUTO_TEST_CASE(what_the_script_set_counts_and_not_what_was_asked_for_since)
{
    auto hold = granted(3s);
    auto until = hold.confirm(at(0ms), 3s, 3s, true, {});
    until = hold.ask(at(500ms), 10s, until);
    BOOST_TEST((until == valid_until(at(0ms), 3s)));  // a longer one has to be proven
    until = hold.confirm(at(1s), 3s, 3s, true, until);
    BOOST_TEST((until == valid_until(at(1s), 3s)));
    BOOST_TEST((hold.lose_at(until, {}) == until - 300ms));  // the margin of the lease that runs
    until = hold.confirm(at(2s), 10s, 10s, true, until);
    BOOST_TEST((until == valid_until(at(2s), 10s)));
    BOOST_TEST((hold.lose_at(until, {}) == until - 1s));
    BOOST_TEST((hold.lose_at(until, 20ms) == until - 20ms));
}

BOOST_AUTO_TEST_CASE(a_shorter_lease_counts_from_now_on)
{
    auto hold = granted(10s);
    auto const until = hold.confirm(at(0ms), 10s, 10s, true, {});
    BOOST_TEST((hold.ask(at(1s), 2s, until) == valid_until(at(1s), 2s)));
    BOOST_TEST((hold.ends == at(3s)));
}

// Two requests in a row, of which the server has answered none: the margin of the lease before them
// would be longer than the hold is valid.
BOOST_AUTO_TEST_CASE(the_margin_is_never_that_of_a_lease_which_was_given_up)
{
    auto hold = granted(10s);
    auto until = hold.confirm(at(0ms), 10s, 10s, true, {});
    until = hold.ask(at(1s), 500ms, until);
    until = hold.ask(at(1s), 30s, until);
    BOOST_TEST((until == valid_until(at(1s), 500ms)));
    BOOST_TEST((hold.lose_at(until, {}) == until - 50ms));
}

BOOST_AUTO_TEST_CASE(a_fixed_lease_that_is_proven_in_part_gets_the_rest_and_no_more)
{
    auto hold = granted(20s, false);
    auto until = hold.confirm(at(0ms), 20s, 3s, true, {});
    BOOST_TEST((until == valid_until(at(0ms), 3s)));
    BOOST_TEST((hold.ends == at(20s)));
    BOOST_TEST(hold.is_short(until));
    BOOST_TEST((hold.promise(at(1s), {}) == 19s));
    until = hold.confirm(at(1s), 60s, 60s, false, until);
    BOOST_TEST((until == valid_until(at(0ms), 20s)));
    BOOST_TEST(!hold.is_short(until));
    BOOST_TEST((hold.ends == at(20s)));
}

BOOST_AUTO_TEST_CASE(a_fixed_lease_whose_extension_is_refused_ends_as_before)
{
    auto hold = granted(3s, false);
    auto const until = hold.confirm(at(0ms), 3s, 3s, true, {});
    BOOST_TEST((hold.ask(at(1s), 20s, until) == until));
    BOOST_TEST(hold.is_short(until));
    hold.stay(until);
    BOOST_TEST(!hold.is_short(until));
}

BOOST_AUTO_TEST_CASE(before_the_grant_its_whole_lease_is_to_be_set)
{
    hold_terms hold{.lease = 3s, .renewed = false};
    BOOST_TEST((hold.promise(at(10s), {}) == 3s));
    hold.at_least = 5s;
    BOOST_TEST((hold.promise(at(10s), {}) == 5s));
    BOOST_TEST(!hold.stays_taken(at(0ms)));
}

BOOST_AUTO_TEST_CASE(it_is_renewed_no_longer_than_allowed_and_then_promised_the_rest)
{
    auto const hold = granted(3s);
    BOOST_TEST(hold.is_renewed(at(1h), {}));
    BOOST_TEST(hold.is_renewed(at(4'999ms), 5s));
    BOOST_TEST(!hold.is_renewed(at(5s), 5s));
    BOOST_TEST((hold.promise(at(1s), 5s) == 3s));
    BOOST_TEST((hold.promise(at(1s), 1s) == 2s));
    auto const fixed = granted(3s, false);
    BOOST_TEST(!fixed.is_renewed(at(0ms), {}));
    BOOST_TEST((fixed.promise(at(1s), {}) == 2s));
}

BOOST_AUTO_TEST_CASE(it_is_kept_for_the_least_time)
{
    auto hold = granted(3s);
    BOOST_TEST(!hold.stays_taken(at(0ms)));
    hold.at_least = 200ms;
    BOOST_TEST(hold.stays_taken(at(199ms)));
    BOOST_TEST(!hold.stays_taken(at(200ms)));
}

BOOST_AUTO_TEST_CASE(the_server_may_have_it_until_its_longest_lease_ends)
{
    server_lease lease;
    BOOST_TEST(!lease.is_granted());
    lease.begin(at(0ms), at(3s));
    BOOST_TEST(lease.is_granted());
    lease.extend(at(1s), 10s);
    lease.extend(at(2s), 3s);
    BOOST_TEST((lease.until() == at(11s)));
    lease.stay_taken(at(200ms));
    lease.stay_taken(at(100ms));
    BOOST_TEST(lease.stays_taken(at(199ms)));
    BOOST_TEST((lease.kept_for(at(150ms)) == 50ms));
    BOOST_TEST(!lease.stays_taken(at(200ms)));
}

BOOST_AUTO_TEST_CASE(only_a_script_that_was_sent_later_clears_a_suspicion)
{
    server_lease lease;
    lease.begin(at(0ms), at(3s));
    lease.found(at(0ms));
    BOOST_TEST(!lease.is_suspect());
    lease.suspect(at(5ms));
    lease.found(at(4ms));
    BOOST_TEST(lease.is_suspect());
    lease.found(at(5ms));
    BOOST_TEST(!lease.is_suspect());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(decide_renewal)

BOOST_AUTO_TEST_CASE(only_the_answer_of_the_latest_one_is_news)
{
    renewal state;
    state.plan(at(1s));
    state.begin(1);
    BOOST_TEST((state.due_at() == never));
    state.begin(2);
    BOOST_TEST(!state.is_current(1));
    BOOST_TEST(state.is_current(2));
}

BOOST_AUTO_TEST_CASE(one_that_is_forgotten_is_no_news)
{
    renewal state;
    state.begin(1);
    state.forget();
    BOOST_TEST(!state.is_wanted());
    BOOST_TEST(!state.is_current(1));
}

BOOST_AUTO_TEST_CASE(failures_in_a_row_are_tried_again_later_and_later)
{
    renewal state;
    state.begin(1);
    state.fail(at(0ms), 3s, false, 0);
    BOOST_TEST((state.due_at() == at(10ms)));
    state.begin(1);
    state.fail(at(20ms), 3s, false, 0);
    BOOST_TEST((state.due_at() == at(40ms)));
    state.begin(1);
    state.succeed();
    BOOST_TEST(!state.is_wanted());
    state.begin(1);
    state.fail(at(100ms), 3s, false, 0);
    BOOST_TEST((state.due_at() == at(110ms)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
