// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "colock_scripts.hpp"
#include "redis/permissions.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace colock::test {

using decide::reply;

BOOST_AUTO_TEST_SUITE(permissions)

BOOST_AUTO_TEST_CASE(each_command_of_the_scripts_is_asked_about)
{
    resp::writer probe;
    push_permission_probe(probe, {}, publishing::plain);
    constexpr std::string_view opening = "call('";
    for (auto const* script : scripts::all)
        for (auto rest = script->text; rest.find(opening) != rest.npos;) {
            rest.remove_prefix(rest.find(opening) + opening.size());
            auto const command = std::string{rest.substr(0, rest.find('\''))};
            BOOST_TEST(probe.bytes().find("\r\n" + command + "\r\n") != std::string::npos, command);
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
    std::string_view const keys[]{"a", "b"};
    BOOST_TEST(
        permission_remedy("NOPERM No permissions to access a key", c, keys) ==
        "; its keys: a, b. Remedy: ACL SETUSER app ~<pattern of its keys>"
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
