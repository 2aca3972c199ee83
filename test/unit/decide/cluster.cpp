// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/slot_map.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace {

using decide::read_redirection;
using decide::redirection;
using decide::reply;
using decide::slot_map;
using decide::slot_range;
using kind = redirection::kind;

BOOST_AUTO_TEST_SUITE(decide_redirection)

BOOST_AUTO_TEST_CASE(who_has_the_slot)
{
    auto const moved = read_redirection("MOVED 3999 127.0.0.1:6381");
    BOOST_TEST((moved.what == kind::moved));
    BOOST_TEST(moved.slot == 3'999U);
    BOOST_TEST(moved.host == "127.0.0.1");
    BOOST_TEST(moved.port == 6'381);
    auto const ask = read_redirection("ASK 0 ::1:7000");
    BOOST_TEST((ask.what == kind::ask));
    BOOST_TEST(ask.host == "::1");
    BOOST_TEST(ask.port == 7'000);
    BOOST_TEST(read_redirection("MOVED 16383 :1").host == "");
    BOOST_TEST(read_redirection("MOVED 16383 ?:1").host == "");
}

BOOST_AUTO_TEST_CASE(a_redirection_to_nowhere_is_none)
{
    for (auto const* text :
         {"MOVED",
          "MOVED ",
          "MOVED 1",
          "MOVED 1 host",
          "MOVED x host:1",
          "MOVED 16384 host:1",
          "MOVED 1 host:65536",
          "MOVED 1 host:",
          "ASK 1 host:x",
          "ASKING 1 host:1",
          "",
          "ERR wrong"})
        BOOST_TEST((read_redirection(text).what == kind::none), text);
}

BOOST_AUTO_TEST_CASE(what_else_a_node_of_a_cluster_says)
{
    BOOST_TEST((read_redirection("TRYAGAIN Multiple keys").what == kind::try_again));
    BOOST_TEST((read_redirection("CLUSTERDOWN Hash slot not served").what == kind::down));
    for (auto const* text :
         {"ERR Script attempted to access a non local key in a cluster node script: 01, on @user",
          "ERR Script attempted to access a non local key in a cluster node",
          "ERR Error running script: Lua script attempted to access a non local key"})
        BOOST_TEST((read_redirection(text).what == kind::cut_off), text);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(decide_slot_map)

reply range(int first, int last, std::string const& host, int port)
{
    auto const node = reply::of(std::vector{
        reply::of(std::string_view{host}), reply::of(std::int64_t{port}), reply::of("id")});
    return reply::of(std::vector{
        reply::of(std::int64_t{first}), reply::of(std::int64_t{last}), node, node});
}

BOOST_AUTO_TEST_CASE(what_cluster_slots_says)
{
    auto const all = reply::of(std::vector{range(0, 99, "a", 1), range(100, 16'383, "", 2)});
    auto const read = decide::read_cluster_slots(all, "asked");
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST((*read == std::vector<slot_range>{{0, 99, {"a", 1}}, {100, 16'383, {"asked", 2}}}));
    BOOST_TEST(decide::read_cluster_slots(reply::of(std::vector<reply>{}), "h")->empty());
    // A node that does not know its own host, or has no port for this kind of connection.
    auto const odd = reply::of(std::vector{range(0, 1, "?", 1), range(2, 3, "b", 0)});
    BOOST_TEST(decide::read_cluster_slots(odd, "h")->empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_to_cluster_slots)
{
    auto const is_refused = [](reply const& r) { return !decide::read_cluster_slots(r, "h"); };
    BOOST_TEST(is_refused(reply{}));
    BOOST_TEST(is_refused(reply::error("ERR")));
    BOOST_TEST(is_refused(reply::of(std::vector{reply::of(1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(-1, 1, "h", 1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(0, 16'384, "h", 1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(0, 1, "h", 65'536)})));
}

BOOST_AUTO_TEST_CASE(only_what_changes_is_told)
{
    slot_map map;
    BOOST_TEST(map.owner_of(5) == slot_map::nobody);
    BOOST_TEST(!map.is_whole());
    BOOST_TEST(map.take({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}}).count() == 16'384U);
    BOOST_TEST(map.is_whole());
    BOOST_TEST(map.take({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}}).none());
    auto const changed = map.take({{0, 89, {"a", 1}}, {90, 16'383, {"b", 1}}});
    BOOST_TEST(changed.count() == 10U);
    BOOST_TEST(changed[90]);
    BOOST_TEST(map.take({{0, 89, {"a", 1}}}).count() == 16'294U);
    BOOST_TEST(!map.is_whole());
    BOOST_TEST(!map.serves(1));
}

BOOST_AUTO_TEST_CASE(a_node_keeps_its_number)
{
    slot_map map;
    map.take({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}});
    BOOST_TEST(!map.move(100, {"b", 1}));
    BOOST_TEST(map.move(100, {"c", 1}));
    BOOST_TEST(map.owner_of(100) == 2U);
    map.take({{0, 16'383, {"c", 1}}});
    BOOST_TEST(!map.serves(0));
    map.take({{0, 16'383, {"a", 1}}});
    BOOST_TEST(map.owner_of(7) == 0U);
    BOOST_TEST(map.nodes().size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
