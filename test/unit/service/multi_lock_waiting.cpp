// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A multi lock that has some of its locks in hand, and waits for the others.
#include "unit/service/group.hpp"
#include <colock/read_write_lock.hpp>

#include <boost/asio/detached.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_multi_lock_waiting, served)

BOOST_AUTO_TEST_CASE(what_is_in_hand_outlives_the_wait_for_the_rest)
{
    redis.occupy("b", 1'500ms);
    auto waiting = take(both(), {.lease = 1s});
    time.advance(1'400ms);
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST(!waiting.is_done());
    time.advance(110ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST_REQUIRE(waiting.value().valid_for(900ms));
    BOOST_TEST((redis.lease_left("a") <= 1s));
    time.advance(1s);
    BOOST_TEST(!waiting.value());  // from then on it isn't renewed
    BOOST_TEST(!is_any_locked());
}

// One call renews all that is in hand. The lease that was asked for comes when all are there.
BOOST_AUTO_TEST_CASE(what_one_call_has_renewed_gets_its_lease_when_all_are_there)
{
    std::vector<std::string> names;
    for (char last = 'a'; names.size() != 3; ++last)
        if (auto name = std::string{"key"} + last; server->link_of(decide::slot_of(name)) == link())
            names.push_back(name);
    redis.occupy(names[2], 3'200ms);
    auto waiting =
        take(multi_lock{mutex(names[0]), mutex(names[1]), mutex(names[2])}, {.lease = 1s});
    auto const given_back = server->count(scripts::release);
    server->link_down(link());
    server->link_up(link());
    time.advance(3'300ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(waiting.value().valid_for(800ms));
    BOOST_TEST(events->count("lost") == 0);
    BOOST_TEST(server->count(scripts::release) == given_back);
}

// Both answers come in one turn. Without the first part it does not help to wait for the third.
BOOST_AUTO_TEST_CASE(a_part_that_is_gone_when_the_next_is_granted_ends_the_round)
{
    redis.occupy("b", 1h);
    redis.occupy("c", 1h);
    auto const waiting = take(multi_lock{mutex("a"), mutex("b"), mutex("c")});
    redis.ask({"DEL", "a"});
    auto& renewal = server->expect(scripts::renew);
    BOOST_TEST_REQUIRE(time.advance_until([&] { return renewal.has_come(); }, 1'001ms));
    auto& grant = server->expect(scripts::acquire);
    redis.free("b");
    BOOST_TEST_REQUIRE(time.advance_until([&] { return grant.has_come(); }, 1'001ms));
    renewal.reply(redis.run(renewal.seen()));
    grant.reply(redis.run(grant.seen()));
    time.advance(200ms);
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST(redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(what_goes_meanwhile_is_taken_again)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    force("a");
    BOOST_TEST(!redis.is_locked("a"));
    time.advance(160ms);
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST(!waiting.is_done());
    redis.free("b");
    time.advance(20ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(bool{waiting.value()});
    BOOST_TEST(waiting.value().fencing_token(1) != 0U);
}

BOOST_AUTO_TEST_CASE(named_twice_and_gone_in_between_it_is_taken_again)
{
    auto& first = server->expect(scripts::acquire);
    auto& again = server->expect(scripts::extend);
    auto waiting = take(multi_lock{mutex("a"), mutex("a")});
    BOOST_TEST_REQUIRE(first.has_come());
    respond(first, redis.run(first.seen()));
    BOOST_TEST_REQUIRE(again.has_come());
    redis.ask({"DEL", "a"});
    again.reply(redis.run(again.seen()));
    time.advance(200ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(bool{waiting.value()});
}

BOOST_AUTO_TEST_CASE(gone_before_the_leases_are_set_it_is_taken_again)
{
    redis.occupy("b", 600ms);
    auto waiting = take(both(), {.lease = 1s});
    time.advance(590ms);
    redis.ask({"DEL", "a"});
    time.advance(200ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(waiting.value().valid_for(800ms));
    BOOST_TEST(redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(cancelled_while_the_leases_are_set)
{
    redis.occupy("b", 100ms);
    auto const others = server->serve;
    server->serve = [others](call const& c) {
        return c.what == &scripts::extend ? std::nullopt : others(c);
    };
    auto waiting = take(both(), {.lease = 1s});
    time.advance(110ms);
    BOOST_TEST(server->count(scripts::extend) == 2U);
    BOOST_TEST(!waiting.is_done());
    cancel(waiting);
    BOOST_TEST(waiting.aborted());
    server->all_down();
    server->all_up();
    time.advance(100ms);
    BOOST_TEST(!is_any_locked());
}

BOOST_AUTO_TEST_CASE(stopped_with_some_in_hand)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    stop();
    BOOST_TEST((waiting.ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_takes_along_what_is_in_hand)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST(!waiting.is_done());
}

BOOST_AUTO_TEST_CASE(a_part_whose_client_closes_ends_the_wait)
{
    elsewhere other{*this};
    redis.occupy("b", 5s);
    auto waiting = take(multi_lock{other.mutex("a"), mutex("b")});
    BOOST_TEST(other.redis.is_locked("a"));
    other.client.close(asio::detached);
    time.settle();
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(client.stats().waiters == 0U);
}

// Wherever the close comes: before the last part is there, before the leases are set, or after it.
BOOST_AUTO_TEST_CASE(a_part_whose_client_closes_meanwhile_ends_the_wait)
{
    for (int turns = -20; turns != 20; ++turns) {
        served at;
        elsewhere other{at};
        at.redis.occupy("b", 1h);
        auto waiting = at.take(multi_lock{other.mutex("a"), at.mutex("b")}, {.lease = 1s});
        BOOST_TEST(other.redis.is_locked("a"));
        auto& grant = at.server->expect(scripts::acquire);
        at.redis.free("b");
        BOOST_TEST_REQUIRE(at.time.advance_until([&] { return grant.has_come(); }, 1'001ms));
        auto const answer = [&] { grant.reply(at.redis.run(grant.seen())); };
        auto const close = [&] { other.client.close(asio::detached); };
        turns < 0 ? close() : answer();
        for (int i = 0; i != std::abs(turns); ++i)
            at.context.poll_one();
        turns < 0 ? answer() : close();
        at.time.settle();
        BOOST_TEST(
            (waiting.succeeded() || waiting.ec() == error::closed),
            turns << " turns: " << waiting.ec().message()
        );
    }
}

BOOST_AUTO_TEST_CASE(closing_its_own_client_ends_a_wait_elsewhere)
{
    elsewhere other{*this};
    other.redis.occupy("a", 5s);
    auto waiting = take(multi_lock{mutex("z"), other.mutex("a")});
    time.advance(100ms);
    BOOST_TEST(!waiting.is_done());
    auto closed = client.close(settled());
    time.advance(5ms);
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_it_when_the_context_goes)
{
    auto at = std::make_unique<served>();
    auto p = at->take(at->both());
    BOOST_TEST_REQUIRE(p.succeeded());
    auto own = std::make_shared<group_hold>(std::move(p.value()));
    std::weak_ptr<group_hold> const seen = own;
    own->lost([own](error_code) {});
    at->time.settle();
    own.reset();
    at.reset();
    BOOST_TEST(seen.expired());
}

BOOST_AUTO_TEST_CASE(an_error_of_one_part_is_not_waited_with)
{
    redis.occupy("a", 5s);
    auto const others = server->serve;
    server->serve = [others](call const& c) -> std::optional<answer> {
        if (c.key() == "b")
            return answer{answer::kind::failed, {}, error::wrong_type, {}};
        return others(c);
    };
    BOOST_TEST((take(both()).ec() == error::wrong_type));
    BOOST_TEST(client.stats().waiters == 0U);
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_waited_for_no_longer_than_asked)
{
    never_answer();
    auto waiting = take_for(both(), 300ms);
    time.advance(299ms);
    BOOST_TEST(!waiting.is_done());
    time.advance(1ms);
    BOOST_TEST((waiting.ec() == error::unavailable));
}

BOOST_AUTO_TEST_CASE(one_that_is_silent_in_its_turn_is_waited_for_no_longer_than_asked)
{
    elsewhere other{*this};
    redis.occupy("a", 100ms);
    auto waiting = take_for(multi_lock{mutex("a"), other.mutex("b")}, 300ms);
    other.server->serve = [](call const&) { return std::nullopt; };
    time.advance(299ms);
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(redis.is_locked("a"));
    time.advance(1ms);
    BOOST_TEST(waiting.gave_nothing());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
