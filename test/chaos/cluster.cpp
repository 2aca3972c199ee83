// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Slots move, and primaries are killed, while processes work.
#include "chaos/cluster_ordeal.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(cluster)

BOOST_DATA_TEST_CASE(slots_move, each_server(), kind)
{
    cluster_ordeal all{kind};
    for (int i = 0; i != chaos_rounds() + 1; ++i)
        all.migrate(i % 2 == 0 ? 0 : 300);
    all.finish("slots that move");
    all.report_moves();
    BOOST_TEST(all.board().count().overlaps == 0);
    BOOST_TEST(all.board().count().refused == 0);
    BOOST_TEST(all.board().count().lost == 0);
    BOOST_TEST(all.board().count().gone == 0);
}

BOOST_DATA_TEST_CASE(primaries_are_killed, each_server(), kind)
{
    cluster_ordeal all{kind};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill();
    all.finish("SIGKILL of primaries");
    all.report_kills();
}

// Its links have never been up, so none of them is lost.
BOOST_DATA_TEST_CASE(a_primary_has_died_before_it_is_needed, each_server(), kind)
{
    redis_cluster servers{kind};
    lab at{servers};
    auto settings = at.settings();
    settings.silence_timeout = 30s;  // the client stands still while the test waits for the servers
    auto& redis = at.connect(settings);
    auto const on = [&](std::size_t node) {
        auto name = unique_name("needed");
        while (servers.primary_of(servers.slot_of(name)) != node)
            name = unique_name("needed");
        return name;
    };
    auto const near = on(0), far = on(2);  // the first node is the one that is asked for the others
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{redis.client, near}.acquire();
        co_await held.release();
        // While links come up, the cluster is asked again and again.
        co_await time_passes(300ms);
        auto const slot = servers.slot_of(far);
        servers.kill(2);
        servers.wait_for_failover(slot, 2, 20s);
        stopwatch const watch;
        auto next = co_await lock{redis.client, far}.try_acquire_for(5s);
        BOOST_TEST(next.has_value());
        BOOST_TEST(watch.ms() < 1'000);
        if (next)
            co_await next->release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
