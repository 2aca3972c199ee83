// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Replies as they are built from the wire.
#include "resp/parser.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace colock::test {

namespace {

using decide::reply;

reply read(std::string_view bytes)
{
    resp::parser parser;
    auto const room = parser.prepare();
    std::ranges::copy(bytes, room.begin());
    parser.commit(bytes.size());
    BOOST_TEST_REQUIRE((parser.next() == resp::parser::outcome::message));
    auto const got = resp::to_reply(parser.last());
    BOOST_TEST((parser.next() == resp::parser::outcome::more));
    return got;
}

BOOST_AUTO_TEST_SUITE(replies)

BOOST_AUTO_TEST_CASE(a_number_is_one_as_a_whole)
{
    BOOST_TEST(read(":-2\r\n").number == -2);
    BOOST_TEST(read(":9223372036854775807\r\n").number == INT64_MAX);
    for (auto const* bytes : {":9223372036854775808\r\n", ":1x\r\n", ":x\r\n", ":+1\r\n"}) {
        auto const r = read(bytes);
        BOOST_TEST((r.what == reply::kind::text), bytes);
        BOOST_TEST((decide::read_acquire(r).what == decide::acquire_answer::kind::malformed));
    }
}

BOOST_AUTO_TEST_CASE(lists_keep_their_depth)
{
    auto const r = read("*3\r\n:1\r\n*2\r\n_\r\n$1\r\na\r\n-ERR x\r\n");
    BOOST_TEST_REQUIRE(r.items.size() == 3U);
    BOOST_TEST_REQUIRE(r.items[1].items.size() == 2U);
    BOOST_TEST((r.items[1].items[0].what == reply::kind::nil));
    BOOST_TEST(r.items[1].items[1].text == "a");
    BOOST_TEST((r.items[2].what == reply::kind::error));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
