// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the server in process has beside scripts and commands, which the conformance tests compare.
#include "simulated_server/server.hpp"

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>

namespace colock::simulation {

namespace {

using decide::reply;
using texts = std::initializer_list<std::string_view>;

struct bench_of_one {
    std::int64_t now = 1'795'300'000'000'000;
    server redis{[this] { return now; }};

    reply run(std::string_view text, texts keys = {}, texts arguments = {})
    {
        return redis.run(text, {keys.begin(), keys.end()}, {arguments.begin(), arguments.end()});
    }
    reply ask(texts words) { return redis.command({words.begin(), words.end()}); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(server_in_process, bench_of_one)

BOOST_AUTO_TEST_CASE(the_clock_stands_still_in_a_script)
{
    server moving{[this] { return now += 1'000; }};
    auto const got = moving.run(
        "local a, b = redis.call('time'), nil "
        "redis.call('set', 'k', 'v', 'px', 1) "
        "for i = 1, 10 do b = redis.call('time') end "
        "return {a[1] == b[1] and a[2] == b[2], redis.call('pttl', 'k')}",
        {},
        {}
    );
    BOOST_TEST(got.items.at(0).number == 1);
    BOOST_TEST(got.items.at(1).number == 1);
}

BOOST_AUTO_TEST_CASE(a_copy_of_its_keys_is_a_replica)
{
    ask({"RPUSH", "l", "a", "b"});
    ask({"ZADD", "z", "2", "b", "1", "a"});
    auto const copy = redis.data();
    run("redis.call('lpop', 'l') redis.call('del', 'z')");
    BOOST_TEST((redis.data() != copy));
    redis.restore(copy);
    BOOST_TEST((redis.data() == copy));
    BOOST_TEST(ask({"LINDEX", "l", "0"}).text == "a");
}

BOOST_AUTO_TEST_CASE(messages_are_handed_out)
{
    std::string heard;
    redis.publish = [&](audience to, std::string_view channel, std::string_view payload) {
        heard.append(to == audience::channel ? "" : "shard ").append(channel).append(payload);
        return 3;
    };
    BOOST_TEST(run("return redis.call('publish', 'c', '0')").number == 3);
    BOOST_TEST(run("return redis.call('spublish', 'd', 1)").number == 3);
    BOOST_TEST(heard == "c0shard d1");
}

BOOST_AUTO_TEST_CASE(subscribers_are_counted)
{
    auto const second = [&](std::string_view by) {
        return run("return redis.call('pubsub', '" + std::string{by} + "', 'c')[2]").number;
    };
    BOOST_TEST(second("numsub") == 0);
    redis.subscribers = [&](audience to, std::string_view channel) {
        return channel != "c" ? 0 : to == audience::channel ? 3 : 2;
    };
    BOOST_TEST(second("numsub") == 3);
    BOOST_TEST(second("SHARDNUMSUB") == 2);
    BOOST_TEST((ask({"PUBSUB", "CHANNELS"}).what == reply::kind::error));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
