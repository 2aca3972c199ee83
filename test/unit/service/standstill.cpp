// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// After a pause of the process no timer has fired yet: what is over by the clock is over, whatever
// comes first.
#include "unit/service/fair.hpp"
#include "unit/service/read_write.hpp"

namespace colock::test {

namespace {

BOOST_AUTO_TEST_SUITE(service_standstill)

BOOST_FIXTURE_TEST_CASE(an_extension_answered_after_it_revives_nothing, harness)
{
    // Its answer would still be good; but the hold has been past its end.
    auto mine = held();
    auto told = lost(mine);
    auto& asked = server->expect(scripts::extend);
    auto extended = extend(mine, 60s);
    BOOST_TEST_REQUIRE(asked.has_come());
    time.jump(validity);
    respond(asked, done());
    BOOST_TEST((extended.ec() == error::lost));
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!mine);
    BOOST_TEST(events->count("lost") == 1);
}

BOOST_FIXTURE_TEST_CASE(an_extension_asked_for_after_it_is_not_sent, harness)
{
    auto mine = held();
    time.jump(validity);
    BOOST_TEST((extend(mine, 60s).ec() == error::lost));
    BOOST_TEST(server->count(scripts::extend) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_release_after_it_hands_nothing_over, harness)
{
    auto mine = held();
    auto told = lost(mine);
    server->serve = [](call const& c) -> std::optional<answer> {
        auto value = c.what == &scripts::acquire ? refused(500)
            : c.what == &scripts::release        ? gone()
                                                 : done();
        return answer{answer::kind::replied, std::move(value), {}, {}};
    };
    auto next = acquire();
    time.jump(validity);
    auto gave_back = mine.release(settled());
    BOOST_TEST((gave_back.ec() == error::lost));
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!next.is_done());
    BOOST_TEST(events->count("handed_over") == 0);
    BOOST_TEST(events->count("lost") == 1);
}

BOOST_FIXTURE_TEST_CASE(nobody_enters_a_fair_lock_that_is_past, fair)
{
    owner const me;
    auto const outer = granted_at_once({.as = me});
    time.jump(validity);
    auto inner = wait({.as = me});
    BOOST_TEST((inner.ec() == error::lost));
    BOOST_TEST(!outer);
    BOOST_TEST(server->count(scripts::extend) == 0U);
}

BOOST_FIXTURE_TEST_CASE(nobody_enters_a_read_side_that_is_past, rw)
{
    owner const me;
    auto const outer = reads({.as = me});
    time.jump(validity);
    auto inner = acquire(reading(), {.as = me});
    BOOST_TEST((inner.ec() == error::lost));
    BOOST_TEST(!outer);
    BOOST_TEST(server->count(scripts::read_extend) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(service_late_grants)

constexpr auto late = validity / 2 + 1ms;

BOOST_FIXTURE_TEST_CASE(always_late_it_is_given_back_in_between, harness)
{
    auto& first = server->expect(scripts::acquire);
    auto got = acquire();
    time.advance(late);
    auto& again = server->expect(scripts::acquire);
    respond(first, granted(1));
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == first.seen().field());
    time.advance(late);
    auto& undo = server->expect(scripts::release);
    respond(again, granted(2));
    BOOST_TEST_REQUIRE(undo.has_come());
    BOOST_TEST(undo.seen().field() == first.seen().field());
    auto& anew = server->expect(scripts::acquire);
    respond(undo, released());
    BOOST_TEST_REQUIRE(anew.has_come());
    BOOST_TEST(anew.seen().field() != first.seen().field());
    BOOST_TEST(!got.is_done());
    respond(anew, granted(3));
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().fencing_token() == 3U);
}

BOOST_FIXTURE_TEST_CASE(always_late_a_fair_one_goes_to_the_end_of_the_queue, fair)
{
    auto& first = server->expect(scripts::fair_acquire);
    auto got = wait();
    time.advance(late);
    auto& again = server->expect(scripts::fair_acquire);
    respond(first, granted(1));
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == first.seen().field());
    time.advance(late);
    auto& undo = server->expect(scripts::fair_release);
    auto& anew = server->expect(scripts::fair_acquire);
    respond(again, granted(2));
    BOOST_TEST_REQUIRE(undo.has_come());
    BOOST_TEST(undo.seen().field() == first.seen().field());
    BOOST_TEST_REQUIRE(anew.has_come());
    BOOST_TEST(anew.seen().field() != first.seen().field());
    undo.reply(released());
    respond(anew, granted(3));
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().fencing_token() == 3U);
}

BOOST_FIXTURE_TEST_CASE(just_half_of_it_is_enough, harness)
{
    auto& asked = server->expect(scripts::acquire);
    auto got = acquire();
    time.advance(validity / 2);
    server->expect(scripts::renew);  // which is due by then
    respond(asked, granted(1));
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
