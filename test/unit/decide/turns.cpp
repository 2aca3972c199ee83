// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Who is next: hand-over inside a client, and turns between clients.
#include "decide/handover.hpp"
#include "decide/token_block.hpp"
#include "decide/turns.hpp"

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
using decide::turns;
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

// ---- Turns -----------------------------------------------------------------------------------

constexpr auto round_trip = 100us;
constexpr auto step = 250us;
constexpr auto never = time_point::max();

time_point heard(turns& t, time_point now, double dice = 0.5)
{
    return t.heard(now, never, {round_trip, round_trip}, dice);
}

BOOST_AUTO_TEST_SUITE(decide_turns)

BOOST_AUTO_TEST_CASE(alone_nobody_stands_back)
{
    turns t{10ms, 9s};
    t.released(start, 0, round_trip);
    BOOST_TEST((t.back_until() <= start));
}

BOOST_AUTO_TEST_CASE(who_has_released_stands_back_for_the_others)
{
    turns t{10ms, 9s};
    t.released(start, 1, round_trip);
    BOOST_TEST((t.back_until() == start + step));
    t.refused();
    t.released(start, 7, round_trip);
    BOOST_TEST((t.back_until() == start + 7 * step));
}

BOOST_AUTO_TEST_CASE(longer_while_nobody_comes_and_never_longer_than_a_tenure)
{
    turns t{10ms, 9s};
    for (auto const expected : {step, 2 * step, 4 * step, 8 * step, 16 * step, 32 * step}) {
        t.released(start, 1, round_trip);
        BOOST_TEST((t.back_until() == start + expected));
    }
    t.released(start, 1, round_trip);
    BOOST_TEST((t.back_until() == start + 10ms));
    t.refused();  // somebody came
    t.released(start, 1, round_trip);
    BOOST_TEST((t.back_until() == start + step));
    t.released(start, 1, round_trip);
    heard(t, start);  // and here as well
    BOOST_TEST((t.back_until() < start));
    t.released(start, 1, round_trip);
    BOOST_TEST((t.back_until() == start + step));
}

BOOST_AUTO_TEST_CASE(where_even_the_longest_was_in_vain_it_is_tried_now_and_then)
{
    turns t{10ms, 9s};
    auto now = start;
    for (int in_vain = 0; in_vain != 7; ++in_vain)
        t.released(now, 1, round_trip);
    BOOST_TEST((t.back_until() == now + 10ms));
    t.released(now += 49ms, 1, round_trip);
    BOOST_TEST((t.back_until() == now));
    t.released(now += 1ms, 1, round_trip);
    BOOST_TEST((t.back_until() == now + 10ms));
    t.released(now += 1ms, 2, round_trip);  // one more: he may want it
    BOOST_TEST((t.back_until() == now + 2 * step));
    for (int in_vain = 0; in_vain != 7; ++in_vain)
        t.released(now, 2, round_trip);
    t.refused();  // somebody has come
    t.released(now += 1ms, 2, round_trip);
    BOOST_TEST((t.back_until() == now + 2 * step));
}

BOOST_AUTO_TEST_CASE(who_has_waited_longest_asks_first)
{
    turns t{10ms, 9s};
    t.released(start, 7, round_trip);
    for (int ahead = 6; ahead != 0; --ahead)
        BOOST_TEST((heard(t, start) == start + ahead * step));
    BOOST_TEST((heard(t, start) == start));
    BOOST_TEST((heard(t, start) == start));
    t.begin_wait();
    BOOST_TEST((heard(t, start) == start + 6 * step));
}

BOOST_AUTO_TEST_CASE(one_other_needs_no_order)
{
    for (auto const others : {0U, 1U}) {
        turns t{10ms, 9s};
        t.released(start, others, round_trip);
        BOOST_TEST((heard(t, start) == start));
    }
}

BOOST_AUTO_TEST_CASE(no_delay_is_longer_than_a_tenure)
{
    turns t{10ms, 9s};
    t.released(start, 90, round_trip);
    BOOST_TEST((t.back_until() == start + 10ms));
    BOOST_TEST((heard(t, start) > start + 10ms));  // unless so many would ask at that moment
    t.released(start, 45, round_trip);
    BOOST_TEST((heard(t, start) == start + 10ms));
}

// The last of them asks after all that the server has to tell, however long that takes.
BOOST_AUTO_TEST_CASE(in_a_crowd_the_order_is_kept)
{
    turns t{10ms, 9s};
    t.released(start, 1'001, round_trip);
    BOOST_TEST((t.back_until() == start + 10ms));
    auto before = heard(t, start);
    BOOST_TEST((before == start + 1'000 * decide::crowd{9s}.pace(1'001, round_trip)));
    for (int lost = 1; lost != 1'001; ++lost) {
        auto const next = heard(t, start);
        BOOST_TEST_REQUIRE((next < before || before <= start + 10ms));
        before = next;
    }
    BOOST_TEST((before == start));
}

