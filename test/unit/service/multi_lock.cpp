// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/group.hpp"
#include <colock/read_write_lock.hpp>

#include <boost/asio/detached.hpp>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_multi_lock, served)

BOOST_AUTO_TEST_CASE(all_are_asked_in_one_turn)
{
    auto held = take(both());
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(server->count(scripts::acquire) == 2U);
    BOOST_TEST((server->written().at(0).sent == server->written().at(1).sent));
    BOOST_TEST(held.value().fencing_token(0) != 0U);
    BOOST_TEST(held.value().fencing_token(1) != 0U);
    BOOST_TEST((held.value().valid_until() == clock::now() + validity));
    BOOST_TEST(release(held.value()).succeeded());
    BOOST_TEST(!is_any_locked());
    BOOST_TEST(release(held.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(a_release_says_that_a_part_was_lost_whatever_became_of_the_others)
{
    auto held = take(both());
    BOOST_TEST_REQUIRE(held.succeeded());
    server->expect(scripts::release).fail(error::server_refused);
    server->expect(scripts::release).reply(gone());
    BOOST_TEST((release(held.value()).ec() == error::lost));
    redis.clear();
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_given_back_and_taken_in_order)
{
    redis.occupy("b", 5s);
    auto waiting = take(both());
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(redis.is_locked("a"));  // it is before b in order, so it stays
    BOOST_TEST(server->count(scripts::release) == 0U);
    redis.free("b");
    time.settle();
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(one_that_fails_has_given_back_what_it_took)
{
    redis.occupy("b", 5s);
    auto const serve = server->serve;
    server->serve = [&](call const& c) {
        bool const is_of_a = c.what == &scripts::release && c.key() == "a";
        return is_of_a ? std::optional<answer>{} : serve(c);
    };
    auto once = take_once(both());
    BOOST_TEST_REQUIRE(server->count(scripts::release) == 1U);
    BOOST_TEST(!once.is_done());
    server->answer_call(server->written().size() - 1, *serve(last()));
    time.settle();
    BOOST_TEST(once.gave_nothing());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(one_that_fails_waits_no_longer_than_a_release_does)
{
    redis.occupy("b", 5s);
    auto const serve = server->serve;
    server->serve = [&](call const& c) {
        return c.what == &scripts::release ? std::optional<answer>{} : serve(c);
    };
    auto once = take_once(both());
    time.advance(1'999ms);
    BOOST_TEST(!once.is_done());
    time.advance(2ms);
    BOOST_TEST(once.gave_nothing());
    auto cancelled = take_once(both());
    cancel(cancelled);
    BOOST_TEST(cancelled.aborted());
    time.advance(3s);
}

// It ends in time, with its parts given back as long as the server answers within a round trip.
BOOST_AUTO_TEST_CASE(a_wait_that_runs_out_has_given_back_what_it_took)
{
    inside().round_trip().note(2ms);
    redis.occupy("b", 5s);
    auto const serve = server->serve;
    server->serve = [&](call const& c) {
        bool const is_of_a = c.what == &scripts::release && c.key() == "a";
        return is_of_a ? std::optional<answer>{} : serve(c);
    };
    auto const releases_of_a = [this] {
        return std::ranges::count_if(server->written(), [](call const& c) {
            return c.what == &scripts::release && c.key() == "a";
        });
    };
    auto waits = take_for(both(), 500ms);
    BOOST_TEST_REQUIRE(time.advance_until([&] { return releases_of_a() == 1; }, 500ms));
    BOOST_TEST(!waits.is_done());
    auto const& all = server->written();
    auto const sent = std::ranges::find_if(all, [](call const& c) {
        return c.what == &scripts::release && c.key() == "a";
    });
    server->answer_call(static_cast<std::size_t>(sent - all.begin()), *serve(*sent));
    time.settle();
    BOOST_TEST(waits.gave_nothing());
    BOOST_TEST(!redis.is_locked("a"));
    waits = take_for(both(), 500ms);
    time.advance(501ms);  // whatever the server does
    BOOST_TEST(waits.succeeded());
    time.advance(3s);
}

BOOST_AUTO_TEST_CASE(cancelled_while_all_are_asked)
{
    server->serve = {};
    auto& first = server->expect(scripts::acquire);
    auto& second = server->expect(scripts::acquire);
    auto waiting = take(both());
    BOOST_TEST_REQUIRE(second.has_come());
    server->serve = [](call const&) { return answer{answer::kind::replied, released(), {}, {}}; };
    cancel(waiting);
    BOOST_TEST(waiting.aborted());
    first.reply(granted(1));
    respond(second, granted(2));
    BOOST_TEST(server->count(scripts::release) == 2U);
}

BOOST_AUTO_TEST_CASE(lost_with_any_and_still_released)
{
    auto held = take(both());
    auto told = lost(held.value());
    redis.ask({"DEL", "b"});
    time.advance(1'100ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!held.value());
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST((release(held.value()).ec() == error::lost));
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(a_lease_of_its_own_is_set_again_when_the_last_is_in)
{
    redis.occupy("b", 600ms);
    auto waiting = take(both(), {.lease = 1s});
    time.advance(610ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(waiting.value().valid_for(900ms));
    BOOST_TEST((redis.lease_left("a") > 900ms));
}

BOOST_AUTO_TEST_CASE(extended_it_is_longer_in_all)
{
    auto held = take(both());
    BOOST_TEST(extend(held.value(), 10s).succeeded());
    BOOST_TEST(held.value().valid_for(9s));
    BOOST_TEST((redis.lease_left("b") == 10s));
}

BOOST_AUTO_TEST_CASE(closing_ends_who_waits_and_releases_what_is_held)
{
    auto held = take(both());
    auto waiting = take(both());
    auto told = lost(held.value());
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((told.ec() == error::closed));
    BOOST_TEST(!held.value());
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(!is_any_locked());
    BOOST_TEST((acquire(mutex("a")).ec() == error::closed));
    BOOST_TEST((take(both()).ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_context_that_goes_takes_all_along)
{
    auto held = take(both());
    pending<group_hold> waiting;
    both().acquire(waiting.token());
    auto voting = most().acquire(settled());
    BOOST_TEST(!waiting.is_done());
}

// ---- In which order ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(names_decide_before_servers)
{
    elsewhere other{*this, at_host("0.example")};
    redis.occupy("a", 5s);
    auto waiting = take(multi_lock{other.mutex("b"), mutex("a")});
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(!other.redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(a_client_without_a_server_is_waited_for_like_others)
{
    elsewhere nowhere{*this};
    nowhere.server->all_down();
    auto waiting = take(multi_lock{nowhere.mutex("a"), mutex("b")});
    time.advance(2'100ms);
    BOOST_TEST(!waiting.is_done());
    cancel(waiting);
    BOOST_TEST(waiting.aborted());
}

BOOST_AUTO_TEST_CASE(a_client_with_a_bad_config_ends_it)
{
    auto settings = short_leases();
    settings.addresses.clear();
    elsewhere nowhere{*this, std::move(settings)};
    auto waiting = take(multi_lock{nowhere.mutex("a"), mutex("b")});
    time.advance(100ms);
    BOOST_TEST((waiting.ec() == error::invalid_config));
    BOOST_TEST(!redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(who_holds_some_gives_them_back_when_patience_ends)
{
    redis.occupy("b", 20s);
    auto waiting = take(both());
    time.advance(2'990ms);
    BOOST_TEST(redis.is_locked("a"));
    BOOST_TEST(time.advance_until([&] { return !redis.is_locked("a"); }, 3'020ms));
    time.advance(160ms);
    BOOST_TEST(redis.is_locked("a"));
    redis.free("b");
    time.advance(20ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(the_first_is_waited_for_in_its_queue)
{
    redis.occupy("a", 20s);
    auto waiting = take(both());
    auto behind = take(mutex("a"));
    time.advance(10s);
    redis.free("a");
    time.advance(20ms);
    BOOST_TEST(waiting.succeeded());
    BOOST_TEST(!behind.is_done());
}

BOOST_AUTO_TEST_CASE(who_writes_and_reads_writes_first)
{
    bool is_read = false;
    server->serve = [&](call const& c) {
        auto reply = done();
        if (c.what == &scripts::write_acquire && is_read)
            reply = refused(3'000);
        if (c.what == &scripts::read_acquire || c.what == &scripts::read_release)
            is_read = c.what == &scripts::read_acquire;
        return answer{answer::kind::replied, reply, {}, {}};
    };
    read_write_lock const sides{client, "k"};
    auto held = take(multi_lock{sides.read(), sides.write()});
    time.advance(10ms);
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(release(held.value()).succeeded());
}

// ---- How long it is valid ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lease_is_set_again_where_another_part_was_slow)
{
    elsewhere other{*this};
    other.server->all_down();
    auto waiting = take(multi_lock{mutex("a"), other.mutex("b")}, {.lease = 2s});
    time.advance(1'200ms);
    BOOST_TEST(!waiting.is_done());
    other.server->all_up();
    time.advance(1ms);
    BOOST_TEST_REQUIRE(waiting.succeeded());
    BOOST_TEST(waiting.value().valid_for(1'900ms));
}

// ---- Closing -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(closing_one_of_its_clients_releases_the_whole)
{
    elsewhere other{*this};
    auto held = take(multi_lock{mutex("a"), other.mutex("b")});
    BOOST_TEST_REQUIRE(held.succeeded());
    auto told = lost(held.value());
    other.client.close(asio::detached);
    time.settle();
    BOOST_TEST((told.ec() == error::closed));
    BOOST_TEST(!held.value());
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(release(held.value()).succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
