// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// A red lock's token, its parts that are healed, and servers that have just started.
#include "core/with_words.hpp"
#include "unit/service/group.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Three servers, of a client each.
struct three_servers : served {
    explicit three_servers(config settings = short_leases())
        : served{settings}
        , second{*this, settings}
        , third{*this, settings}
    {
        for (std::size_t i = 0; i != 3; ++i)
            server_of(i).way_to_draw = clock_tokens;
    }
    red_lock most() const { return red_lock{mutex("it"), second.mutex("it"), third.mutex("it")}; }
    script_server& server_of(std::size_t i)
    {
        return i == 0 ? redis : i == 1 ? second.redis : third.redis;
    }
    std::uint64_t counter(std::size_t i)
    {
        return std::stoull(server_of(i).ask({"GET", fence}).text);
    }
    std::uint64_t take_and_release()
    {
        auto held = take(most());
        time.advance(20ms);  // until the slowest clock is there
        BOOST_TEST_REQUIRE(held.succeeded());
        auto const token = held.value().fencing_token();
        BOOST_TEST(release(held.value()).succeeded());
        return token;
    }
    /// It has lost all that it had, and has been up since.
    void restart(std::size_t i)
    {
        server_of(i).ask({"FLUSHALL"});
        server_of(i).start_again();
    }

    static void answer_nothing_to(elsewhere& at, scripts::script const& which)
    {
        at.server->serve = [&at, &which](call const& c) -> std::optional<answer> {
            if (c.what == &which)
                return {};
            return answer{answer::kind::replied, at.redis.run(c), {}, {}};
        };
    }

    std::string const fence =
        detail::client_access::inside(client)->fence_counter(decide::slot_of("it"));
    elsewhere second, third;
};

struct three_servers_for_a_while : three_servers {
    three_servers_for_a_while() : three_servers{limited()} {}
    static config limited()
    {
        auto c = short_leases();
        c.max_hold = 7s;
        return c;
    }
};

BOOST_FIXTURE_TEST_SUITE(service_quorum, three_servers)

// ---- Tokens ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(it_has_a_token_and_most_servers_have_reached_it)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    auto const token = held.value().fencing_token();
    BOOST_TEST(token != 0U);
    BOOST_TEST((counter(0) >= token) + (counter(1) >= token) + (counter(2) >= token) >= 2);
}

BOOST_AUTO_TEST_CASE(tokens_rise_although_the_servers_clocks_differ)
{
    second.redis.ahead = 10ms;
    std::uint64_t last = 0;
    for (std::size_t away : {2U, 1U, 0U, 2U, 1U, 0U}) {
        server_of(away).occupy("it", 1s);  // each time another majority
        auto const token = take_and_release();
        BOOST_TEST(token > last);
        last = token;
        server_of(away).ask({"DEL", "it"});
    }
}

BOOST_AUTO_TEST_CASE(clocks_that_differ_by_more_than_the_limit_are_no_quorum)
{
    second.redis.ahead = 5s;
    third.redis.ahead = 10s;
    auto once = take_once(most());
    BOOST_TEST((once.ec() == error::no_quorum));
    BOOST_TEST(!redis.is_locked("it"));
}

BOOST_AUTO_TEST_CASE(tokens_rise_although_servers_restart_empty)
{
    auto last = take_and_release();
    for (std::size_t i : {0U, 1U, 2U}) {
        restart(i);
        time.advance(10s);  // it votes again
        auto const token = take_and_release();
        BOOST_TEST(token > last);
        last = token;
    }
}

BOOST_AUTO_TEST_CASE(a_server_whose_clock_is_behind_is_waited_for)
{
    second.redis.ahead = 20ms;
    third.redis.ahead = 20ms;
    auto held = take(most());
    BOOST_TEST(held.succeeded());
    auto const token = held.value().fencing_token();
    BOOST_TEST(release(held.value()).succeeded());
    third.redis.occupy("it", 1s);
    auto again = take(most());
    BOOST_TEST(!again.is_done());  // the first server's clock is behind the token
    time.advance(25ms);
    BOOST_TEST_REQUIRE(again.succeeded());
    BOOST_TEST(again.value().fencing_token() > token);
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_for_a_clock_asks_no_more)
{
    second.redis.ahead = 20ms;
    third.redis.ahead = 20ms;
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    release(held.value());
    third.redis.occupy("it", 1s);
    auto again = take(most());
    auto const raises = [this] { return server->count(scripts::raise); };
    auto const before = raises();
    again.cancel();
    time.settle();
    BOOST_TEST(again.is_done());
    BOOST_TEST(raises() == before);
    BOOST_TEST(!redis.is_locked("it"));
}

