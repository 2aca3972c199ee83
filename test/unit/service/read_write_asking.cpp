// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What becomes of a request of either side: cancelled, unheard, late, refused.
#include "unit/service/read_write.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(read_write_asking)

BOOST_AUTO_TEST_CASE(a_message_that_overtakes_the_refusal_counts)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto& again = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(again.has_come());
    at.publish("1");
    at.server->expect(scripts::read_acquire).reply(granted(0));
    again.reply(refused(-1));
    at.time.advance(2ms);
    at.let_go(p, scripts::read_release);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_unsent_leaves_nothing)
{
    rw at;
    at.server->all_down();
    at.time.settle();
    auto p = at.acquire(at.reading());
    BOOST_TEST(at.server->unsent() == 1U);
    p.cancel();
    at.time.advance(2ms);
    BOOST_TEST(p.aborted());
    BOOST_TEST(at.server->unsent() == 0U);
    BOOST_TEST(at.is_clean());
}

BOOST_DATA_TEST_CASE(who_is_cancelled_while_asking_gives_back, data::make({true, false}), read)
{
    rw at;
    auto& asked = at.server->expect(read ? scripts::read_acquire : scripts::write_acquire);
    auto p = read ? at.acquire(at.reading()) : at.acquire(at.writing());
    BOOST_TEST_REQUIRE(asked.has_come());
    p.cancel();
    at.time.settle();
    BOOST_TEST(p.aborted());
    at.server->expect(read ? scripts::read_release : scripts::write_release).reply(released());
    asked.reply(granted(3));
    at.time.advance(2ms);
    BOOST_TEST(at.last().field() == asked.seen().field());
    BOOST_TEST(at.is_clean());
}

BOOST_DATA_TEST_CASE(a_lost_answer_is_asked_again, data::make({true, false}), read)
{
    rw at;
    auto const& script = read ? scripts::read_acquire : scripts::write_acquire;
    auto& asked = at.server->expect(script);
    auto p = read ? at.acquire(at.reading()) : at.acquire(at.writing());
    auto& again = at.server->expect(script);
    asked.lose();
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == asked.seen().field());
    again.reply(granted(3));
    at.time.settle();
    BOOST_TEST_REQUIRE(p.succeeded());
    auto& back = at.server->expect(read ? scripts::read_release : scripts::write_release);
    auto gone_for_good = at.release(p.value());
    at.server->expect(read ? scripts::read_release : scripts::write_release).reply(gone());
    back.lose();
    at.time.advance(50ms);
    BOOST_TEST(gone_for_good.succeeded());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_leaves_after_a_lost_answer_gives_back)
{
    rw at;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    p.cancel();
    at.time.settle();
    at.server->expect(scripts::read_release).reply(gone());
    asked.lose();
    at.time.advance(2ms);
    BOOST_TEST(at.last().field() == asked.seen().field());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_asleep_leaves_nothing)
{
    rw at;
    auto p = at.waits_to_read(-1);
    p.cancel();
    at.time.advance(2ms);
    BOOST_TEST(p.aborted());
    at.time.advance(3s);  // and nothing is asked, or subscribed, any more
    BOOST_TEST(at.server->subscribed().empty());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_late_grant_is_renewed_before_it_is_given)
{
    rw at;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(1'600ms);
    at.server->expect(scripts::read_acquire).reply(granted(0));
    asked.reply(granted(0));
    at.time.settle();
    BOOST_TEST_REQUIRE(p.succeeded());
    BOOST_TEST(at.last().field() == asked.seen().field());
    at.let_go(p.value(), scripts::read_release);
}

BOOST_AUTO_TEST_CASE(an_error_is_for_the_reader_that_asked)
{
    rw at;
    at.server->expect(scripts::read_acquire).fail(error::wrong_type);
    auto const p = at.acquire(at.reading());
    BOOST_TEST((p.ec() == error::wrong_type));
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(one_owner_asks_once_to_read)
{
    rw at;
    owner const me;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto first = at.acquire(at.reading(), {.as = me});
    auto second = at.acquire(at.reading(), {.as = me});
    auto third = at.try_acquire(at.reading(), {.as = me});
    for (int i = 0; i != 2; ++i)
        at.server->expect(scripts::read_extend).reply(done());
    asked.reply(granted(0));
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST_REQUIRE(third.succeeded());
    BOOST_TEST_REQUIRE(third.value().has_value());
    BOOST_TEST(at.count(at.reading(), me) == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
