// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Hand-over inside a client.
#include "decide/handover.hpp"
#include "decide/token_block.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using decide::handover;
using decide::handover_kind;
using decide::token_block;
using time_point = std::chrono::steady_clock::time_point;

constexpr time_point start{1'000s};

// ---- Hand-over -------------------------------------------------------------------------------

handover plain()
{
    return {
        .now = start,
        .since = start - 5ms,
        .max_tenure = 10ms,
        .valid_until = start + 25s,
        .lease = 30s};
}

BOOST_AUTO_TEST_SUITE(decide_handover)

BOOST_AUTO_TEST_CASE(within_a_tenure_at_once)
{
    BOOST_TEST((plain().decide() == handover_kind::at_once));
}

BOOST_AUTO_TEST_CASE(a_tenure_has_an_end)
{
    auto s = plain();
    s.since = start - 10ms;
    BOOST_TEST((s.decide() == handover_kind::released));
    s.since = start - 10ms + 1ns;
    BOOST_TEST((s.decide() == handover_kind::at_once));
    s.max_tenure = 0ms;
    BOOST_TEST((s.decide() == handover_kind::released));
}

BOOST_AUTO_TEST_CASE(whatever_is_not_as_it_was_needs_a_script)
{
    for (auto const disturb : std::vector<void (*)(handover&)>{
             [](handover& s) { s.is_alike = false; },
             [](handover& s) { s.is_undisturbed = false; },
             [](handover& s) { s.has_token = false; },
             [](handover& s) { s.valid_until = start + 14s; },
             [](handover& s) { s.valid_until = start - 1s; }}) {
        auto s = plain();
        disturb(s);
        BOOST_TEST((s.decide() == handover_kind::by_script));
        s.is_quiet = false;
        BOOST_TEST((s.decide() == handover_kind::released));
    }
}

BOOST_AUTO_TEST_CASE(a_step_under_way_does_not_matter_where_none_is_sent)
{
    auto s = plain();
    s.is_quiet = false;
    BOOST_TEST((s.decide() == handover_kind::at_once));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Tokens ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_token_block)

/// Takes all that there are.
void use_up(token_block& tokens)
{
    while (!tokens.empty())
        tokens.take();
}

BOOST_AUTO_TEST_CASE(one_where_nobody_follows)
{
    token_block tokens;
    BOOST_TEST(tokens.empty());
    BOOST_TEST(tokens.to_ask(0) == 1U);
    tokens.put(7, 1);
    BOOST_TEST(!tokens.empty());
    BOOST_TEST(tokens.take() == 7U);
    BOOST_TEST(tokens.empty());
}

BOOST_AUTO_TEST_CASE(the_first_block_is_for_those_who_wait)
{
    token_block tokens;
    BOOST_TEST(tokens.to_ask(2) == 3U);
    BOOST_TEST(tokens.to_ask(500) == 64U);
    tokens.put(163, 64);
    for (std::uint64_t expected = 100; expected != 164; ++expected)
        BOOST_TEST(tokens.take() == expected);
    BOOST_TEST(tokens.empty());
}

BOOST_AUTO_TEST_CASE(there_are_none_below_one)
{
    token_block tokens;
    tokens.put(3, 64);
    BOOST_TEST(tokens.take() == 1U);
    tokens.take();
    tokens.take();
    BOOST_TEST(tokens.empty());
}

BOOST_AUTO_TEST_CASE(what_does_not_suffice_is_followed_by_half_as_much)
{
    token_block tokens;
    std::uint64_t counter = 0;
    for (std::uint64_t const size : {64, 32, 48, 72, 108, 162}) {
        auto const ask = tokens.to_ask(64);
        BOOST_TEST(ask == size);
        tokens.put(counter += ask, ask);
        use_up(tokens);
    }
    BOOST_TEST(tokens.to_ask(0) == 1U);
    tokens.put(++counter, 1);  // nobody follows for once: that says nothing
    tokens.take();
    BOOST_TEST(tokens.to_ask(64) == 243U);
    tokens.put(counter += 20'000, 20'000);
    use_up(tokens);
    BOOST_TEST(tokens.to_ask(64) == token_block::largest);
}

BOOST_AUTO_TEST_CASE(the_next_block_is_as_long_as_what_was_used)
{
    token_block tokens;
    std::uint64_t counter = 1'000;
    auto const draw = [&] {
        auto const ask = tokens.to_ask(64);
        tokens.put(counter += ask, ask);
        return ask;
    };
    BOOST_TEST(draw() == 64U);
    for (int i = 0; i != 5; ++i)
        tokens.take();
    tokens.drop_rest();
    BOOST_TEST(draw() == 5U);
    use_up(tokens);
    BOOST_TEST(draw() == 2U);
    tokens.take();
    tokens.drop_rest();
    BOOST_TEST(draw() == 6U);
    tokens.take();
    tokens.drop_rest();
    BOOST_TEST(draw() == token_block::smallest);
}

BOOST_AUTO_TEST_CASE(what_is_left_is_kept_while_nobody_else_draws)
{
    token_block tokens;
    tokens.put(1'010, 10);
    BOOST_TEST(tokens.take() == 1'001U);
    tokens.put(1'011, 1);
    BOOST_TEST(tokens.take() == 1'002U);
    tokens.put(1'013, 1);  // somebody has 1'012
    BOOST_TEST(tokens.take() == 1'013U);
    BOOST_TEST(tokens.empty());
}

BOOST_AUTO_TEST_CASE(a_block_of_one_is_followed_by_as_many_as_were_wanted)
{
    token_block tokens;
    tokens.put(1'000, 64);
    use_up(tokens);
    BOOST_TEST(tokens.to_ask(64) == 32U);
    tokens.put(1'001, 1);  // the counter is ahead of the clock
    BOOST_TEST(tokens.take() == 1'001U);
    BOOST_TEST(tokens.empty());
    BOOST_TEST(tokens.to_ask(64) == 32U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
