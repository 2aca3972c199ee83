// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What lines become before a sink sees them.
#include "base/log.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace colock::test {

namespace {

std::string logged(std::string_view line)
{
    std::string got;
    write_log(
        {[&](log_level, std::string_view text) { got = text; }, log_level::debug},
        log_level::info,
        line
    );
    return got;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_lines_for_people)

BOOST_AUTO_TEST_CASE(text_stays)
{
    for (std::string_view const line :
         {"lock \"a b\\c\": held",
          "",
          "L\xC3\xBC"
          "beck \xE2\x80\x93 \xE6\x9D\xB1\xE4\xBA\xAC \xF0\x9F\x94\x92",
          "Latin-1: \xFC \xE4"})
        BOOST_TEST(logged(line) == line);
}

BOOST_AUTO_TEST_CASE(what_steers_a_terminal_is_escaped)
{
    BOOST_TEST(logged("a\x1b[2Jb\n\x7f") == "a\\x1b[2Jb\\x0a\\x7f");
    BOOST_TEST(
        logged("U+009B \xC2\x9B"
               "2J") == "U+009B \\xc2\\x9b2J"
    );
    BOOST_TEST(logged("\xC2\x80 \xC2\x9F") == "\\xc2\\x80 \\xc2\\x9f");
    BOOST_TEST(
        logged("a byte \x9B"
               "2J") == "a byte \\x9b2J"
    );
    BOOST_TEST(logged("cut off \xE2\x9B") == "cut off \xE2\\x9b");
    BOOST_TEST(logged("\xE4\xBA\xAC\x9B") == "\xE4\xBA\xAC\\x9b");
    BOOST_TEST(logged("overlong \xC0\x9B \xE0\x82\x9B") == "overlong \xC0\\x9b \xE0\\x82\\x9b");
}

// As the command line does with keys.
BOOST_AUTO_TEST_CASE(what_turns_text_round_is_escaped)
{
    BOOST_TEST(
        logged("a\xE2\x80\xAE"
               "b") ==
        "a\\xe2\\x80\\xae"
        "b"
    );
    BOOST_TEST(
        logged("a\xE2\x80\xA8"
               "b") ==
        "a\\xe2\\x80\\xa8"
        "b"
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
