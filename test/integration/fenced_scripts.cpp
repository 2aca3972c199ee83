// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "integration/script_calls.hpp"

#include <string>

namespace colock::test {

namespace {

std::string const a = ours(1), b = ours(2);

}  // namespace

// The plain lock's scripts with Redisson's counter, which knows no floor.
BOOST_AUTO_TEST_SUITE(fenced_scripts)

BOOST_DATA_TEST_CASE(the_counter_is_redissons, each_server(), kind)
{
    script_calls redis{kind};
    auto const counter = decide::token_counter("order:42");
    BOOST_TEST(counter == "redisson_lock_token:{order:42}");
    auto const acquire = [&](std::string const& who) {
        return redis.run(scripts::acquire, {"order:42", counter}, {"0", who, "30000", "1"}).at(0);
    };
    auto const release = [&](std::string const& who) {
        redis.run(scripts::release, {"order:42"}, {who, decide::lock_channel("order:42")});
    };
    BOOST_TEST(acquire(a).number == 1);
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    BOOST_TEST(redis.pttl(counter) == -1);
    BOOST_TEST(refusal(acquire(b)) > 0);
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    redis.run(scripts::extend, {"order:42"}, {a, "2", "30000"});  // re-entry takes none
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    release(a);
    redis.server.ask("INCR", counter);  // Redisson takes it in between
    BOOST_TEST(acquire(b).number == 3);
    release(b);
    redis.server.ask("DEL", counter);  // no floor: they begin again
    BOOST_TEST(acquire(a).number == 1);
    release(a);
    BOOST_TEST(redis.keys() == counter);
    redis.server.ask("SET", counter, "text");
    BOOST_TEST(is_error(acquire(a)));
    BOOST_TEST(redis.keys() == counter);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fencing_counter)

// The server's clock, or the one from which a client has its floor, was ahead and is set right.
BOOST_DATA_TEST_CASE(falls_below_nothing_that_is_known, each_server(), kind)
{
    script_calls redis{kind};
    std::int64_t const now = redis.now() * 1'000, second = 1'000'000;
    auto const draw = [&](std::int64_t floor) {
        auto const got =
            redis.run(scripts::acquire, {"order:42", "counter"}, {text(floor), a, "30000", "64"});
        redis.run(scripts::release, {"order:42"}, {a, decide::lock_channel("order:42")});
        BOOST_TEST(redis.server.ask("GET", "counter").text == text(got.at(0).number));
        return got.at(0).number;
    };
    BOOST_TEST(draw(now - second) > now);  // it begins by the clock
    redis.server.ask("SET", "counter", text(now + 20 * second));
    BOOST_TEST(draw(now) == now + 20 * second + 64);
    BOOST_TEST(draw(now + 40 * second) == now + 40 * second + 64);
    redis.server.ask("SET", "counter", text(now - 20 * second));
    BOOST_TEST(draw(now - 10 * second) > now);
    redis.server.ask("DEL", "counter");
    BOOST_TEST(draw(now + 40 * second) == now + 40 * second + 64);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
