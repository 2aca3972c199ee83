// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/link_settings.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace colock::test {

namespace {

std::string hidden(std::string_view text, std::string_view secret)
{
    return redacted(text, {}, secret);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(link_settings)

BOOST_AUTO_TEST_CASE(a_secret_is_hidden_wherever_it_stands)
{
    BOOST_TEST(hidden("ERR 'secret', secret and asecretb", "secret") == "ERR '***', *** and a***b");
    BOOST_TEST(hidden("ERR *****", "***") == "ERR *****");
    BOOST_TEST(hidden("ERR as it is", "") == "ERR as it is");
}

// "no ***ermissions" would show it.
BOOST_AUTO_TEST_CASE(a_short_secret_is_hidden_as_a_word_alone)
{
    std::string_view const text = "NOPERM this user has no permissions to run the 'p' command";
    BOOST_TEST(hidden(text, "p") == "NOPERM this user has no permissions to run the '***' command");
    for (auto const* part : {"erm", "miss", "s", "NO", "and"})
        BOOST_TEST(hidden(text, part) == text);
    BOOST_TEST(hidden("ERR abcd:abcd@abcde", "abcd") == "ERR ***:***@abcde");
    BOOST_TEST(hidden("abcd", "abcd") == "***");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
