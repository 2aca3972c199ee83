// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a new connection asks about its permissions.
#include "redis/permissions.hpp"
#include "resp/parser.hpp"
#include "simulation/conformance/subject.hpp"

#include <algorithm>
#include <string>

namespace colock::simulation {

namespace {

/// The words of the command.
strings probe()
{
    resp::writer to;
    pubsub_permission_probe(to, {}, publishing::plain);
    resp::parser parser;
    for (std::string_view rest = to.bytes(); !rest.empty();) {
        auto const room = parser.prepare();
        auto const part = rest.substr(0, std::min(room.size(), rest.size()));
        std::ranges::copy(part, room.begin());
        parser.commit(part.size());
        rest.remove_prefix(part.size());
    }
    BOOST_TEST_REQUIRE((parser.next() == resp::parser::outcome::message));
    strings words;
    for (auto const& word : resp::to_reply(parser.last()).items)
        words.push_back(word.text);
    return words;
}

/// Why nothing works, by the server's answer.
std::string refusal_in(reply const& got)
{
    BOOST_TEST((got.what == reply::kind::list), to_string(got));
    auto const found = judge_permissions(got, {}, publishing::plain);
    BOOST_TEST(found.warnings.empty());
    return found.refusal;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(permission_probe)

BOOST_DATA_TEST_CASE(time_is_tried_where_the_server_cannot_tell, each_server(), kind)
{
    real server{kind};
    auto const words = probe();
    strings const arguments(words.begin() + 3, words.end());
    auto const as_before_7 = "local redis = {pcall = redis.pcall}" + words.at(1);
    auto const refusal = [&] { return refusal_in(server.run(as_before_7, {}, arguments)); };
    BOOST_TEST(refusal().empty());
    server.command({"ACL", "SETUSER", "default", "-time"});
    BOOST_TEST(
        refusal() ==
        "user default may not run TIME, so there are no fencing tokens. Remedy: ACL SETUSER "
        "default +time"
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
