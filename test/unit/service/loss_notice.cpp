// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A holder that hears the server's events of its key, on the scripts themselves, in virtual time.
#include "unit/harness.hpp"
#include <colock/read_write_lock.hpp>

#include <string>
#include <utility>

namespace colock::test {

namespace {

config with_notice(bool on = true)
{
    config settings;
    settings.instant_notice = on;
    return settings;
}

struct noticing : harness {
    explicit noticing(config settings = with_notice()) : harness{std::move(settings)}
    {
        redis.attach(*server);
    }

    void event(std::string what) { publish(channel, std::move(what)); }

    std::string const channel = "__keyspace@0__:k";
    script_server redis;
};

struct deaf : noticing {
    deaf() : noticing{with_notice(false)} {}
};

struct in_a_cluster : noticing {
    static config settings()
    {
        auto made = with_notice();
        made.topology = topology::cluster;
        return made;
    }
    in_a_cluster() : noticing{settings()} {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(notice_of_loss, noticing)

// Each reader that leaves is an "hdel"; if all others asked then, N readers would ask N * N times.
BOOST_AUTO_TEST_CASE(readers_do_not_ask_when_another_one_leaves)
{
    pending<hold> one;
    read_write_lock const both{client, "k"};
    both.read().acquire(one.token());
    auto two = both.read().acquire(settled());
    time.advance(1s);
    auto const before = server->written().size();
    event("hdel");
    BOOST_TEST(server->written().size() == before);
    redis.ask({"DEL", "k"});
    event("del");
    BOOST_TEST(!one.value());
    BOOST_TEST(!two.value());
}

BOOST_AUTO_TEST_CASE(a_deletion_is_known_at_once)
{
    auto held = acquire();
    time.advance(1s);
    redis.ask({"DEL", "k"});
    BOOST_TEST(bool{held.value()});
    event("del");
    BOOST_TEST(!held.value());
    BOOST_TEST((release(held.value()).ec() == error::lost));
}

BOOST_AUTO_TEST_CASE(a_deletion_before_it_is_subscribed_is_asked_about)
{
    server->hold_changes = true;
    auto held = acquire();
    time.advance(500ms);
    redis.ask({"DEL", "k"});
    time.advance(500ms);
    BOOST_TEST(bool{held.value()});
    server->confirm_change();
    time.settle();
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(another_field_is_known_at_once)
{
    auto held = acquire();
    time.advance(1s);
    redis.ask({"DEL", "k"});
    redis.occupy("k", 10s);
    event("expired");
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(a_lock_that_still_stands_is_kept)
{
    auto held = acquire();
    time.advance(1s);
    auto const before = server->count(scripts::renew);
    event("hdel");
    BOOST_TEST(bool{held.value()});
    BOOST_TEST(server->count(scripts::renew) == before + 1);
    event("hset");
    event("expire");
    BOOST_TEST(server->count(scripts::renew) == before + 1);
    BOOST_TEST(release(held.value()).succeeded());
}

BOOST_AUTO_TEST_CASE(the_end_of_a_hold_ends_the_subscription)
{
    auto held = acquire();
    time.advance(1s);
    BOOST_TEST(client.stats().subscriptions == 1U);
    BOOST_TEST(release(held.value()).succeeded());
    time.settle();
    BOOST_TEST((server->subscribed() == std::set{mailbox()}));
    event("del");
}

BOOST_AUTO_TEST_CASE(a_loss_ends_the_subscription)
{
    auto held = acquire();
    time.advance(1s);
    redis.ask({"DEL", "k"});
    event("del");
    time.settle();
    BOOST_TEST((server->subscribed() == std::set{mailbox()}));
}

BOOST_AUTO_TEST_CASE(what_a_lost_subscription_missed_is_asked)
{
    auto held = acquire();
    time.advance(1s);
    redis.ask({"DEL", "k"});
    server->pubsub_down();
    pubsub_up();
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(a_side_of_a_read_write_lock_hears_too)
{
    read_write_lock const both{client, "k"};
    auto reads = both.read().acquire(settled());
    BOOST_TEST_REQUIRE(reads.succeeded());
    time.advance(1s);
    redis.ask({"DEL", "k"});
    event("del");
    BOOST_TEST(!reads.value());
}

BOOST_FIXTURE_TEST_CASE(without_the_field_nothing_is_subscribed, deaf)
{
    auto held = acquire();
    time.advance(1s);
    BOOST_TEST((client.stats().subscriptions == 0U));
}

BOOST_FIXTURE_TEST_CASE(in_a_cluster_nothing_is_subscribed, in_a_cluster)
{
    auto held = acquire();
    time.advance(1s);
    BOOST_TEST((client.stats().subscriptions == 0U));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
