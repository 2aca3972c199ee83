// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How the server in process treats scripts; that its commands are Redis's is for the conformance
// tests to say.
#include "colock_scripts.hpp"
#include "simulated_server/server.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <ctime>
#include <initializer_list>
#include <iostream>
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
    std::string error(std::string_view text)
    {
        auto const got = run(text);
        BOOST_TEST((got.what == reply::kind::error));
        return got.text;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(server_in_process, bench_of_one)

BOOST_AUTO_TEST_CASE(nothing_goes_from_one_script_to_the_next)
{
    for (auto const* const text :
         {"x = 1",
          "string.rep = nil",
          "redis.call = 1",
          "tonumber = 1",
          "KEYS = {}",
          "rawset = 1"}) {
        BOOST_TEST(error(text).starts_with("ERR user_script:1: Attempt to modify a readonly table")
        );
    }
    BOOST_TEST(error("return x")
                   .starts_with("ERR user_script:1: Script attempted to access nonexistent global "
                                "variable 'x' script: "));
    BOOST_TEST(run("local n = #KEYS KEYS[9] = 'k' return n", {"a", "b"}).number == 2);
    BOOST_TEST(run("return #KEYS + #ARGV").number == 0);
}

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

BOOST_AUTO_TEST_CASE(a_key_lives_through_its_last_millisecond)
{
    ask({"SET", "k", "v", "PX", "10"});
    now += 10'999;
    BOOST_TEST(ask({"PTTL", "k"}).number == 0);
    BOOST_TEST(redis.data().size() == 1U);
    now += 1;
    BOOST_TEST(redis.data().size() == 0U);
    BOOST_TEST(ask({"PTTL", "k"}).number == -2);
}

BOOST_AUTO_TEST_CASE(a_script_that_fails_takes_nothing_back)
{
    BOOST_TEST(
        error("redis.call('set', 'k', 'v')\nredis.call('hget', 'k', 'f')") ==
        "WRONGTYPE Operation against a key holding the wrong kind of value"
        " script: 649834bbef4ccd1caa6fad9c695bec8dad132fc2, on @user_script:2."
    );
    BOOST_TEST(ask({"GET", "k"}).text == "v");
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

// With COLOCK_SIMULATION_RUNS=1000000, for example, it says something of the speed.
BOOST_AUTO_TEST_CASE(speed)
{
    auto const runs = test::from_environment("COLOCK_SIMULATION_RUNS", 1'000);
    std::int64_t taken = 0;
    auto const begun = std::clock();
    for (int i = 0; i != runs; ++i) {
        now += 1'000;
        auto const field = "0b7e4b0c-1111-4907-87fd-6c719a6b4586:" + std::to_string(i);
        auto const floor = std::to_string(now);
        auto const got =
            run(scripts::acquire.text,
                {"order:42", "colock_fence:{17}"},
                {floor, field, "30000", "1", ""});
        taken += got.items.at(0).what == reply::kind::integer;
        run(scripts::acquire.text,
            {"order:42", "colock_fence:{17}"},
            {floor, "other", "30000", "1", ""});
        run(scripts::release.text,
            {"order:42"},
            {field, "redisson_lock__channel:{order:42}", "colock_wait:{order:42}", ""});
    }
    auto const passed = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    BOOST_TEST(taken == runs);
    std::cout << "CPU time of a script: " << passed * 1e6 / (3 * runs) << " us\n";
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
