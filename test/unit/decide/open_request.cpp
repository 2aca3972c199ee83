// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/idempotency.hpp"
#include "decide/open_request.hpp"
#include "decide/permit_id.hpp"
#include "decide/wait_plan.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

namespace {

using namespace colock::decide;
using colock::answer;
using namespace std::chrono_literals;
using action = open_request::action;
using use = open_request::use;

time_point const t{1'000s};

outcome const lost{outcome::kind::lost, {}, true};
outcome const granted{outcome::kind::granted, {}, true};

BOOST_AUTO_TEST_SUITE(decide_open_request)

BOOST_AUTO_TEST_CASE(who_is_refused_asks_anew)
{
    open_request one;
    BOOST_TEST((one.next(false, false) == action::none));
    BOOST_TEST((one.next(true, false) == action::begin));
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::begin));
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(what_is_taken_is_given_or_undone)
{
    open_request one;
    one.may_stand(granted, t, t + 30s);
    BOOST_TEST(one.is_taken());
    BOOST_TEST((one.next(true, true) == action::hand_out));
    BOOST_TEST((one.next(true, false) == action::undo));  // the next one wants something else
    BOOST_TEST((one.next(false, false) == action::undo));
    one.close();
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(a_lost_answer_leaves_it_open)
{
    open_request one;
    one.may_stand(lost, t, t + 30s);
    BOOST_TEST(!one.is_taken());
    BOOST_TEST((one.next(true, true) == action::again));
    BOOST_TEST((one.next(true, false) == action::undo));
    BOOST_TEST((one.next(false, false) == action::undo));
    one.may_stand(lost, t + 5s, t + 30s);
    BOOST_TEST((one.sent() == t + 5s));
    one.may_stand(granted, t + 9s, t + 30s);
    BOOST_TEST((one.next(true, true) == action::hand_out));
    one.close();
    one.may_stand(lost, t, t + 30s);
    one.refused(false);
    BOOST_TEST((one.next(false, false) == action::none));
}

BOOST_AUTO_TEST_CASE(one_that_stands_in_the_list_asks_again_and_is_given_up)
{
    open_request one;
    one.begin(7);
    one.lists();
    one.refused(true);
    BOOST_TEST((!one.is_open() && one.is_listed()));
    BOOST_TEST((one.next(true, true) == action::again));
    BOOST_TEST((one.next(true, false) == action::undo));
    BOOST_TEST((one.next(false, false) == action::undo));
    BOOST_TEST(one.close() == 7U);
    BOOST_TEST((one.next(false, false) == action::none));
    one.lists();
    one.begin(8);
    BOOST_TEST(!one.is_listed());
}

BOOST_AUTO_TEST_CASE(a_lost_request_that_is_refused_stays_open_if_its_permits_would_stay_out)
{
    open_request one;
    one.may_stand(lost, t, t + 30s);
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::again));
    BOOST_TEST((one.next(false, false) == action::undo));
    one.close();
    BOOST_TEST((one.next(true, true) == action::begin));
    one.refused(true);
    BOOST_TEST((one.next(true, true) == action::begin));
}

BOOST_AUTO_TEST_CASE(what_was_granted_late_exists_for_its_whole_lease)
{
    open_request one{7};
    answer const none{.what = answer::kind::lost, .sent = t};
    BOOST_TEST(!one.stands(t));
    one.answered(lost, none, 30s, {}, t + 3s);
    one.answered(lost, none, 1s, {}, t + 4s);
    BOOST_TEST((one.until() == t + 33s));
    BOOST_TEST(one.stands(t + 32s));
    BOOST_TEST(!one.stands(t + 33s));
    one.answered({outcome::kind::refused}, {}, 30s, {}, t + 5s);
    BOOST_TEST(!one.stands(t));
    one.begin(8, {}, t + 2s);  // the field of an ownership
    BOOST_TEST(one.stands(t));
    BOOST_TEST(one.close() == 8U);
    BOOST_TEST(one.number() == 0U);
    BOOST_TEST(!one.stands(t));
}

BOOST_AUTO_TEST_CASE(grants_that_are_always_late_are_given_back)
{
    using grant = proven_grant;
    open_request one;
    auto const late = t - 9s;
    BOOST_TEST((one.use_of_grant(t, grant{t - 1s, 10s}) == use::hand_out));
    BOOST_TEST((one.use_of_grant(t, grant{late, 10s}) == use::ask_again));
    BOOST_TEST((one.use_of_grant(t, grant{late, 10s}) == use::give_back));
    one.close();
    BOOST_TEST((one.use_of_grant(t, grant{late, 10s}) == use::give_back));
    BOOST_TEST((one.use_of_grant(t, grant{t - 1s, 10s}) == use::hand_out));
    BOOST_TEST((one.use_of_grant(t, grant{late, 10s}) == use::ask_again));
    one.refused();
    BOOST_TEST((one.use_of_grant(t, grant{late, 10s}) == use::ask_again));
}

BOOST_AUTO_TEST_CASE(what_is_proven_of_a_lease_counts)
{
    open_request one;
    BOOST_TEST((one.use_of_grant(t, proven_grant{t - 1s, 10s, 3s}) == use::ask_again));
    BOOST_TEST((one.use_of_grant(t, proven_grant{t - 1s, 10s, 7s}) == use::hand_out));
}

BOOST_AUTO_TEST_CASE(what_may_have_been_given_back_is_for_nobody)
{
    open_request taken, unsure;
    taken.may_stand(granted, t, t + 30s);
    unsure.may_stand(lost, t, t + 30s);
    for (auto* one : {&taken, &unsure}) {
        one->undo_lost();
        BOOST_TEST((one->next(true, true) == action::undo));
        BOOST_TEST((one->next(false, false) == action::undo));
        BOOST_TEST(one->is_open());
        one->close();
        BOOST_TEST((one->next(true, true) == action::begin));
        one->may_stand(granted, t, t + 30s);
        BOOST_TEST((one->next(true, true) == action::hand_out));
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
