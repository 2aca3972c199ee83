// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Leader election, and the double leaders of Curator's LeaderLatch, replayed.
#include "unit/api/running.hpp"
#include <colock/election.hpp>

#include <deque>
#include <vector>

namespace colock::test {

namespace {

/// A candidate: a client of its own at the server that all share.
struct candidate : harness {
    candidate(script_server& redis, std::string words) : says{std::move(words)}
    {
        redis.attach(*server);
    }
    election office() const { return {client, "k"}; }

    std::string const says;
};

/// Two candidates, and the count of those that lead, as they see it themselves.
struct campaigns {
    campaigns() : a{redis, "a"}, b{redis, "b"} {}

    asio::awaitable<void> term(candidate& who, leadership& mine)
    {
        struct in_office {
            explicit in_office(campaigns& c) : at{c} { BOOST_TEST(++at.leaders == 1); }
            ~in_office() { --at.leaders; }
            campaigns& at;
        } const counted{*this};
        terms += who.says;
        tokens.push_back(mine.fencing_token());
        while (!resigns)
            co_await rest(10ms);
    }

    running stand(candidate& who)
    {
        return {who, [this, &who] {
                    return who.office().stand(who.says, [this, &who](leadership& mine) {
                        return term(who, mine);
                    });
                }};
    }

    /// Lets both run for so long.
    void pass(milliseconds time)
    {
        for (auto left = time; left > 0ms; left -= 10ms) {
            a.time.advance(5ms);
            b.time.advance(5ms);
        }
    }

