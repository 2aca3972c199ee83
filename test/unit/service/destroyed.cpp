// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A client that is destroyed: what it sends still, and what it leaves.
#include "unit/harness.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace colock::test {

namespace {

struct mortal : harness {
    mortal() : harness{short_leases(), false} { make(short_leases()); }

    void make(config settings)
    {
        one.reset(new colock::client{
            detail::client_access::make(make_core(with(std::move(settings))))});
        inside_of_one = detail::client_access::inside(*one);
    }

    std::optional<hold> held_by_one()
    {
        server->expect(scripts::acquire).reply(granted(1));
        auto p = lock{*one, "k"}.acquire(settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }

    bool ends_by_itself(milliseconds limit)
    {
        return time.advance_until([&] { return context.stopped(); }, limit);
    }

    std::unique_ptr<colock::client> one;
    std::weak_ptr<detail::core> inside_of_one;
};

BOOST_FIXTURE_TEST_SUITE(service_destroyed, mortal)

BOOST_AUTO_TEST_CASE(a_hold_dropped_just_before_is_released)
{
    auto mine = held_by_one();
    auto& undo = server->expect(scripts::release);
    mine.reset();
    one.reset();
    time.settle();
    BOOST_TEST_REQUIRE(undo.has_come());
    BOOST_TEST(!inside_of_one.expired());
    undo.reply(released());
    BOOST_TEST(ends_by_itself(10ms));
    BOOST_TEST(inside_of_one.expired());
    BOOST_TEST(log.empty());
}

// The server hangs. What only reads leaves nothing there.
BOOST_AUTO_TEST_CASE(a_question_is_not_waited_for)
{
    server->serve = [](call const&) { return std::optional<answer>{}; };
    pending<bool> asked;
    pending<lock_info> looked;
    lock{*one, "k"}.is_locked(asked.token());
    one->inspect("k", looked.token());
    time.settle();
    one.reset();
    BOOST_TEST(ends_by_itself(10ms));
    BOOST_TEST((asked.ec() == error::closed));
    BOOST_TEST((looked.ec() == error::closed));
    BOOST_TEST(inside_of_one.expired());
    BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_CASE(a_force_is_still_sent)
{
    auto& force = server->expect(scripts::force);
    pending<bool> forced;
    lock{*one, "k"}.force_release(forced.token());
    one.reset();
    time.settle();
    BOOST_TEST_REQUIRE(force.has_come());
    force.reply(reply::of(1));
    BOOST_TEST(ends_by_itself(10ms));
    BOOST_TEST(forced.gave_something());
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_for_again)
{
    auto mine = held_by_one();
    server->expect(scripts::release).lose();
    server->expect(scripts::release).reply(gone());
    mine.reset();
    one.reset();
    BOOST_TEST(ends_by_itself(100ms));
    BOOST_TEST(inside_of_one.expired());
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_waited_for_no_longer_than_the_timeout)
{
    auto mine = held_by_one();
    auto& undo = server->expect(scripts::release);
    mine.reset();
    one.reset();
    time.advance(1'990ms);
    BOOST_TEST(undo.has_come());
    BOOST_TEST(!context.stopped());
    BOOST_TEST(log.empty());
    BOOST_TEST(ends_by_itself(20ms));
    BOOST_TEST(inside_of_one.expired());
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(log.front().find("1 releases") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nor_longer_than_a_close_may_take)
{
    auto settings = short_leases();
    settings.close_timeout = 50ms;
    make(settings);
    auto mine = held_by_one();
    auto& undo = server->expect(scripts::release);
    mine.reset();
    one.reset();
    BOOST_TEST(ends_by_itself(60ms));
    static_cast<void>(undo);
}

BOOST_AUTO_TEST_CASE(without_anything_to_give_back_it_ends_at_once)
{
    auto mine = held_by_one();
    server->expect(scripts::release).reply(released());
    BOOST_TEST(release(*mine).succeeded());
    mine.reset();
    one.reset();
    BOOST_TEST(ends_by_itself(1ms));
    BOOST_TEST(inside_of_one.expired());
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_at_once_and_what_he_is_granted_is_given_back)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = lock{*one, "k"}.acquire(settled());
    one.reset();
    time.settle();
    BOOST_TEST((got.ec() == error::closed));
    auto& undo = server->expect(scripts::release);
    respond(asked, granted(1));
    BOOST_TEST_REQUIRE(undo.has_come());
    undo.reply(released());
    BOOST_TEST(ends_by_itself(10ms));
}

BOOST_AUTO_TEST_CASE(a_lock_that_outlives_it_is_refused)
{
    auto mine = held_by_one();
    lock const left{*one, "other"};
    auto& undo = server->expect(scripts::release);
    mine.reset();
    one.reset();
    pending_hold after;
    auto during = left.acquire(settled());
    BOOST_TEST((during.ec() == error::closed));
    respond(undo, released());
    context.restart();
    left.acquire(after.token());
    time.settle();
    BOOST_TEST((after.ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_hold_that_outlives_it_is_lost_at_its_time)
{
    auto mine = held_by_one();
    pending<> told;
    mine->lost(told.token());
    one.reset();
    time.advance(2'600ms);
    BOOST_TEST(!told.is_done());
    time.advance(100ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(server->count(scripts::release) == 0U);
}

BOOST_AUTO_TEST_CASE(a_run_ends_when_all_is_given_back)
{
    one->run(run.token());
    time.settle();
    auto mine = held_by_one();
    auto& undo = server->expect(scripts::release);
    mine.reset();
    one.reset();
    time.settle();
    BOOST_TEST(!run.is_done());
    undo.reply(released());
    BOOST_TEST(ends_by_itself(10ms));
    BOOST_TEST(run.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
