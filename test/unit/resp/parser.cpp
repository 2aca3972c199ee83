// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the parser makes of each type, however the bytes are cut.
#include "unit/resp/parsing.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

namespace {

using namespace std::string_literals;

struct example {
    std::string wire;
    std::string value;
};

std::vector<example> const& examples()
{
    static std::vector<example> const all{
        {"+OK\r\n", "'OK'"},
        {"+\r\n", "''"},
        {"+a\rb\r\n", "'a\rb'"},
        {"-ERR no\r\n", "!ERR no"},
        {":0\r\n", "0"},
        {":-2\r\n", "-2"},
        {":9223372036854775807\r\n", "9223372036854775807"},
        {":-9223372036854775808\r\n", "-9223372036854775808"},
        {"$0\r\n\r\n", "''"},
        {"$5\r\nhello\r\n", "'hello'"},
        {"$4\r\n\r\n\r\n\r\n", "'\r\n\r\n'"},
        {"$3\r\na\0b\r\n"s, "'a\0b'"s},
        {"$-1\r\n", "nil"},
        {"*-1\r\n", "nil"},
        {"_\r\n", "nil"},
        {"#t\r\n", "1"},
        {"#f\r\n", "0"},
        {",1.5\r\n", "'1.5'"},
        {",-inf\r\n", "'-inf'"},
        {"(3492890328409238509324850943850943825024385\r\n",
         "'3492890328409238509324850943850943825024385'"},
        {"!7\r\nERR a\r\n\r\n", "!ERR a\r\n"},
        {"=7\r\ntxt:abc\r\n", "'abc'"},
        {"=4\r\nmkd:\r\n", "''"},
        {"=3\r\nabc\r\n", "'abc'"},
        {"=0\r\n\r\n", "''"},
        {"*0\r\n", "[]"},
        {"%0\r\n", "[]"},
        {"~0\r\n", "[]"},
        {"*2\r\n:1\r\n$1\r\na\r\n", "[1 'a']"},
        {"*3\r\n*0\r\n*1\r\n_\r\n-ERR x\r\n", "[[] [nil] !ERR x]"},
        {"*2\r\n$-1\r\n*-1\r\n", "[nil nil]"},
        {"%2\r\n+a\r\n:1\r\n+b\r\n%1\r\n+c\r\n~1\r\n:2\r\n", "['a' 1 'b' ['c' [2]]]"},
        {"~2\r\n+a\r\n+b\r\n", "['a' 'b']"},
        {">2\r\n+message\r\n:1\r\n", ">['message' 1]"},
        {">0\r\n", ">[]"},
    };
    return all;
}

BOOST_AUTO_TEST_SUITE(resp_parser)

BOOST_AUTO_TEST_CASE(each_type_has_its_value)
{
    for (auto const& [wire, value] : examples())
        BOOST_TEST(parse(wire) == whole({value}));
}

BOOST_AUTO_TEST_CASE(a_cut_changes_nothing)
{
    for (auto const& [wire, value] : examples()) {
        BOOST_TEST(parse_in_pieces(wire, 1) == whole({value}));
        for (std::size_t at = 1; at < wire.size(); ++at) {
            BOOST_TEST(parse_cut(wire, at) == whole({value}));
            parsed const half{{}, false, true};
            BOOST_TEST(parse(std::string_view{wire}.substr(0, at)) == half);
        }
    }
}

BOOST_AUTO_TEST_CASE(messages_in_one_piece_come_one_by_one)
{
    std::string wire;
    std::vector<std::string> values;
    for (int round = 0; round != 300; ++round)
        for (auto const& each : examples()) {
            wire += each.wire;
            values.push_back(each.value);
        }
    BOOST_TEST(parse(wire) == whole(values));
    for (std::size_t const size : {1, 7, 4'095, 4'096, 4'097})
        BOOST_TEST(parse_in_pieces(wire, size) == whole(values));
}

// The buffer moves while the string's header lies behind an older message.
BOOST_AUTO_TEST_CASE(a_long_string_after_a_message_is_read_from_its_place)
{
    feeder f;
    f.feed("+a\r\n$9000\r\n" + std::string(3'000, 'x'));
    f.feed(std::string(6'000, 'x') + "\r\n");
    BOOST_TEST(f.seen() == whole({"'a'", "'" + std::string(9'000, 'x') + "'"}));
}

BOOST_AUTO_TEST_CASE(attributes_are_skipped)
{
    auto const attribute = "|1\r\n+ttl\r\n*2\r\n:1\r\n:2\r\n"s;
    BOOST_TEST(parse(attribute + ":5\r\n") == whole({"5"}));
    BOOST_TEST(parse("|0\r\n:5\r\n") == whole({"5"}));
    BOOST_TEST(parse("|0\r\n|0\r\n" + attribute + attribute + "*0\r\n") == whole({"[]"}));
    BOOST_TEST(
        parse("*2\r\n" + attribute + "+a\r\n" + attribute + "+b\r\n") == whole({"['a' 'b']"})
    );
    BOOST_TEST(parse("*1\r\n" + attribute + "*0\r\n") == whole({"[[]]"}));
    BOOST_TEST(
        parse("%1\r\n+k\r\n" + attribute + "%1\r\n+a\r\n+b\r\n") == whole({"['k' ['a' 'b']]"})
    );
    // Within another one.
    BOOST_TEST(parse("|1\r\n+a\r\n" + attribute + "+b\r\n:5\r\n") == whole({"5"}));
    BOOST_TEST(parse(attribute + ">1\r\n+a\r\n") == whole({">['a']"}));
    // Without its value.
    BOOST_TEST(parse(attribute).has_partial);
    BOOST_TEST(parse("|0\r\n").has_partial);
    auto const nested = "*2\r\n" + attribute + "%1\r\n+a\r\n" + attribute + "+b\r\n:3\r\n";
    for (std::size_t at = 1; at < nested.size(); ++at)
        BOOST_TEST(parse_cut(nested, at) == whole({"[['a' 'b'] 3]"}));
}

BOOST_AUTO_TEST_CASE(a_push_stands_between_replies)
{
    BOOST_TEST(
        parse(":1\r\n>1\r\n+a\r\n:2\r\n>1\r\n*1\r\n+b\r\n:3\r\n") ==
        whole({"1", ">['a']", "2", ">[['b']]", "3"})
    );
    for (auto const* wire : {"*1\r\n>1\r\n+a\r\n", ">1\r\n>0\r\n", "|1\r\n+a\r\n>0\r\n"})
        BOOST_TEST(parse(wire).is_broken, wire);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_stays_a_text)
{
    for (std::string const digits :
         {"9223372036854775808",
          "-9223372036854775809",
          "99999999999999999999999",
          "+1",
          "01",
          "-0",
          "-01",
          " 1",
          "1 ",
          "1x",
          "x",
          "-",
          "--1",
          ""})
        BOOST_TEST(parse(":" + digits + "\r\n") == whole({"'" + digits + "'"}));
}

BOOST_AUTO_TEST_CASE(a_length_that_is_none_breaks_it)
{
    for (std::string const type : {"$", "=", "!", "*", "~", "%", ">", "|"})
        for (std::string const length :
             {"",
              "-2",
              "-",
              "+1",
              "01",
              "00",
              "-0",
              "-01",
              " 1",
              "1 ",
              "1x",
              "?",
              "9223372036854775807",
              "9223372036854775808",
              "18446744073709551615",
              "18446744073709551616"}) {
            auto const wire = type + length + "\r\n";
            BOOST_TEST(parse(wire).is_broken, wire);
            BOOST_TEST(parse_in_pieces(wire, 1).is_broken, wire);
        }
    // Null is a string's or a list's.
    for (std::string const type : {"=", "!", "~", "%", ">", "|"})
        BOOST_TEST(parse(type + "-1\r\n").is_broken, type);
}

BOOST_AUTO_TEST_CASE(what_is_no_resp_breaks_it)
{
    for (auto const& wire :
         {"\r\n"s,
          "\n"s,
          "+\n"s,
          "+OK\n"s,
          ":1\n\r\n"s,
          "$1\na\r\n"s,
          "$1\r\nab\r\n"s,
          "$2\r\na\r\n\r\n"s,
          "$1\r\na\n\r"s,
          "#\r\n"s,
          "#x\r\n"s,
          "#tt\r\n"s,
          "_x\r\n"s,
          ";0\r\n"s,
          ".\r\n"s,
          "OK\r\n"s,
          "\0\r\n"s,
          "HTTP/1.1 400 Bad Request\r\n"s}) {
        BOOST_TEST(parse(wire).is_broken, wire);
        BOOST_TEST(parse_in_pieces(wire, 1).is_broken, wire);
        BOOST_TEST(parse(":1\r\n" + wire) == (parsed{{"1"}, true, false}));
    }
}

BOOST_AUTO_TEST_CASE(it_stays_broken_and_says_why)
{
    feeder f;
    BOOST_TEST(!f.parser().complaint());
    f.feed("?\r\n");
    BOOST_TEST(f.seen().is_broken);
    BOOST_TEST_REQUIRE(f.parser().complaint());
    auto const room = f.parser().prepare();
    std::memcpy(room.data(), "+OK\r\n", 5);
    f.parser().commit(5);
    BOOST_TEST((f.parser().next() == resp::parser::outcome::broken));
}

BOOST_AUTO_TEST_CASE(a_whole_message_is_no_partial_one)
{
    resp::parser p;
    BOOST_TEST((p.next() == resp::parser::outcome::more));
    auto const room = p.prepare();
    std::memcpy(room.data(), ":1\r\n:2", 6);
    p.commit(4);
    BOOST_TEST((p.next() == resp::parser::outcome::message));
    BOOST_TEST(!p.has_partial());
    p.commit(2);
    BOOST_TEST(p.has_partial());
    BOOST_TEST((p.next() == resp::parser::outcome::more));
    BOOST_TEST(p.has_partial());
}

BOOST_AUTO_TEST_CASE(values_are_taken_one_after_the_other)
{
    resp::parser p;
    std::string_view const wire = "*3\r\n:1\r\n*2\r\n+a\r\n+b\r\n-ERR\r\n";
    auto const room = p.prepare();
    std::memcpy(room.data(), wire.data(), wire.size());
    p.commit(wire.size());
    BOOST_TEST_REQUIRE((p.next() == resp::parser::outcome::message));
    auto const m = p.last();
    BOOST_TEST(!m.is_error());
    BOOST_TEST(m.nodes().size() == 6U);
    resp::value_reader values{m};
    auto const* const list = values.next_node();
    BOOST_TEST_REQUIRE(list);
    BOOST_TEST((list->what == resp::node::kind::list && list->number == 3));
    BOOST_TEST(shown(values.next()) == "1");
    BOOST_TEST(shown(values.next()) == "['a' 'b']");
    BOOST_TEST(shown(values.next()) == "!ERR");
    BOOST_TEST(!values.next_node());
    BOOST_TEST(shown(values.next()) == "nil");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
