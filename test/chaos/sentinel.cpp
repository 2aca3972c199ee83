// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The primary is killed, again and again, while processes work.
#include "chaos/sentinel_ordeal.hpp"
#include "support/diary.hpp"
#include "support/patience.hpp"
#include "support/sentinel_group.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

namespace {

/// Each server with 0, 1 and 2 replicas to wait for; in a short run, half of that.
auto each_set_up()
{
    std::vector<server_kind> kinds;
    std::vector<int> replicas;
    for (auto const kind : installed_servers())
        for (int n = 0; n != 3; ++n)
            if (chaos_rounds() > 1 || (n % 2 == 0) == (kind == server_kind::redis)) {
                kinds.push_back(kind);
                replicas.push_back(n);
            }
    return boost::unit_test::data::make(std::move(kinds)) ^
        boost::unit_test::data::make(std::move(replicas));
}

/// Nobody hears of what the primary does from now on; then it dies.
template <class LastDeed>
asio::awaitable<void> die_unheard(sentinel_group& group, LastDeed last_deed)
{
    auto const old = group.current_primary();
    for (std::size_t i = 0; i != sentinel_group::servers; ++i)
        if (i != old)
            group.pause_replica(i);
    group.server(old).ask("CLIENT", "KILL", "TYPE", "replica");
    co_await last_deed();
    group.server(old).kill();
    for (std::size_t i = 0; i != sentinel_group::servers; ++i)
        if (i != old)
            group.server(i).resume();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sentinel)

BOOST_DATA_TEST_CASE(holders_that_were_not_heard_of_are_told_on_reconnect, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    auto const seen = std::make_shared<diary>();
    settings.lease = 20s;
    settings.links = 1;
    settings.observer = seen;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const first{redis.client, unique_name("heard")};
        lock const second{redis.client, unique_name("unheard")};
        hold heard = co_await first.acquire({.sync_replicas = 2});
        hold unheard;
        co_await die_unheard(group, [&]() -> asio::awaitable<void> {
            unheard = co_await second.acquire();
        });
        auto const token = unheard.fencing_token();
        auto const proven = heard.valid_until();

        bool const told = co_await eventually([&] { return !unheard; }, 15s);
        BOOST_TEST(told);
        BOOST_TEST(seen->losses() == 1);
        std::cout << "told " << seen->told_after().count() << " us after the link was up"
                  << std::endl;
        BOOST_TEST(seen->told_after().count() >= 0);
        BOOST_TEST((seen->told_after() < within(500ms)));
        bool const confirmed = co_await eventually([&] { return heard.valid_until() > proven; });
        BOOST_TEST(confirmed);
        BOOST_TEST(bool{heard});
        hold next = co_await second.acquire();
        BOOST_TEST(next.fencing_token() > token);
        co_await next.release();
        co_await heard.release();
    });
}

BOOST_DATA_TEST_CASE(the_primary_is_killed, each_set_up(), kind, sync_replicas)
{
    sentinel_ordeal all{kind, {.sync_replicas = sync_replicas}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    all.finish("SIGKILL of the primary");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

// The old primary goes on until the sentinels have told it, with a replica that acknowledges: where
// all have to, two can't hold one lock.
BOOST_DATA_TEST_CASE(the_primary_is_replaced_while_it_lives, each_set_up(), kind, sync_replicas)
{
    sentinel_ordeal all{kind, {.sync_replicas = sync_replicas}};
    for (int i = 0; i != (chaos_rounds() + 1) / 2; ++i)
        all.switch_over();
    all.finish("SENTINEL FAILOVER");
    if (sync_replicas == 2)
        BOOST_TEST(all.board().count().overlaps == 0);
}

// Here two hold one lock, if they don't wait for replicas: what the store is there for.
BOOST_DATA_TEST_CASE(
    the_primary_is_killed_with_news_for_its_replicas, each_set_up(), kind, sync_replicas
)
{
    // Many that stay long enough to be inside still when it is over.
    sentinel_ordeal all{
        kind, {.sitters = 4, .sitter_keys = 20, .groups = 40, .sync_replicas = sync_replicas}};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill_unheard();
    all.finish("SIGKILL of a primary that was cut off from its replicas for 400 ms");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
