// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "resp/writer.hpp"
#include "unit/resp/parsing.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(resp_writer)

BOOST_AUTO_TEST_CASE(a_command_is_a_list_of_strings)
{
    resp::writer w;
    w.push("SET", "key", 5);
    BOOST_TEST(w.bytes() == "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$1\r\n5\r\n");
    BOOST_TEST(w.commands() == 1U);
}

BOOST_AUTO_TEST_CASE(words_are_any_bytes)
{
    auto const bytes = "\r\n$1\r\n\0x"s;
    resp::writer w;
    w.push("ECHO", bytes, std::string_view{}, "");
    BOOST_TEST(w.bytes() == "*4\r\n$4\r\nECHO\r\n$8\r\n" + bytes + "\r\n$0\r\n\r\n$0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(numbers_have_all_their_digits)
{
    resp::writer w;
    w.push(
        0, -1, INT64_MIN, INT64_MAX, UINT64_MAX, std::uint16_t{65'535}, std::int16_t{-32'768}, 7U
    );
    BOOST_TEST(
        parse(w.bytes()) ==
        whole({"['0' '-1' '-9223372036854775808' '9223372036854775807' "
               "'18446744073709551615' '65535' '-32768' '7']"})
    );
}

BOOST_AUTO_TEST_CASE(a_command_is_written_in_parts)
{
    resp::writer w;
    w.begin(3);
    w.add("EVALSHA");
    w.add(std::string(1'000, 'a'));
    w.add(12);
    w.push_range(std::vector<std::string>{"SUBSCRIBE", "a", "b"});
    w.push_range(std::vector<std::string_view>{"PING"});
    BOOST_TEST(w.commands() == 3U);
    BOOST_TEST(
        parse(w.bytes()) ==
        whole(
            {"['EVALSHA' '" + std::string(1'000, 'a') + "' '12']",
             "['SUBSCRIBE' 'a' 'b']",
             "['PING']"}
        )
    );
}

BOOST_AUTO_TEST_CASE(its_memory_is_used_again)
{
    resp::writer w;
    BOOST_TEST(w.empty());
    w.push("PING");
    std::string taken;
    w.swap_bytes(taken);
    BOOST_TEST(taken == "*1\r\n$4\r\nPING\r\n");
    BOOST_TEST(w.empty());
    w.push("PING");
    w.clear();
    BOOST_TEST(w.empty());
    BOOST_TEST(w.commands() == 0U);
}

BOOST_AUTO_TEST_CASE(large_memory_is_given_back_when_it_is_empty)
{
    resp::writer w;
    w.push("ECHO", std::string(10'000, 'x'));
    w.shrink(4'096);
    BOOST_TEST(w.bytes().size() > 10'000U);
    w.clear();
    w.shrink(100'000);
    BOOST_TEST(w.bytes().capacity() > 10'000U);
    w.shrink(4'096);
    BOOST_TEST(w.bytes().capacity() <= 4'096U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
