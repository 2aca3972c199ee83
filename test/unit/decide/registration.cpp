// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/registration.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

BOOST_AUTO_TEST_SUITE(decide_registration)

using decide::registration;

BOOST_AUTO_TEST_CASE(a_message_alone_proves_nothing)
{
    registration one;
    one.begin(7, "entry");
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST(!one.is_passed());
    one.found(7, time_point{} + 5s);
    BOOST_TEST(one.is_passed());
    BOOST_TEST((one.since() == time_point{} + 5s));
    BOOST_TEST(one.token() == 3U);
}

BOOST_AUTO_TEST_CASE(another_number_is_not_its_own)
{
    registration one;
    one.begin(7, "entry");
    BOOST_TEST(!one.passed(6, 3));
    one.found(6, time_point{} + 5s);
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST(!one.is_passed());
}

BOOST_AUTO_TEST_CASE(an_older_step_does_not_replace_a_newer_one)
{
    registration one;
    one.begin(7, "entry");
    one.found(7, time_point{} + 5s);
    one.found(7, time_point{} + 4s);
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST((one.since() == time_point{} + 5s));
}

BOOST_AUTO_TEST_CASE(a_step_that_was_sent_before_the_last_one_proves_nothing)
{
    registration one;
    one.begin(7, "entry");
    BOOST_TEST(one.passed(7, 3));
    one.found(7, time_point{} + 5s);
    one.asks(time_point{} + 6s);
    BOOST_TEST(!one.is_passed());
    one.found(7, time_point{} + 5s);
    BOOST_TEST(!one.is_passed());
    one.found(7, time_point{} + 6s);
    BOOST_TEST(one.is_passed());
}

BOOST_AUTO_TEST_CASE(reads_whose_turn_it_is)
{
    auto const of = [](char const* text) { return decide::read_turn(text); };
    BOOST_TEST((of("3").listening == 3U && of("3").number == 0U));
    BOOST_TEST((of("3:17").listening == 3U && of("3:17").number == 17U));
    BOOST_TEST((of("").listening == 0U && of("x:17").number == 0U));
}

BOOST_AUTO_TEST_CASE(reads_the_message_that_passes_a_lock_on)
{
    auto const read = decide::read_passed("0:12:34:secret");
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->number == 12U);
    BOOST_TEST(read->token == 34U);
    BOOST_TEST(read->secret == "secret");
    for (auto const* const other : {"", "0", "3", "0:", "0:12", "0:12:", "0:x:1:s", ":1:2:s"})
        BOOST_TEST(!decide::read_passed(other).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
