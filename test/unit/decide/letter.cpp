// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/letter.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace {

using namespace std::string_view_literals;
using colock::decide::letter;

BOOST_AUTO_TEST_SUITE(decide_letter)

BOOST_AUTO_TEST_CASE(the_name_is_the_rest_of_the_payload)
{
    for (auto const name : {"k"sv, "two words"sv, " "sv, "a\n\0b"sv, "17 forced"sv}) {
        auto const got = letter::read("forced 18446744073709551615 " + std::string{name});
        BOOST_TEST_REQUIRE(got.has_value());
        BOOST_TEST(got->number == 18'446'744'073'709'551'615U);
        BOOST_TEST(got->name == name);
    }
}

BOOST_AUTO_TEST_CASE(what_is_something_else_is_no_letter)
{
    for (auto const payload :
         {""sv,
          "0"sv,
          "forced"sv,
          "forced "sv,
          "forced 7"sv,
          "forced 7 "sv,
          "forced  7 k"sv,
          "forced -7 k"sv,
          "forced +7 k"sv,
          "forced 7x k"sv,
          "forced x k"sv,
          "forced 18446744073709551616 k"sv,
          "Forced 7 k"sv,
          "turn 7 0 k"sv})
        BOOST_TEST(!letter::read(payload), payload);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