    std::optional<leader> seen_by(candidate& who)
    {
        auto p = who.office().current(who.settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    }

    script_server redis;
    candidate a, b;
    int leaders = 0;
    bool resigns = false;
    std::string terms;  ///< who has led, in order
    std::vector<std::uint64_t> tokens;
};

BOOST_FIXTURE_TEST_SUITE(api_election, campaigns)

BOOST_AUTO_TEST_CASE(one_leads_and_everybody_sees_it)
{
    BOOST_TEST(!seen_by(b).has_value());
    auto const first = stand(a), second = stand(b);
    pass(3s);
    BOOST_TEST(terms == "a");
    auto const seen = seen_by(b);
    BOOST_TEST_REQUIRE(seen.has_value());
    BOOST_TEST(seen->words == "a");
    BOOST_TEST(seen->token == tokens.front());
    resigns = true;
    pass(3s);
    BOOST_TEST((first.succeeded() && second.succeeded()));
    BOOST_TEST(terms == "ab");
    BOOST_TEST(!seen_by(a).has_value());
}

BOOST_AUTO_TEST_CASE(who_has_the_lock_and_says_nothing_leads_without_words)
{
    redis.occupy("k", 1h);
    auto const seen = seen_by(a);
    BOOST_TEST_REQUIRE(seen.has_value());
    BOOST_TEST((*seen == leader{}));
}

BOOST_AUTO_TEST_CASE(a_leader_resigns_by_hand_and_says_something_else)
{
    leadership mine;
    running const campaign{
        a, [&]() -> asio::awaitable<void> { mine = co_await a.office().campaign("first words"); }};
    BOOST_TEST_REQUIRE(campaign.succeeded());
    BOOST_TEST(seen_by(b)->words == "first words");
    pending<> late;
    auto said = mine.publish("other words", a.settled());
    BOOST_TEST(said.succeeded());
    BOOST_TEST(seen_by(b)->words == "other words");
    auto resigned = mine.resign(a.settled());
    BOOST_TEST(resigned.succeeded());
    BOOST_TEST(!seen_by(b).has_value());
    mine.publish("too late", late.token());
    a.time.settle();
    BOOST_TEST((late.ec() == error::lost));
    pending<> empty;
    leadership{}.publish("nobody", empty.token());
    a.context.poll();
}

// A lock that is handed over keeps its field, under which the words are.
BOOST_AUTO_TEST_CASE(the_lock_of_a_leader_is_not_handed_over)
{
    leadership first;
    running const one{
        a, [&]() -> asio::awaitable<void> { first = co_await a.office().campaign("first"); }};
    BOOST_TEST_REQUIRE(one.succeeded());
    auto const next = a.acquire();
    auto resigned = first.resign(a.settled());
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST((seen_by(b) == leader{}));
}

BOOST_AUTO_TEST_CASE(nor_is_it_by_a_hold_of_the_same_owner)
{
    owner const me;
    election const office{a.client, "k", {.as = me}};
    leadership first;
    running const one{
        a, [&]() -> asio::awaitable<void> { first = co_await office.campaign("first"); }};
    auto again = a.acquire({.as = me});
    auto const next = a.acquire();
    auto resigned = first.resign(a.settled());
    BOOST_TEST(a.release(again.value()).succeeded());
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST((seen_by(b) == leader{}));
}

BOOST_AUTO_TEST_CASE(nor_do_two_candidates_of_one_owner_lead)
{
    election const office{a.client, "k", {.as = owner{}}};
    leadership first, second, third;
    auto const stands = [&](leadership& as, std::string words) {
        return running{
            a, [&, words]() -> asio::awaitable<void> { as = co_await office.campaign(words); }};
    };
    auto const one = stands(first, "first"), two = stands(second, "second");
    pass(10ms);
    auto const three = stands(third, "third");
    pass(10ms);
    BOOST_TEST(one.succeeded());
    BOOST_TEST((two.ended() && !second));
    BOOST_TEST((three.ended() && !third));
    BOOST_TEST(seen_by(b)->words == "first");
}

BOOST_AUTO_TEST_CASE(a_former_leader_does_not_speak_for_its_successor_in_the_same_client)
{
    leadership first, second;
    auto const campaign = [&](leadership& mine, std::string words) {
        return running{a, [&mine, this, words]() -> asio::awaitable<void> {
                           mine = co_await a.office().campaign(words);
                       }};
    };
    auto const one = campaign(first, "first"), two = campaign(second, "second");
    BOOST_TEST_REQUIRE(one.succeeded());
    auto& slow = a.server->expect(scripts::leader_publish);
    pending<> late;
    auto under_way = first.publish("slow", a.settled());
    auto resigned = first.resign(a.settled());
    BOOST_TEST_REQUIRE(two.succeeded());
    slow.reply(redis.run(slow.seen()));  // the server runs it now
    auto const sent = a.server->count(scripts::leader_publish);
    first.publish("late", late.token());
    a.time.settle();
    BOOST_TEST(a.server->count(scripts::leader_publish) == sent);
    BOOST_TEST((under_way.ec() == error::lost));
    BOOST_TEST((late.ec() == error::lost));
    BOOST_TEST(seen_by(b)->words == "second");
}

BOOST_AUTO_TEST_CASE(the_words_of_a_former_leader_are_not_those_of_the_next)
{
    leadership former;
    running const campaign{
        a, [&]() -> asio::awaitable<void> { former = co_await a.office().campaign("former"); }};
    redis.occupy("k", 1h);  // somebody has taken it away
    BOOST_TEST(seen_by(b)->words.empty());
    pending<> late;
    former.publish("still me", late.token());
    a.time.settle();
    BOOST_TEST((late.ec() == error::lost));
    BOOST_TEST(seen_by(b)->words.empty());
}

BOOST_AUTO_TEST_CASE(an_observer_waits_for_a_server_that_is_away_at_its_start)
{
    b.server->all_down();
    std::deque<std::string> heard;
    running observer{b, [&] {
                         return b.office().observe([&](std::optional<leader> const& now) {
                             heard.push_back(now ? now->words : "nobody");
                         });
                     }};
    pass(5s);
    BOOST_TEST((heard.empty() && !observer.ended()));
    b.server->all_up();
    pass(2s);
    BOOST_TEST((heard == std::deque<std::string>{"nobody"}));
    observer.cancel();
    b.time.settle();
}

BOOST_AUTO_TEST_CASE(observers_hear_of_each_change)
{
    std::deque<std::string> heard;
    running observer{b, [&] {
                         return b.office().observe([&](std::optional<leader> const& now) {
                             heard.push_back(now ? now->words : "nobody");
                         });
                     }};
    auto const first = stand(a);
    pass(2s);
    resigns = true;
    pass(2s);
    BOOST_TEST((heard == std::deque<std::string>{"nobody", "a", "nobody"}));
    b.server->all_down();
    pass(5s);
    b.server->all_up();
    resigns = false;
    auto const again = stand(a);
    pass(5s);
    BOOST_TEST(heard.back() == "a");
    BOOST_TEST(!observer.ended());
    observer.cancel();
    b.time.settle();
    BOOST_TEST((observer.thrown() == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_candidate_that_is_cancelled_leaves_nothing)
{
    auto first = stand(a), second = stand(b);
    pass(1s);
    second.cancel();
    first.cancel();
    pass(1s);
    BOOST_TEST((first.ended() && second.ended()));
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(leaders == 0);
}

BOOST_AUTO_TEST_CASE(a_term_ends_with_the_exception_of_its_work)
{
    running const failing{
        a, [this] {
            return a.office().stand("a", [](leadership&) -> asio::awaitable<void> {
                co_await rest(1ms);
                throw std::runtime_error{"no"};
            });
        }};
    pass(20ms);
    BOOST_TEST(failing.said() == "no");
    BOOST_TEST(!redis.is_locked("k"));
    running const named{a, [this]() -> asio::awaitable<void> {
                            a.server->expect(scripts::acquire).fail(error::wrong_type);
                            (void)co_await a.office().campaign("a");
                        }};
    BOOST_TEST(named.said().find("acquire k at ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(work_that_is_done_is_not_done_again_after_a_loss_that_the_release_finds)
{
    int runs = 0;
    running const standing{
        a, [&] {
            return a.office().stand("a", [&](leadership&) -> asio::awaitable<void> {
                ++runs;
                redis.clear();
                co_return;
            });
        }};
    pass(20ms);
    BOOST_TEST(standing.succeeded());
    BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(one_term_gives_its_result)
{
    int got = 0;
    auto const work = [](leadership&) -> asio::awaitable<int> { co_return 7; };
    running const term_of_a{
        a, [&]() -> asio::awaitable<void> { got = co_await a.office().lead("a", work); }};
    pass(10ms);
    BOOST_TEST(term_of_a.succeeded());
    BOOST_TEST(got == 7);
}

// ---- Curator's double leaders -------------------------------------------------------------------
//
// There, connection events change who leads. Here they change nothing: a field in Redis that was
// confirmed in time is all that makes a leader, and its end by the own clock all that ends one.

// curator#1137: two reconnects in a row, and the first one's clean-up removed the node of the
// second: it went on leading without a node.
BOOST_AUTO_TEST_CASE(curator_1137_reconnects_while_the_grant_is_under_way)
{
    auto& asked = a.server->expect(scripts::acquire);
    auto const first = stand(a);
    BOOST_TEST_REQUIRE(asked.has_come());
    asked.lose();
    a.server->all_down();
    pass(10ms);
    a.server->all_up();
    pass(10ms);
    a.server->all_down();
    pass(10ms);
    a.server->all_up();
    pass(100ms);
    BOOST_TEST(terms == "a");
    BOOST_TEST(redis.fields("k").size() == 1U);
    auto const second = stand(b);
    pass(10s);
    BOOST_TEST(terms == "a");
    BOOST_TEST(redis.is_locked("k"));
}

// curator#1168: the servers chose a new leader of their own, and of two clients that came back each
// found itself first.
BOOST_AUTO_TEST_CASE(curator_1168_the_server_comes_back_empty_and_both_reconnect)
{
    auto const first = stand(a), second = stand(b);
    pass(1s);
    a.server->all_down();
    b.server->all_down();
    redis.clear();
    pass(100ms);
    b.server->all_up();
    a.server->all_up();
    pass(10s);
    BOOST_TEST(leaders == 1);
    BOOST_TEST(terms.size() == 2U);
    BOOST_TEST(redis.fields("k").size() == 1U);
    BOOST_TEST(seen_by(a)->words == terms.substr(1));
}

// curator#1169: the same, and the one that had not led came back first and led before the old
// leader had removed its node.
BOOST_AUTO_TEST_CASE(curator_1169_who_has_not_led_comes_back_first)
{
    auto const first = stand(a), second = stand(b);
    pass(1s);
    a.server->all_down();
    b.server->all_down();
    pass(1s);
    b.server->all_up();
    pass(500ms);
    BOOST_TEST(terms == "a");  // its lease still runs
    pass(4s);
    BOOST_TEST(terms == "ab");
    BOOST_TEST(leaders == 1);
    a.server->all_up();
    pass(10s);
    BOOST_TEST(terms == "ab");
    BOOST_TEST(tokens.back() > tokens.front());
}

// curator#1211: the server was away until the session had ended. The old leader came back, took its
// old node for its leadership, and did not notice that it was deleted then.
BOOST_AUTO_TEST_CASE(curator_1211_the_server_is_away_for_longer_than_the_lease)
{
    auto const first = stand(a);
    pass(1s);
    a.server->all_down();
    pass(2'750ms);
    BOOST_TEST(leaders == 0);  // told by its own clock
    pass(5s);
    auto const second = stand(b);
    pass(100ms);
    BOOST_TEST(terms == "ab");
    a.server->all_up();
    pass(10s);
    BOOST_TEST(terms == "ab");
    BOOST_TEST(leaders == 1);
    BOOST_TEST(seen_by(a)->words == "b");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
