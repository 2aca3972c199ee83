// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a connection begins with, and what is made of the answers.
#include "colock_scripts.hpp"
#include "redis/permissions.hpp"
#include "redis/set_up.hpp"
#include "resp/parser.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
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
    credentials who;
    set_up::role wanted = set_up::role::any;

    set_up begun() const { return set_up_of_servers(settings, who, wanted); }
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
    who.password = "secret";
    BOOST_TEST(written() == one_array({"HELLO", "3", "AUTH", "default", "secret"}));
    who.username = "me";
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
    auto const in_cluster =
        judge({hello("master"), reply::error("ERR SELECT is not allowed in cluster mode")});
    BOOST_TEST((in_cluster.ec == error::server_refused));
    BOOST_TEST(in_cluster.words.find("cluster-databases") != std::string::npos);
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

using decide::reply;

BOOST_AUTO_TEST_SUITE(permissions)

BOOST_AUTO_TEST_CASE(each_command_of_the_scripts_is_asked_about)
{
    resp::writer probe;
    pubsub_permission_probe(probe, {}, publishing::plain);
    constexpr std::string_view opening = "call('";
    for (auto const* script : scripts::all)
        for (auto rest = script->text; rest.find(opening) != rest.npos;) {
            rest.remove_prefix(rest.find(opening) + opening.size());
            auto const command = std::string{rest.substr(0, rest.find('\''))};
            bool const is_needed = command != "info";  // a server that refuses it votes at once
            BOOST_TEST(
                (!is_needed || probe.bytes().find("\r\n" + command + "\r\n") != std::string::npos),
                command
            );
        }
}

BOOST_AUTO_TEST_CASE(what_is_allowed_or_not_known_is_no_complaint)
{
    for (auto const& answer :
         {reply::of(std::vector<reply>{}),
          reply::error("ERR something else"),
          reply::of(std::vector<reply>{reply::of(std::int64_t{0}), reply::of(std::int64_t{999})}
          )}) {
        auto const found = judge_permissions(answer, {}, publishing::plain);
        BOOST_TEST(found.refusal.empty());
        BOOST_TEST(found.warnings.empty());
        BOOST_TEST(!found.by_text);
    }
}

BOOST_AUTO_TEST_CASE(remedies_name_the_rule_and_no_password)
{
    config c;
    c.username = "app";
    c.password = "secret";
    auto const remedy_of = [&](std::string_view text) { return permission_remedy(text, c); };
    BOOST_TEST(remedy_of("ERR wrong number of arguments").empty());
    BOOST_TEST(
        remedy_of("NOPERM this user has no permissions to run the 'eval' command") ==
        ". Remedy: ACL SETUSER app +eval"
    );
    BOOST_TEST(
        remedy_of("NOPERM User app has no permissions to run the 'script|load' command") ==
        ". Remedy: ACL SETUSER app +script|load"
    );
    BOOST_TEST(
        remedy_of(
            "ERR ACL failure in script: User app has no permissions to run the 'hscan' command "
            "script: 44f7, on @user_script:18."
        ) == ". Remedy: ACL SETUSER app +hscan"
    );
    BOOST_TEST(
        remedy_of("ERR The user executing the script can't run this command or subcommand script: "
                  "44f7, on @user_script:18."
        ) == ". Remedy: for user app the rules in docs/deployments.md"
    );
    BOOST_TEST(
        remedy_of("NOPERM this user has no permissions to run the 'secret' command") ==
        ". Remedy: ACL SETUSER app +***"
    );
    BOOST_TEST(
        remedy_of(
            "ERR Error running script (call to f_cf8d): @user_script:1: @user_script: 1: Write "
            "commands not allowed after non deterministic commands. Call "
            "redis.replicate_commands() at the start of your script in order to switch to "
            "single commands replication mode."
        ) == ". Remedy: lua-replicate-commands yes"
    );
    std::string_view const keys[]{"a", "b"};
    BOOST_TEST(
        permission_remedy("NOPERM No permissions to access a key", c, keys) ==
        "; its keys: a, b. Remedy: ACL SETUSER app ~<pattern of its keys>"
    );
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// Replies as they are built from the wire.

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
