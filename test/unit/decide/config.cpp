// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/validate.hpp"
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace {

BOOST_AUTO_TEST_SUITE(config_url)

config read(std::string_view url)
{
    auto const got = config::parse(url);
    BOOST_TEST_REQUIRE(got.has_value(), url << ": " << (got ? "" : got.error().message()));
    BOOST_TEST_REQUIRE(got->addresses.size() == 1U);
    return *got;
}

void check_tcp(std::string_view url, std::string const& host, int port, int database = 0)
{
    BOOST_TEST_CONTEXT(url)
    {
        auto const got = read(url);
        BOOST_TEST(got.addresses.front().host == host);
        BOOST_TEST(int{got.addresses.front().port} == port);
        BOOST_TEST(got.addresses.front().unix_socket.empty());
        BOOST_TEST(got.database == database);
    }
}

BOOST_AUTO_TEST_CASE(hosts_ports_and_databases)
{
    check_tcp("redis://localhost", "localhost", 6379);
    check_tcp("redis://localhost/", "localhost", 6379);
    check_tcp("redis://10.0.0.1:7000", "10.0.0.1", 7000);
    check_tcp("redis://cache.example.org:65535/15", "cache.example.org", 65'535, 15);
    check_tcp("redis://h:1/2147483647", "h", 1, 2'147'483'647);
    check_tcp("redis://[::1]", "::1", 6379);
    check_tcp("redis://[fe80::1]:7000/3", "fe80::1", 7000, 3);
}

BOOST_AUTO_TEST_CASE(names_that_the_system_would_not_take_whole)
{
    using namespace std::string_view_literals;
    BOOST_TEST((config::parse("redis://h\0.example"sv).error() == error::invalid_url_host));
    BOOST_TEST((config::parse("unix:///run/a%00b").error() == error::invalid_url_path));
    auto const path = "unix:///" + std::string(106, 'a');
    BOOST_TEST(config::parse(path).has_value());
    BOOST_TEST((config::parse(path + "a").error() == error::invalid_url_path));
}

BOOST_AUTO_TEST_CASE(unix_sockets)
{
    auto const plain = read("unix:///run/redis.sock");
    BOOST_TEST(plain.addresses.front().unix_socket == "/run/redis.sock");
    BOOST_TEST(plain.database == 0);
    auto const full = read("unix://me:secret@/run/re%20dis.sock?db=4");
    BOOST_TEST(full.addresses.front().unix_socket == "/run/re dis.sock");
    BOOST_TEST(full.username == "me");
    BOOST_TEST(full.password == "secret");
    BOOST_TEST(full.database == 4);
    // An @ in the path is part of the path.
    BOOST_TEST(read("unix:///run/a@b.sock").addresses.front().unix_socket == "/run/a@b.sock");
}

BOOST_AUTO_TEST_CASE(a_list_of_a_primary_and_its_replicas)
{
    auto const got = *config::parse("rediss+replicated://me:secret@h1:1,[::1],h3/2");
    BOOST_TEST((got.topology == topology::replicated));
    BOOST_TEST((got.addresses.size() == 3U && got.addresses[1].host == "::1"));
    BOOST_TEST((got.addresses[0].port == 1 && got.addresses[2].port == 6379));
    BOOST_TEST((got.database == 2 && got.username == "me" && got.tls.enabled));
    BOOST_TEST(decide::validate(got) == nullptr);
    BOOST_TEST((config::parse("redis+replicated://h1,h2,h1").error() == error::invalid_url_host));
    auto twice = got;
    twice.addresses.push_back(twice.addresses.front());
    BOOST_TEST_REQUIRE(decide::validate(twice) != nullptr);
    BOOST_TEST(std::string{decide::validate(twice)}.find("twice") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sentinels)
{
    auto const got = *config::parse("rediss+sentinel://me:secret@h1:1,[::1],h3/my%20name/2");
    BOOST_TEST((got.topology == topology::sentinel));
    BOOST_TEST(got.tls.enabled);
    BOOST_TEST((got.addresses == std::vector<address>{{"h1", 1}, {"::1", 26'379}, {"h3", 26'379}}));
    BOOST_TEST(got.master_name == "my name");
    BOOST_TEST(got.database == 2);
    BOOST_TEST(got.password == "secret");
    BOOST_TEST(!config::parse("redis+sentinel://h/m")->tls.enabled);
}

BOOST_AUTO_TEST_CASE(clusters)
{
    auto const got = *config::parse("redis+cluster://h1:7000,h2/");
    BOOST_TEST((got.topology == topology::cluster));
    BOOST_TEST(!got.tls.enabled);
    BOOST_TEST((got.addresses == std::vector<address>{{"h1", 7'000}, {"h2", 6'379}}));
    BOOST_TEST(config::parse("rediss+cluster://h/0")->tls.enabled);
}

BOOST_AUTO_TEST_CASE(tls)
{
    auto const got = read("rediss://h:1/2");
    BOOST_TEST(got.tls.enabled);
    BOOST_TEST(got.database == 2);
    BOOST_TEST((got.topology == topology::single));
}

BOOST_AUTO_TEST_CASE(credentials)
{
    auto const check = [](std::string_view url, std::string_view user, std::string_view password) {
        BOOST_TEST_CONTEXT(url)
        {
            auto const got = read(url);
            BOOST_TEST(got.username == user);
            BOOST_TEST(got.password == password);
            BOOST_TEST(got.addresses.front().host == "h");
        }
    };
    check("redis://h", "", "");
    check("redis://:secret@h", "", "secret");
    check("redis://me:secret@h", "me", "secret");
    check("redis://me@h", "me", "");
    check("redis://me:@h", "me", "");
    check("redis://a%40b:p%3A%2f%25@h:1/2", "a@b", "p:/%");
    check("redis://me:p@ss@h", "me", "p@ss");
    check("redis://me:a:b@h", "me", "a:b");
    check("redis://me:a/b@h/3", "me", "a/b");
}

BOOST_AUTO_TEST_CASE(each_bad_part_is_named)
{
    auto const check = [](std::string_view url, error expected) {
        auto const got = config::parse(url);
        BOOST_TEST_REQUIRE(got.has_error(), url);
        BOOST_TEST((got.error() == expected), url << ": " << got.error().message());
    };
    for (auto const* url :
         {"",
          "localhost",
          "redis:/h",
          "http://h",
          "REDIS://h",
          "redis",
          "://h",
          " redis://h",
          "rediss+unix://h",
          "unix+cluster:///s",
          "redis+cluste://h",
          "redis+://h"})
        check(url, error::invalid_url_scheme);
    for (auto const* url :
         {"redis+sentinel://h",
          "redis+sentinel://h1,h2/",
          "redis+sentinel://h//0",
          "rediss+sentinel://h/%zz"})
        check(url, error::invalid_url_master);
    for (auto const* url : {"redis+cluster://h/x", "redis+sentinel://h/m/x", "rediss://h/x"})
        check(url, error::invalid_url_database);
    for (auto const* url :
         {"redis+cluster://",
          "redis+cluster://h,",
          "redis+cluster://,h",
          "redis+sentinel:///m",
          "rediss://"})
        check(url, error::invalid_url_host);
    check("redis+cluster://h1:1,h2:x", error::invalid_url_port);
    for (auto const* url :
         {"redis://%@h",
          "redis://a%4@h",
          "redis://a%4g@h",
          "redis://me:%zz@h",
          "redis://me:a%@h",
          "unix://me:%f@/s"})
        check(url, error::invalid_url_credentials);
    for (auto const* url :
         {"redis://",
          "redis:///0",
          "redis://:7000",
          "redis://a b",
          "redis://h1,h2",
          "redis://[::1",
          "redis://[]",
          "redis://[::1]x",
          "redis://<h>",
          "redis://h[]",
          "redis://[[::1]",
          "redis://h\n",
          "redis://a\\b"})
        check(url, error::invalid_url_host);
    for (auto const* url :
         {"redis://h:",
          "redis://h:0",
          "redis://h:65536",
          "redis://h:-1",
          "redis://h:12x",
          "redis://h: 1",
          "redis://h:99999999999999999999",
          "redis://[::1]:",
          "redis://[::1]:x",
          "redis://h:1:2",
          "redis://h:+1",
          "redis://h:0x10"})
        check(url, error::invalid_url_port);
    for (auto const* url :
         {"redis://h/x",
          "redis://h/-1",
          "redis://h/1/2",
          "redis://h/2147483648",
          "redis://h/ 1",
          "redis://h//",
          "unix:///s?db=",
          "unix:///s?db=x",
          "unix:///s?db=1&db=2"})
        check(url, error::invalid_url_database);
    for (auto const* url : {"unix://", "unix:///", "unix://s", "unix:///%2", "unix://me@s"})
        check(url, error::invalid_url_path);
    for (auto const* url :
         {"redis://h?db=1", "redis://h/0?x=1", "redis://h#f", "unix:///s?", "unix:///s?x=1"})
        check(url, error::invalid_url_option);
}

BOOST_AUTO_TEST_CASE(a_bad_url_throws_a_text_that_names_the_part_and_no_password)
{
    auto const text_of = [](std::string_view url) -> std::string {
        try {
            config::from_url(url);
        } catch (boost::system::system_error const& e) {
            BOOST_TEST(std::string{e.what()}.find("hunter2") == std::string::npos);
            return e.what();
        }
        BOOST_ERROR("no exception for " << url);
        return {};
    };
    auto const check = [&](std::string_view url, std::string_view part) {
        auto const text = text_of(url);
        BOOST_TEST(text.find(part) != text.npos, url << ": " << text);
    };
    check("http://me:hunter2@h", "scheme");
    check("redis://me:hunter2%@h", "password");
    check("redis://me:hunter2@", "host");
    check("redis://me:hunter2@h:x", "port");
    check("redis://me:hunter2@h/x", "database");
    check("unix://me:hunter2@s", "path");
    check("redis://me:hunter2@h?x=1", "option");
    // The password not ended by an @ is taken for a port: still not shown.
    check("redis://me:hunter2", "port");
    check("redis+sentinel://me:hunter2@h", "primary");
}

BOOST_AUTO_TEST_CASE(a_good_url_leaves_the_rest_at_its_defaults)
{
    auto const got = config::from_url("redis://me:pw@h:7/1");
    config const plain;
    BOOST_TEST((got.lease == plain.lease && got.poll_cap == plain.poll_cap));
    BOOST_TEST(got.links == plain.links);
    BOOST_TEST(got.fencing);
    BOOST_TEST(!got.observer);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_read_without_harm)
{
    std::string const alphabet = "redis+unix:/?@#%[]:,0129afzé \\";
    unsigned state = 12'345;
    int good = 0;
    for (int i = 0; i != 20'000; ++i) {
        std::string url = i % 2 ? "redis://" : "unix://";
        for (unsigned length = (state >> 8) % 24; length != 0; --length) {
            state = state * 1'664'525 + 1'013'904'223;
            url += alphabet[(state >> 16) % alphabet.size()];
        }
        state = state * 1'664'525 + 1'013'904'223;
        if (auto const got = config::parse(url)) {
            ++good;
            auto const& to = got->addresses.front();
            BOOST_TEST_REQUIRE(
                (to.unix_socket.empty() ? to.port != 0 && !to.host.empty()
                                        : to.unix_socket.front() == '/'),
                url
            );
        }
    }
    BOOST_TEST(good > 100);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(error_codes)

BOOST_AUTO_TEST_CASE(begin_at_one_and_have_texts)
{
    BOOST_TEST(static_cast<int>(error::closed) == 1);
    error_code const none{0, error_category()};
    BOOST_TEST(!none);
    BOOST_TEST(std::string{error_category().name()} == "colock");
    for (int i = 1; i <= static_cast<int>(error::would_deadlock); ++i) {
        auto const ec = make_error_code(static_cast<error>(i));
        BOOST_TEST(ec.failed());
        BOOST_TEST(ec.message() != "unknown colock error", i);
        char buffer[256];
        BOOST_TEST(std::string{ec.message(buffer, sizeof buffer)} == ec.message());
    }
    BOOST_TEST(error_code(99, error_category()).message() == "unknown colock error");
    error_code const lost = error::lost;
    BOOST_TEST((lost == error::lost));
}

BOOST_AUTO_TEST_SUITE_END()

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(config_validation)

template <class Change>
std::string about(std::string_view url, Change const& change)
{
    auto c = *config::parse(url);
    change(c);
    auto const* const found = decide::validate(c);
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
    BOOST_TEST(about("rediss+sentinel://h/m") == "");
    BOOST_TEST(about("redis+cluster://h/1") == "");  // the server says whether it has that one
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
    auto const provided = [](credentials_request const&, credentials_handler const&) {};
    BOOST_TEST(with([&](config& c) { c.credentials = provided; }) == "");
    BOOST_TEST(with([&](config& c) { c.sentinel_credentials = provided; }) == "");
    for (auto const password : {&config::password, &config::sentinel_password})
        BOOST_TEST(with([&](config& c) {
                       c.credentials = c.sentinel_credentials = provided;
                       c.*password = "p";
                   }) != "");
    BOOST_TEST(with([](config& c) { c.key_prefix.assign(1'001, 'x'); }) != "");
    BOOST_TEST(with([](config& c) { c.key_prefix.assign(1'000, 'x'); }) == "");
    BOOST_TEST(with([](config& c) { c.connect_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.silence_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.sync_timeout = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.warn_wait = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.warn_hold = 0ms; }) != "");
    BOOST_TEST(with([](config& c) { c.warn_wait = c.warn_hold = 1ms; }) == "");
    BOOST_TEST(with([](config& c) { c.warn_wait = config::milliseconds::max(); }) != "");
    BOOST_TEST(with([](config& c) { c.warn_hold = config::milliseconds::max(); }) != "");
    BOOST_TEST(with([](config& c) { c.close_timeout = -1ms; }) != "");
    BOOST_TEST(with([](config& c) { c.close_timeout = 0ms; }) == "");
    BOOST_TEST(with([](config& c) { c.sync_timeout = config::milliseconds::max(); }) != "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