BOOST_AUTO_TEST_CASE(a_client_that_has_not_released_draws_its_place)
{
    turns t{10ms, 9s};
    BOOST_TEST((heard(t, start, 0.999) == start));
    t.counted(101);
    t.begin_wait();
    BOOST_TEST((heard(t, start, 0) == start));
    BOOST_TEST((heard(t, start, 0.999) > start + 98 * decide::crowd{9s}.pace(100, round_trip)));
}

// Most of those that wait came after the release, so its order says nothing.
BOOST_AUTO_TEST_CASE(a_crowd_that_has_come_since_has_no_order)
{
    turns t{10ms, 9s};
    t.released(start, 7, round_trip);
    t.counted(15);
    BOOST_TEST((heard(t, start, 0) == start + 6 * step));
    t.released(start, 7, round_trip);
    t.counted(17);
    BOOST_TEST((heard(t, start, 0) == start));
}

BOOST_AUTO_TEST_CASE(a_long_delay_ends_before_the_wait_does)
{
    turns t{10ms, 9s};
    t.counted(1'001);
    auto const at = t.heard(start, start + 20ms, {round_trip, round_trip}, 0.5);
    BOOST_TEST((at == start + 9'500us));
    t.released(start, 2, round_trip);  // a short one doesn't matter: see `sleep_until`
    BOOST_TEST((t.heard(start, start + 100us, {round_trip, round_trip}, 0.5) == start + step));
}

// Clients that hold for two round trips and then want the lock again. The server tells them in a
// fixed order; whoever asks first has it, and who asks in vain has cost a command.
struct simulation {
    struct client {
        turns order{10ms, 9s};
        std::optional<time_point> asks;
        int had = 0;
        time_point since = start;
        std::chrono::steady_clock::duration longest{};
    };

    explicit simulation(std::size_t n) : clients(n)
    {
        for (auto& c : clients)
            c.asks = now;
    }

    void run(int rounds)
    {
        for (int round = 0; round != rounds; ++round) {
            auto const first = std::ranges::min_element(clients, {}, [](client const& c) {
                return c.asks.value_or(time_point::max());
            });
            now = std::max(now, first->asks.value());
            auto const free_again = now + 2 * round_trip;
            for (auto& c : clients)
                if (&c != &*first && c.asks && *c.asks < free_again) {
                    ++asked_in_vain;
                    c.order.refused();
                    c.asks.reset();
                }
            ++first->had;
            first->longest = std::max(first->longest, now - first->since);
            now = free_again;
            first->since = now;
            first->order.released(now, static_cast<unsigned>(clients.size() - 1), round_trip);
            first->asks = first->order.back_until();
            for (auto& c : clients)
                if (&c != &*first)
                    c.asks = heard(c.order, now + round_trip / 2);
        }
    }

    std::vector<client> clients;
    time_point now = start;
    int asked_in_vain = 0;
};

BOOST_AUTO_TEST_CASE(all_have_their_turn)
{
    for (std::size_t const n : {2U, 3U, 4U, 8U, 16U}) {
        simulation s{n};
        s.run(10'000);
        auto const [least, most] =
            std::ranges::minmax(s.clients, {}, [](auto const& c) { return c.had; });
        BOOST_TEST_INFO_SCOPE(n << " clients, from " << least.had << " to " << most.had);
        BOOST_TEST(most.had <= 2 * least.had);
        BOOST_TEST(s.asked_in_vain <= 2'000);
    }
}

BOOST_AUTO_TEST_CASE(the_told_client_asks_at_once_if_nobody_else_listens)
{
    turns t{10ms, 9s};
    BOOST_TEST((t.told(start, 0, round_trip) == start));
    BOOST_TEST((t.told(start, 0, round_trip) == start));
}

BOOST_AUTO_TEST_CASE(the_told_client_lets_listeners_ask_first_now_and_then)
{
    turns t{10ms, 9s};
    auto const later = [&](time_point now) { return t.told(now, 1, round_trip) > now; };
    BOOST_TEST(!later(start));
    BOOST_TEST(!later(start + 999ms));
    BOOST_TEST(later(start + 1s));
    t.passed_over();  // one of them has got the lock
    BOOST_TEST(later(start + 1001ms));
    BOOST_TEST(!later(start + 1002ms));
    BOOST_TEST(later(start + 1003ms));
    BOOST_TEST(!later(start + 1006ms));
    BOOST_TEST(later(start + 1007ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
