// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/complaint.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(complaint)

template <class Change>
std::string about(std::string_view url, Change const& change)
{
    auto c = *config::parse(url);
    change(c);
    auto const* const found = decide::complaint_about(c);
    return found ? found : "";
}

std::string about(std::string_view url)
{
    return about(url, [](config&) {});
}

BOOST_AUTO_TEST_CASE(a_path_that_asio_would_throw_at)
{
    auto const with = [](std::size_t size) {
        return about("unix:///s", [size](config& c) {
            c.addresses.front().unix_socket = std::string(size, '/');
        });
    };
    BOOST_TEST(with(107) == "");
    BOOST_TEST(with(108) == "a unix socket's path is longer than the system allows");
}

BOOST_AUTO_TEST_CASE(what_a_url_says_is_right)
{
    for (auto const* url :
         {"redis://h",
          "rediss://h",
          "unix:///s",
          "redis+sentinel://h1,h2/m/3",
          "redis+cluster://h1,h2",
          "rediss+cluster://h"})
        BOOST_TEST(about(url) == "", url);
}

BOOST_AUTO_TEST_CASE(a_place_that_is_none)
{
    auto const named = [](std::string const& complaint, std::string_view what) {
        BOOST_TEST(complaint.starts_with(what), complaint);
    };
    auto const two = [](config& c) { c.addresses.resize(2); };
    named(about("redis://h", two), "addresses has several");
    named(about("redis://h", [](config& c) { c.addresses.front().port = 0; }), "port");
    named(about("redis+sentinel://h/m", [](config& c) { c.master_name.clear(); }), "master_name");
    named(about("rediss+sentinel://h/m"), "tls.server_name");
    BOOST_TEST(about("rediss+sentinel://h/m", [](config& c) { c.tls.server_name = "db"; }) == "");
    BOOST_TEST(about("rediss+sentinel://h/m", [](config& c) { c.tls.verify = false; }) == "");
    named(about("redis+cluster://h", [](config& c) { c.database = 1; }), "database");
    auto const with_prefix = [](char const* prefix) {
        return about("redis+cluster://h", [prefix](config& c) { c.key_prefix = prefix; });
    };
    BOOST_TEST(with_prefix("shop:") == "");
    BOOST_TEST(with_prefix("{shop}:") == "");
    named(with_prefix("a{b"), "key_prefix");
    named(with_prefix("{}"), "key_prefix");
    named(with_prefix("a}"), "key_prefix");
    named(about("unix:///s", [](config& c) { c.tls.enabled = true; }), "a unix socket");
    named(about("unix:///s", [](config& c) { c.topology = topology::cluster; }), "a unix socket");
}

BOOST_AUTO_TEST_CASE(connections_that_cannot_be)
{
    auto const with = [](auto const& change) { return about("redis://h", change); };
    BOOST_TEST(with([](config& c) { c.tls.certificate_file = "c"; }) != "");
    BOOST_TEST(with([](config& c) { c.tls.private_key_file = "k"; }) != "");
    BOOST_TEST(with([](config& c) { c.publish = publishing::sharded; }) != "");
    BOOST_TEST(with([](config& c) { c.publish = publishing::both; }) != "");
    BOOST_TEST(with([](config& c) { c.publish = publishing::plain; }) == "");
    BOOST_TEST(with([](config& c) { c.key_prefix.assign(1'001, 'x'); }) != "");
    BOOST_TEST(with([](config& c) { c.key_prefix.assign(1'000, 'x'); }) == "");
    BOOST_TEST(with([](config& c) { c.connect_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.silence_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.sync_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.close_timeout = -1ms; }) != "");
    BOOST_TEST(with([](config& c) { c.close_timeout = 0ms; }) == "");
    BOOST_TEST(with([](config& c) { c.sync_timeout = config::milliseconds::max(); }) != "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
