// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The waiters of one client.
#include "unit/service/contended.hpp"

#include <array>

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_queue, contended)

BOOST_AUTO_TEST_CASE(first_come_first_served)
{
    is_free = true;
    std::vector<pending_hold> got;
    for (int i = 0; i != 4; ++i)
        got.push_back(acquire());
    for (std::size_t i = 0; i != got.size(); ++i) {
        BOOST_TEST_REQUIRE(got[i].succeeded());
        for (auto later = i + 1; later != got.size(); ++later)
            BOOST_TEST(!got[later].is_done());
        BOOST_TEST(release(got[i].value()).succeeded());
    }
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(only_the_head_asks)
{
    auto a = acquire();
    auto const sent = tries();
    auto b = acquire(), c = acquire();
    BOOST_TEST(tries() == sent);
    BOOST_TEST(client.stats().waiters == 3U);
    message();
    BOOST_TEST(tries() == sent + 1);
}

BOOST_AUTO_TEST_CASE(while_the_client_holds_it_the_others_send_nothing)
{
    is_free = true;
    auto a = acquire();
    auto b = acquire(), c = acquire();
    message();
    time.advance(800ms);
    BOOST_TEST(tries() == 1U);
    BOOST_TEST(!b.is_done());
}

BOOST_AUTO_TEST_CASE(a_head_that_leaves_makes_the_next_try_at_once)
{
    auto a = acquire(), b = acquire();
    auto const sent = tries();
    cancel(a);
    BOOST_TEST(a.aborted());
    BOOST_TEST(tries() == sent + 1);
    is_free = true;
    message();
    BOOST_TEST(b.succeeded());
}

BOOST_AUTO_TEST_CASE(a_head_whose_wait_ran_out_makes_the_next_try_at_once)
{
    auto a = try_for(300ms);
    auto b = acquire();
    time.advance(299ms);
    auto const sent = tries();
    time.advance(2ms);
    BOOST_TEST(a.gave_nothing());
    BOOST_TEST(tries() == sent + 1);
}

BOOST_AUTO_TEST_CASE(who_leaves_and_is_not_head_wakes_nobody)
{
    auto a = acquire(), b = acquire(), c = acquire();
    auto const sent = tries();
    cancel(b);
    BOOST_TEST(b.aborted());
    BOOST_TEST(tries() == sent);
    cancel(a);
    is_free = true;
    message();
    BOOST_TEST(c.succeeded());
}

BOOST_AUTO_TEST_CASE(all_leave_in_any_order)
{
    for (auto const& order : {std::array{0U, 1U, 2U}, {2U, 1U, 0U}, {1U, 0U, 2U}, {1U, 2U, 0U}}) {
        std::array got{acquire(), acquire(), acquire()};
        for (auto const i : order)
            got.at(i).cancel();
        time.settle();
        for (auto const& g : got)
            BOOST_TEST(g.aborted());
        BOOST_TEST(client.stats().waiters == 0U);
        BOOST_TEST(client.stats().keys == 0U);
    }
}

BOOST_AUTO_TEST_CASE(the_attempts_of_a_waiter_are_its_own)
{
    auto a = acquire();
    auto b = acquire();
    time.advance(2'500ms);
    a.cancel();
    is_free = true;
    time.settle();
    message();
    BOOST_TEST(b.succeeded());
    BOOST_TEST(events->last_attempts <= 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
