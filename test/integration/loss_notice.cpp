// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A holder hears at once that its lock was taken away, from a server's keyspace events.
#include "integration/suites.hpp"
#include <colock/lock_watch.hpp>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(loss_notices)

namespace {

config noticing(redis_server const& server)
{
    auto settings = server.by_port();
    settings.instant_notice = true;  // the lease is 30 s: no renewal comes in these tests
    return settings;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_deleted_lock_is_known_at_once, each_server(), kind)
{
    redis_server server{kind, {"notify-keyspace-events Kghx"}};
    lab at{server};
    auto& redis = at.connect(noticing(server));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("notice");
        auto held = co_await lock{redis.client, name}.acquire();
        auto const channel = "__keyspace@0__:" + name;
        bool const listens = co_await eventually([&] {
            return server.ask("PUBSUB", "NUMSUB", channel).items.at(1).number == 1;
        });
        BOOST_TEST_REQUIRE(listens);
        server.ask("DEL", name);
        BOOST_TEST(co_await eventually([&] { return !held; }));
        auto const [ec] = co_await held.release(tuple);
        BOOST_TEST((ec == error::lost), ec.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
