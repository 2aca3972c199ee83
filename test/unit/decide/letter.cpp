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
        auto const taken_away = "forced 18446744073709551615 " + std::string{name};
        auto const forced = letter::read(taken_away);
        BOOST_TEST_REQUIRE(forced.has_value());
        BOOST_TEST((forced->what == letter::kind::forced));
        BOOST_TEST(forced->number == 18'446'744'073'709'551'615U);
        BOOST_TEST(forced->name == name);
        auto const next = "turn 7 12 " + std::string{name};
        auto const turn = letter::read(next);
        BOOST_TEST_REQUIRE(turn.has_value());
        BOOST_TEST((turn->what == letter::kind::turn));
        BOOST_TEST((turn->number == 7U && turn->listening == 12U));
        BOOST_TEST(turn->name == name);
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
          "turn 7 k"sv,
          "turn 7 0"sv,
          "turn 7 0 "sv,
          "turn 7 -1 k"sv,
          "turn  7 0 k"sv,
          "turned 7 0 k"sv})
        BOOST_TEST(!letter::read(payload), payload);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
