// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/idempotency.hpp"
#include "decide/permit_id.hpp"
#include "decide/request_state.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

namespace {

using namespace colock::decide;
using namespace std::chrono_literals;
using action = request_state::action;

time_point const t{1'000s};

BOOST_AUTO_TEST_SUITE(decide_request_state)

BOOST_AUTO_TEST_CASE(who_is_refused_asks_anew)
{
    request_state one;
    BOOST_TEST((one.next(false, false) == action::none));
    BOOST_TEST((one.next(true, false) == action::begin));
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::begin));
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(what_is_taken_is_given_or_undone)
{
    request_state one;
    one.granted(t, t);
    BOOST_TEST(one.is_taken());
    BOOST_TEST((one.next(true, true) == action::give));
    BOOST_TEST((one.next(true, false) == action::undo));  // the next one wants something else
    BOOST_TEST((one.next(false, false) == action::undo));
    one.closed();
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(a_lost_answer_leaves_it_open)
{
    request_state one;
    one.lost(t, t);
    BOOST_TEST(!one.is_taken());
    BOOST_TEST((one.next(true, true) == action::again));
    BOOST_TEST((one.next(true, false) == action::undo));
    BOOST_TEST((one.next(false, false) == action::undo));
    one.lost(t + 5s, t + 5s);
    BOOST_TEST((one.first_sent() == t));
    BOOST_TEST((one.last_sent() == t + 5s));
    one.granted(t + 9s, t + 9s);
    BOOST_TEST((one.next(true, true) == action::give));
    BOOST_TEST((one.last_sent() == t + 9s));
    one.closed();
    one.lost(t + 20s, t + 20s);
    BOOST_TEST((one.first_sent() == t + 20s));  // of another request
    one.refused(false);
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(a_lost_request_that_is_refused_is_undone_if_its_permits_would_stay_out)
{
    request_state one;
    one.lost(t, t);
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::undo));
    BOOST_TEST((one.next(false, false) == action::undo));
    one.closed();
    BOOST_TEST((one.next(true, true) == action::begin));
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::begin));
}

BOOST_AUTO_TEST_CASE(a_slow_server_takes_late)
{
    request_state one;
    one.lost(t, t + 3s);
    BOOST_TEST((one.may_have_taken_at() == t + 3s));
    one.granted(t + 4s, t + 9s);
    BOOST_TEST((one.last_sent() == t + 4s));
    BOOST_TEST((one.may_have_taken_at() == t + 9s));
}

BOOST_AUTO_TEST_CASE(what_may_have_been_given_back_is_for_nobody)
{
    request_state taken, unsure;
    taken.granted(t, t);
    unsure.lost(t, t);
    for (auto* one : {&taken, &unsure}) {
        one->undo_lost();
        BOOST_TEST((one->next(true, true) == action::undo));
        BOOST_TEST((one->next(false, false) == action::undo));
        BOOST_TEST(one->is_open());
        one->closed();
        BOOST_TEST((one->next(true, true) == action::begin));
        one->granted(t, t);
        BOOST_TEST((one->next(true, true) == action::give));
    }
}

BOOST_AUTO_TEST_CASE(a_request_is_repeated_while_its_record_is_there)
{
    BOOST_TEST((repeat_until(t) > t + record_life / 2));
    BOOST_TEST((repeat_until(t) < t + record_life - 1s));  // two clocks
    BOOST_TEST(record_life_text() == "3600000");
}

BOOST_AUTO_TEST_CASE(a_request_is_polled_when_a_lease_ends_or_at_the_poll_cap)
{
    BOOST_TEST((poll_pause(200ms, 1s, 0) == 201ms));
    BOOST_TEST((poll_pause(0ms, 1s, 0) == 1ms));
    BOOST_TEST((poll_pause(5s, 1s, 0) == 1s));
    BOOST_TEST((poll_pause({}, 1s, 0.5) == 950ms));
}

BOOST_AUTO_TEST_CASE(ids_of_permits)
{
    std::string const uuid = "00112233-4455-6677-8899-aabbccddeeff";
    BOOST_TEST(hex_of(permit_id(uuid, 0)) == "00112233445566778899aabbccddeeff");
    BOOST_TEST(hex_of(permit_id(uuid, 1)) == "00112233445566778899aabbccddeefe");
    std::set<std::string> all;
    for (std::uint64_t n = 0; n != 10'000; ++n) {
        auto const id = permit_id(uuid, n * 0x1'0001);
        BOOST_TEST_REQUIRE(id.size() == 16U);
        BOOST_TEST_REQUIRE(all.insert(id).second);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
