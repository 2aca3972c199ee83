// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/quorum.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::decide {

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(decide_quorum)

BOOST_AUTO_TEST_CASE(the_token_is_that_with_which_there_are_enough)
{
    BOOST_TEST((common_token({30, 10, 20}, 2) == 20U));
    BOOST_TEST((common_token({30, 10, 20, 50, 40}, 3) == 30U));
    BOOST_TEST((common_token({7, 7}, 2) == 7U));
    BOOST_TEST(!common_token({10}, 2).has_value());
}

// The last owner raised a majority to its token. Whichever majority comes next shares a server with
// that one, and drew above the token there.
BOOST_AUTO_TEST_CASE(the_next_token_is_above_that_of_each_majority_before_it)
{
    constexpr std::uint64_t before = 100;
    for (unsigned raised = 0; raised != 8; ++raised)
        for (unsigned won = 0; won != 8; ++won) {
            std::vector<std::uint64_t> drawn;
            for (unsigned i = 0; i != 3; ++i)
                if ((won >> i & 1U) != 0)
                    drawn.push_back((raised >> i & 1U) != 0 ? before + 1 + i : 1 + i);
            if (std::popcount(raised) < 2 || std::popcount(won) < 2)
                continue;
            BOOST_TEST(common_token(drawn, 2).value() > before);
        }
}

BOOST_AUTO_TEST_CASE(a_part_counts_once_its_counter_is_there_and_its_server_votes)
{
    time_point const now{1h};
    quorum_part p{.drawn = 20, .reached = 20};
    BOOST_TEST(!p.counts(20, now));  // not known whether it votes
    p.votes_from = now;
    BOOST_TEST(p.counts(20, now));
    BOOST_TEST(!p.counts(21, now));
    BOOST_TEST(!p.counts(20, now - 1ms));
}

BOOST_AUTO_TEST_CASE(a_part_that_drew_more_keeps_a_lock_but_does_not_give_it_out)
{
    time_point const now{1h};
    quorum_part const p{.drawn = 20, .reached = 20, .votes_from = now};
    BOOST_TEST(p.counts(19, now));
    BOOST_TEST(!p.agrees(19, now));
    BOOST_TEST(p.agrees(20, now));
}

BOOST_AUTO_TEST_CASE(a_server_votes_when_no_lock_from_before_its_start_is_valid)
{
    raise_answer a{.reached = 1, .behind = {}, .up = 3s, .received = time_point{1h}};
    auto const margin = drift(10s) + 1s;  // it tells whole seconds
    BOOST_TEST((votes_from(a, 10s) == time_point{1h} + 10s + margin - 3s));
    a.up = 12s;
    BOOST_TEST((votes_from(a, 10s) <= time_point{1h}));
    a.up = 0s;
    BOOST_TEST((votes_from(a, 0ms) <= time_point{1h}));  // it loses nothing
    a.up.reset();
    BOOST_TEST((votes_from(a, 10s) <= time_point{1h}));  // it does not tell
}

BOOST_AUTO_TEST_CASE(a_silent_server_has_twice_as_long_as_most_of_them_and_thrice_its_usual_time)
{
    time_point const asked{1h}, limit = asked + 1s;
    BOOST_TEST((answer_limit{asked, limit}.most_have_answered(asked + 1ms, 1ms) == asked + 6ms));
    BOOST_TEST((answer_limit{asked, limit}.most_have_answered(asked + 20ms, 1ms) == asked + 60ms));
    BOOST_TEST((answer_limit{asked, limit}.most_have_answered(asked + 1ms, 80ms) == asked + 240ms));
    BOOST_TEST((answer_limit{asked, limit}.most_have_answered(asked + 1ms, 1s) == limit));
    answer_limit twice{asked, limit};
    twice.most_have_answered(asked + 1ms, 1ms);
    BOOST_TEST((twice.most_have_answered(asked + 3ms, 1ms) == asked + 6ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::decide
