// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a connection begins with, and what is made of the answers.
#include "redis/set_up.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

namespace {

using decide::reply;

reply hello(std::string_view role)
{
    return reply::of(std::vector{
        reply::of(std::string_view{"server"}),
        reply::of(std::string_view{"redis"}),
        reply::of(std::string_view{"role"}),
        reply::of(role)});
}

struct beginnings {
    config settings;
    set_up::role wanted = set_up::role::any;

    set_up begun() const { return set_up_of_servers(settings, wanted); }
    set_up::verdict judge(std::vector<reply> const& got) const { return begun().judge(got); }
    std::string written() const
    {
        resp::writer out;
        begun().write(out);
        return out.bytes();
    }
};

std::string one_array(std::initializer_list<std::string_view> all)
{
    resp::writer out;
    out.push_range(all);
    return out.bytes();
}

BOOST_FIXTURE_TEST_SUITE(redis_set_up, beginnings)

BOOST_AUTO_TEST_CASE(it_asks_for_what_the_config_says)
{
    settings.client_name.clear();
    BOOST_TEST(written() == one_array({"HELLO", "3"}));
    settings.password = "secret";
    BOOST_TEST(written() == one_array({"HELLO", "3", "AUTH", "default", "secret"}));
    settings.username = "me";
    settings.client_name = "c";
    settings.database = 4;
    BOOST_TEST(
        written() ==
        one_array({"HELLO", "3", "AUTH", "me", "secret", "SETNAME", "c"}) +
            one_array({"SELECT", "4"})
    );
}

BOOST_AUTO_TEST_CASE(a_password_that_is_refused_is_said)
{
    for (auto const* const text :
         {"WRONGPASS invalid username-password pair or user is disabled.",
          "NOAUTH HELLO must be called with the client already authenticated",
          "NOPERM this user has no permissions to run the 'hello' command",
          "DENIED Redis is running in protected mode",
          "NOPROTO unsupported protocol version",
          "ERR invalid password",
          "ERR unknown command `HELLO`, with args beginning with: `3`"}) {
        auto const got = judge({reply::error(text)});
        BOOST_TEST((got.ec == error::server_refused), text);
        BOOST_TEST(!got.words.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_has_no_room_just_now_is_waited_for)
{
    for (auto const* const text :
         {"ERR max number of clients reached",
          "LOADING Redis is loading the dataset in memory",
          "ERR something of a proxy"})
        BOOST_TEST((judge({reply::error(text)}).ec == error::unavailable), text);
}

BOOST_AUTO_TEST_CASE(another_database_is_no_place_for_a_lock)
{
    settings.database = 4;
    BOOST_TEST(!judge({hello("master"), reply::of(std::string_view{"OK"})}).ec);
    auto const refused = judge({hello("master"), reply::error("ERR DB index is out of range")});
    BOOST_TEST((refused.ec == error::server_refused));
    BOOST_TEST(refused.words.find("SELECT") != std::string::npos);
    auto const loading = judge({hello("master"), reply::error("LOADING the dataset")});
    BOOST_TEST((loading.ec == error::unavailable));
    BOOST_TEST((judge({hello("master")}).ec == error::bad_reply));
}

BOOST_AUTO_TEST_CASE(a_replica_is_no_primary)
{
    for (auto const role : {"replica", "slave"}) {
        wanted = set_up::role::primary;
        auto const refused = judge({hello(role)});
        BOOST_TEST((refused.ec == error::unavailable));
        BOOST_TEST(refused.is_replica);
        wanted = set_up::role::any;
        auto const taken = judge({hello(role)});
        BOOST_TEST(!taken.ec);
        BOOST_TEST(taken.is_replica);
    }
    wanted = set_up::role::primary;
    BOOST_TEST(!judge({hello("master")}).ec);
    BOOST_TEST(!judge({hello("master")}).is_replica);
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_to_hello_is_none)
{
    BOOST_TEST((judge({}).ec == error::bad_reply));
    BOOST_TEST((judge({reply::of(std::string_view{"OK"})}).ec == error::bad_reply));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
