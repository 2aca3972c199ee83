// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `multi_lock` and `red_lock` beside Redisson's, and `lock` beside a Redisson client of a cluster.
#include "interop/exclusive.hpp"
#include "support/redis_cluster.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Both sides of a lock that has several parts, on one server.
struct group {
    group(java_lab& at, std::string java_kind)
        : kind{std::move(java_kind)}
        , java{shared_java()}
        , c{at.connect(brief(at.settings()))}
    {
        for (int i = 0; i != 3; ++i) {
            parts.emplace_back(c.client, unique_name(kind));
            names += (i == 0 ? "" : ",") + parts.back().name();
        }
    }

    template <class... Arguments>
    auto ask(std::string command, Arguments... arguments)
    {
        return java.ask("t1", std::move(command), kind, names, arguments...);
    }

    std::string kind;
    java_peer& java;  // begun here, because its start takes longer than a lease of these tests
    running_client& c;
    std::vector<lock> parts;
    std::string names;  ///< of the parts
};

/// Each side keeps the other out, and gets in when that has released.
template <class Lock>
asio::awaitable<void> exclude_each_other(group& g, Lock const& mine)
{
    for (int i = 0; i != rounds; ++i) {
        group_hold held = co_await mine.acquire();
        BOOST_TEST(co_await g.ask("tryLock", 50ms, 20'000ms) == "false");
        co_await held.release();
        BOOST_TEST(co_await g.ask("tryLock", 2'000ms, 20'000ms) == "true");
        BOOST_TEST(is_refused(co_await mine.try_acquire_for(50ms)));
        co_await g.ask("unlock");
        auto const again = co_await mine.try_acquire_for(2s);
        BOOST_TEST(again.has_value());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(groups)

BOOST_AUTO_TEST_CASE(multi_locks_exclude_each_other)
{
    java_lab at;
    group g{at, "multi"};
    at.run([&]() -> asio::awaitable<void> {
        co_await exclude_each_other(g, multi_lock{g.parts});
        // One part is enough to keep the other side out, and a refused one leaves nothing.
        for (auto const& part : g.parts) {
            hold held = co_await part.acquire();
            BOOST_TEST(co_await g.ask("tryLock", 50ms, 20'000ms) == "false");
            co_await held.release();
        }
        for (auto const& part : g.parts) {
            BOOST_TEST(!co_await part.is_locked());
        }
    });
}

BOOST_AUTO_TEST_CASE(red_locks_exclude_each_other)
{
    java_lab at;
    group g{at, "red"};
    at.run([&]() -> asio::awaitable<void> {
        red_lock const mine{g.parts};
        co_await exclude_each_other(g, mine);
        // A majority is enough for either side, and less is not.
        hold one = co_await g.parts[0].acquire();
        BOOST_TEST(co_await g.ask("tryLock", 2'000ms, 20'000ms) == "true");
        co_await g.ask("unlock");
        auto ours = co_await mine.try_acquire_for(2s);
        BOOST_TEST(ours.has_value());
        ours.reset();
        hold two = co_await g.parts[1].acquire();
        BOOST_TEST(co_await g.ask("tryLock", 50ms, 20'000ms) == "false");
        co_await two.release();
        co_await one.release();
    });
}

BOOST_AUTO_TEST_CASE(a_redisson_of_a_cluster_and_ours_share_its_locks)
{
    auto& all = shared_cluster(server_kind::redis);
    lab at{all};
    auto settings = at.settings();
    // The oldest one publishes with PUBLISH, the newest with SPUBLISH.
    settings.publish = java_peer::is_oldest() ? publishing::plain : publishing::automatic;
    settings.poll_cap = 5s;
    auto& c = at.connect(settings);
    java_peer java{all.node(0), "cluster://"};
    at.run_only([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 6; ++i) {  // on several nodes
            lock const mine{c.client, unique_name("cluster")};
            hold held = co_await mine.acquire();
            auto const entering =
                java.begin("t1", "tryLock", "lock", mine.name(), 4'000ms, 20'000ms);
            BOOST_TEST(
                co_await java.ask("t2", "tryLock", "lock", mine.name(), 0ms, 1'000ms) == "false"
            );
            co_await held.release();
            BOOST_TEST((co_await entering.wait()).text == "true");
            tasks waits{at.context()};
            waits.start([&]() -> asio::awaitable<void> {
                hold next = co_await mine.acquire();
                co_await next.release();
            });
            co_await eventually([&] { return c.client.stats().waiters == 1; });
            co_await java.ask("t1", "unlock", "lock", mine.name());
            co_await waits.join(3s);  // sooner than the poll cap
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
