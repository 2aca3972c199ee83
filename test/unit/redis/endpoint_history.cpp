// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/endpoint_history.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace {

using asio::ip::tcp;
using endpoints = std::vector<endpoint_history::endpoint>;

tcp::endpoint node(unsigned char last) { return {asio::ip::address_v4{{10, 0, 0, last}}, 6379}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(redis_endpoint_history)

BOOST_AUTO_TEST_CASE(the_one_that_has_served_comes_first)
{
    endpoint_history known;
    std::vector const found{node(1), node(2), node(3)};
    BOOST_TEST((known.in_order(found) == endpoints{node(1), node(2), node(3)}));
    BOOST_TEST(known.in_order(endpoints{}).empty());
    known.served(node(2));
    BOOST_TEST((known.in_order(found) == endpoints{node(2), node(1), node(3)}));
    BOOST_TEST((known.good() == endpoint_history::endpoint{node(2)}));
}

// Each of them has its turn, whatever order the name servers give.
BOOST_AUTO_TEST_CASE(the_one_that_failed_last_comes_last)
{
    endpoint_history known;
    std::vector const found{node(1), node(2), node(3)};
    known.served(node(1));
    known.failed(node(1));
    BOOST_TEST(!known.good());
    BOOST_TEST((known.in_order(found) == endpoints{node(2), node(3), node(1)}));
    known.failed(node(2));
    BOOST_TEST((known.in_order(found) == endpoints{node(3), node(1), node(2)}));
    known.failed(node(3));
    BOOST_TEST((known.in_order(found) == endpoints{node(1), node(2), node(3)}));
    known.failed(node(1));
    BOOST_TEST((known.in_order(found) == endpoints{node(2), node(3), node(1)}));
    known.served(node(2));
    BOOST_TEST((known.in_order(found) == endpoints{node(2), node(3), node(1)}));
}

BOOST_AUTO_TEST_CASE(without_name_servers_there_is_one_to_try)
{
    endpoint_history known;
    known.failed(node(1));
    known.failed(node(2));
    BOOST_TEST((known.in_order(endpoints{}) == endpoints{node(1)}));
    known.served(node(2));
    BOOST_TEST((known.in_order(endpoints{}) == endpoints{node(2)}));
}

BOOST_AUTO_TEST_CASE(few_are_remembered)
{
    endpoint_history known;
    for (unsigned char n = 1; n != 100; ++n)
        known.failed(node(n));
    BOOST_TEST((known.in_order(std::vector{node(99), node(1)}) == endpoints{node(1), node(99)}));
    BOOST_TEST((known.in_order(endpoints{}) == endpoints{node(84)}));
}

BOOST_AUTO_TEST_CASE(each_address_has_a_history_of_its_own)
{
    endpoint_histories all;
    address const one{.host = "one"}, two{.host = "two"};
    all.of(one).served(node(1));
    BOOST_TEST(all.of(two).in_order(endpoints{}).empty());
    all.of(two).failed(node(2));
    BOOST_TEST((all.of(one).in_order(endpoints{}) == endpoints{node(1)}));
    for (int n = 0; n != 255; ++n)
        all.of({.host = std::to_string(n)});
    BOOST_TEST(all.of(one).in_order(endpoints{}).empty());  // the oldest one
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