BOOST_AUTO_TEST_CASE(who_enters_again_has_the_same_token)
{
    owner const me;
    auto outer = take(most(), {.as = me});
    BOOST_TEST_REQUIRE(outer.succeeded());
    auto inner = take(most(), {.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST(inner.value().fencing_token() == outer.value().fencing_token());
}

// Its counter has not reached the token, so a later hold there would have a lower one.
BOOST_AUTO_TEST_CASE(a_part_whose_clock_is_behind_is_entered_with_a_token_of_its_own)
{
    second.redis.ahead = 20ms;
    third.redis.ahead = 20ms;
    owner const me;
    auto whole = take(most(), {.as = me});
    BOOST_TEST_REQUIRE(whole.succeeded());
    auto inner = take(mutex("it"), {.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    auto const token = inner.value().fencing_token();
    release(inner.value());
    release(whole.value());
    auto next = take(mutex("it"));
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(next.value().fencing_token() > token);
}

// ---- Who decides -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_part_without_a_vote_does_not_decide_an_extension)
{
    restart(2);
    auto held = take(most(), {.lease = 2s});
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(third.redis.is_locked("it"));
    answer_nothing_to(second, scripts::extend);
    auto const extended = extend(held.value(), 4s);
    time.advance(1s);
    BOOST_TEST(!extended.is_done());
}

BOOST_AUTO_TEST_CASE(a_part_that_was_lost_does_not_decide_a_release)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    third.redis.ask({"DEL", "it"});
    third.redis.occupy("it", 60s);
    time.advance(1'100ms);
    BOOST_TEST(bool{held.value()});
    answer_nothing_to(second, scripts::release);
    auto const released = release(held.value());
    BOOST_TEST(!released.is_done());
    time.advance(3s);
    BOOST_TEST((released.ec() == error::unavailable));
}

// ---- Healing -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lost_part_is_taken_again)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    redis.ask({"DEL", "it"});
    time.advance(1'100ms);  // a renewal finds it gone
    BOOST_TEST(redis.is_locked("it"));
    BOOST_TEST(counter(0) >= held.value().fencing_token());
    second.redis.ask({"DEL", "it"});
    time.advance(1'100ms);
    third.redis.ask({"DEL", "it"});
    time.advance(1'100ms);
    BOOST_TEST(bool{held.value()});
    BOOST_TEST(release(held.value()).succeeded());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(!server_of(i).is_locked("it"));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_gone_when_it_is_granted_does_not_count)
{
    third.redis.ahead = 10ms;  // so it has drawn more than the token
    third.server->serve = [this](call const& c) -> std::optional<answer> {
        if (c.what == &scripts::renew)
            return {};
        if (c.what == &scripts::raise)
            third.redis.ask({"DEL", "it"});
        return answer{answer::kind::replied, third.redis.run(c), {}, {}};
    };
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    second.redis.ask({"DEL", "it"});
    second.redis.occupy("it", 60s);
    time.advance(1'100ms);  // its renewal finds that; the third server does not answer one
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(a_part_that_is_gone_when_it_is_granted_is_taken_at_once)
{
    third.redis.ahead = 10ms;  // so it has drawn more than the token
    third.server->serve = [this, deleted = false](call const& c) mutable -> std::optional<answer> {
        if (c.what == &scripts::raise && !std::exchange(deleted, true))
            third.redis.ask({"DEL", "it"});
        return answer{answer::kind::replied, third.redis.run(c), {}, {}};
    };
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    time.advance(50ms);
    BOOST_TEST(third.redis.is_locked("it"));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_lost_while_its_vote_is_asked_for_is_taken_again_at_once)
{
    restart(2);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    answer_nothing_to(third, scripts::raise);
    time.advance(1s);
    third.redis.ask({"DEL", "it"});
    time.advance(1s);  // its renewal finds that, while the healer waits for an answer
    BOOST_TEST(!third.redis.is_locked("it"));
    third.redis.attach(*third.server);
    auto const all = third.server->written();
    for (std::size_t i = 0; i != all.size(); ++i)
        if (all[i].what == &scripts::raise)
            third.server->answer_call(i, {answer::kind::replied, third.redis.run(all[i]), {}, {}});
    time.settle();
    BOOST_TEST(third.redis.is_locked("it"));
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_lost_part_does_not_keep_it_from_being_taken_again)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    third.server->serve = [this](call const& c) -> std::optional<answer> {
        auto reply = third.redis.run(c);
        if (c.what == &scripts::renew)
            return {};  // it is renewed at the server alone
        return answer{answer::kind::replied, std::move(reply), {}, {}};
    };
    auto const field = [this] { return third.redis.ask({"HKEYS", "it"}).items.at(0).text; };
    auto const before = field();
    time.advance(2'950ms);
    BOOST_TEST(third.redis.is_locked("it"));
    BOOST_TEST(field() != before);
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(a_part_that_somebody_else_had_is_taken_when_it_is_free)
{
    third.redis.occupy("it", 500ms);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    time.advance(1'100ms);
    BOOST_TEST(third.redis.is_locked("it"));
    redis.ask({"DEL", "it"});
    time.advance(500ms);
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(what_is_lost_is_not_healed)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    redis.ask({"DEL", "it"});
    second.redis.ask({"DEL", "it"});
    time.advance(1'100ms);
    BOOST_TEST(!held.value());
    time.advance(5s);
    BOOST_TEST(!redis.is_locked("it"));
}

BOOST_AUTO_TEST_CASE(what_others_have_forced_is_not_healed)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    for (std::size_t i : {1U, 2U})
        server_of(i).ask({"DEL", "it"});
    force("it");  // of this part alone the client hears
    time.settle();
    BOOST_TEST(!redis.is_locked("it"));
    BOOST_TEST(!held.value());
}

BOOST_FIXTURE_TEST_CASE(healing_ends_with_the_longest_hold, three_servers_for_a_while)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    for (std::size_t i : {1U, 2U}) {
        time.advance(2'500ms);
        server_of(i).ask({"DEL", "it"});
    }
    time.advance(1'500ms);
    for (std::size_t i : {1U, 2U})
        BOOST_TEST(server_of(i).is_locked("it"));  // a new part, which could be held for 7 s
    time.advance(4s);                              // until the last lease is over
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(a_healed_loss_does_not_make_a_loss_of_a_close)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    auto told = lost(held.value());
    redis.ask({"DEL", "it"});
    time.advance(1'100ms);
    BOOST_TEST(redis.is_locked("it"));
    for (auto* const other : {&second.client, &third.client})
        BOOST_TEST(other->close(settled()).succeeded());
    BOOST_TEST((told.ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(healing_waits_for_a_stopped_client)
{
    third.redis.occupy("it", 200ms);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    client.stop();
    time.advance(1'200ms);
    BOOST_TEST(!third.redis.is_locked("it"));
    auto again = client.run(settled());
    time.advance(1'200ms);
    BOOST_TEST(third.redis.is_locked("it"));
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_not_renewed_is_not_healed)
{
    third.redis.occupy("it", 100ms);
    auto held = take(most(), {.lease = 2s});
    BOOST_TEST_REQUIRE(held.succeeded());
    time.advance(1'500ms);
    BOOST_TEST(!third.redis.is_locked("it"));
}

// ---- Votes -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_server_that_has_just_started_does_not_help_to_give_it_out)
{
    restart(0);
    second.redis.occupy("it", 60s);
    auto waiting = take(most());
    time.advance(3s);
    BOOST_TEST(!waiting.is_done());
    time.advance(3s);  // the lease, what its clock may be wrong by, and the pause between tries
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(servers_that_have_all_just_started_are_no_quorum)
{
    for (std::size_t i = 0; i != 3; ++i)
        restart(i);
    auto once = take_once(most());
    BOOST_TEST((once.ec() == error::no_quorum));
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(!server_of(i).is_locked("it"));
    time.advance(5s);
    BOOST_TEST(take_once(most()).gave_something());
}

BOOST_AUTO_TEST_CASE(a_single_try_says_which_server_votes_next_and_when)
{
    for (std::size_t i = 0; i != 3; ++i)
        restart(i);
    std::string said;
    most().try_acquire(with_words(
        detail::client_access::inside(client)->strand(),
        [&](detail::failure const& why, if_acquired<group_hold>) { said = why.text(); }
    ));
    time.settle();
    BOOST_TEST(said.find("votes in 5 s") != said.npos, said);
    BOOST_TEST(said.find("vote_after") != said.npos, said);
}

// Another part's client may be one of a program whose locks have that lease.
BOOST_AUTO_TEST_CASE(a_server_votes_when_the_longest_lease_of_all_its_clients_is_over)
{
    elsewhere patient{*this, with_lease(10s)};
    patient.redis.way_to_draw = clock_tokens;
    red_lock const longest{mutex("it"), second.mutex("it"), patient.mutex("it")};
    restart(0);
    second.redis.occupy("it", 60s);
    auto waiting = take(longest);
    time.advance(6s);
    BOOST_TEST(!waiting.is_done());
    time.advance(8s);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(it_takes_part_without_a_vote)
{
    restart(0);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(redis.is_locked("it"));
    second.redis.ask({"DEL", "it"});
    second.redis.occupy("it", 60s);
    time.advance(1'100ms);
    BOOST_TEST(!held.value());  // the part at the first server does not count yet
}

BOOST_AUTO_TEST_CASE(its_part_counts_once_it_votes)
{
    restart(0);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    time.advance(5s);
    second.redis.ask({"DEL", "it"});
    second.redis.occupy("it", 60s);
    time.advance(1'100ms);
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(servers_may_restart_one_after_the_other)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    for (int round = 0; round != 2; ++round)
        for (std::size_t i = 0; i != 3; ++i) {
            restart(i);
            time.advance(6s);  // a lease, and the time until it is noticed
            BOOST_TEST_REQUIRE(bool{held.value()});
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
