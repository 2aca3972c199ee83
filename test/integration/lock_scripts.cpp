// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "integration/script_calls.hpp"

#include <string>
#include <vector>

namespace colock::test {

namespace {

std::string const a = ours(1);

}  // namespace

// What all locks of one hash share.
BOOST_AUTO_TEST_SUITE(lock_scripts)

BOOST_DATA_TEST_CASE(an_inner_hold_goes_under_full_memory, each_server(), kind)
{
    script_calls redis{kind};
    redis.server.ask("HSET", "order:42", a, "2");
    redis.server.ask("PEXPIRE", "order:42", "10000");
    redis.without_memory([&] {
        auto const got = redis.run(scripts::extend, {"order:42"}, {a, "1", "30000"});
        BOOST_TEST(got.at(0).number == 1);
    });
    BOOST_TEST(redis.server.ask("HGET", "order:42", a).text == "1");
    BOOST_TEST(redis.pttl("order:42") > 20'000);
}

BOOST_DATA_TEST_CASE(a_lock_with_many_fields_is_looked_at, each_server(), kind)
{
    script_calls redis{kind};
    redis.server.ask(
        "EVAL",
        "redis.call('hset', KEYS[1], 'mode', 'read') "
        "for i = 1, 100000 do redis.call('hset', KEYS[1], 'reader:' .. i, 1) end",
        "1",
        "order:42"
    );
    auto const got = redis.run(scripts::inspect, {"order:42", "nothing"}, {});
    BOOST_TEST_REQUIRE(got.size() == 2U);
    auto const seen = decide::read_inspect(got[0]);
    BOOST_TEST((seen.well_formed && seen.locked && seen.is_read && !seen.is_written));
    auto const unseen = decide::read_inspect(got[1]);
    BOOST_TEST((unseen.well_formed && !unseen.locked && !unseen.is_read && !unseen.is_written));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
