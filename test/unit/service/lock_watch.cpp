// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A watch on a lock: what it hears, keeps and tells, on the scripts themselves, in virtual time.
#include "client/client_access.hpp"
#include "core/core.hpp"
#include "unit/harness.hpp"
#include "unit/service/two_clients.hpp"
#include <colock/fair_lock.hpp>
#include <colock/lock_watch.hpp>
#include <colock/read_write_lock.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

using kind = lock_event::kind;

struct watching : harness {
    watching() { redis.attach(*server); }

    pending<lock_event> next(lock_watch const& from) { return from.next(settled()); }
    kind heard(lock_watch const& from)
    {
        auto p = next(from);
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value().what;
    }
    bool is_silent(lock_watch const& from)
    {
        auto p = next(from);
        bool const silent = !p.is_done();
        cancel(p);
        return silent;
    }
    void key(std::string what) { publish("__keyspace@0__:k", std::move(what)); }

    script_server redis;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(watches, watching)

// Its constructor runs on the thread of its caller, and numbers are drawn on the strand.
BOOST_AUTO_TEST_CASE(a_watch_draws_no_number_of_the_client)
{
    std::vector<std::string> fields;
    for (int i = 0; i != 2; ++i) {
        auto p = acquire();
        BOOST_TEST_REQUIRE(p.succeeded());
        fields.push_back(last().field());
        lock_watch const all{mutex()};
        p.value().release([](error_code) {});
        time.settle();
    }
    auto const number = [](std::string const& field) {
        return std::stoi(field.substr(field.find(':') + 1));
    };
    BOOST_TEST(number(fields[1]) == number(fields[0]) + 1);
}

BOOST_AUTO_TEST_CASE(a_release_of_anybody_is_told)
{
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    BOOST_TEST(is_silent(all));
    auto held = acquire();
    BOOST_TEST(release(held.value()).succeeded());
    BOOST_TEST((heard(all) == kind::released));
    redis.occupy("k", 10s);
    redis.free("k");
    BOOST_TEST((heard(all) == kind::released));
    BOOST_TEST(is_silent(all));
}

BOOST_AUTO_TEST_CASE(the_first_event_is_that_it_is_live)
{
    redis.occupy("k", 10s);
    auto const waiting = acquire();  // listens to one of the channels already
    BOOST_TEST_REQUIRE(server->subscribed().contains(channel()));
    server->hold_changes = true;
    lock_watch const all{mutex()};
    time.settle();
    redis.free("k");
    time.settle();
    BOOST_TEST(is_silent(all));
    server->confirm_change();
    BOOST_TEST((heard(all) == kind::live));
}

BOOST_AUTO_TEST_CASE(events_of_the_key_are_told_once)
{
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    key("hset");
    key("expire");
    key("hincrby");  // re-entry
    BOOST_TEST((heard(all) == kind::acquired));
    key("del");
    publish(channel());
    BOOST_TEST((heard(all) == kind::released));
    key("hincrby");
    key("expired");
    BOOST_TEST((heard(all) == kind::acquired));
    BOOST_TEST((heard(all) == kind::expired));
    key("hset");
    key("del");  // by hand: no message follows
    key("hset");
    BOOST_TEST((heard(all) == kind::acquired));
    BOOST_TEST((heard(all) == kind::released));
    BOOST_TEST((heard(all) == kind::acquired));
    publish(channel());
    BOOST_TEST((heard(all) == kind::released));
    BOOST_TEST(is_silent(all));
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_but_subscriptions)
{
    lock_watch const all{mutex()};
    time.advance(30s);
    BOOST_TEST(server->written().empty());
    BOOST_TEST(server->subscribed().contains(channel()));
    BOOST_TEST(server->subscribed().contains("__keyspace@0__:k"));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(a_watch_that_ends_drops_its_subscriptions)
{
    pending<lock_event> waits;
    {
        lock_watch const all{mutex()};
        BOOST_TEST((heard(all) == kind::live));
        all.next(waits.token());
        time.settle();
    }
    time.settle();
    BOOST_TEST(waits.aborted());
    BOOST_TEST(server->subscribed().empty());
    lock_watch first{mutex()}, second{mutex("other")};
    first = std::move(second);
    time.settle();
    BOOST_TEST(!server->subscribed().contains(channel()));
    BOOST_TEST((heard(first) == kind::live));
}

BOOST_AUTO_TEST_CASE(a_watch_that_ends_before_it_has_begun)
{
    {
        lock_watch const brief{mutex()};
    }
    time.settle();
    BOOST_TEST(server->subscribed().empty());
}

BOOST_AUTO_TEST_CASE(a_gap_is_told)
{
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    auto waits = next(all);
    server->pubsub_down();
    time.advance(1s);
    BOOST_TEST(!waits.is_done());
    pubsub_up();
    BOOST_TEST_REQUIRE(waits.succeeded());
    BOOST_TEST((waits.value().what == kind::live));
    BOOST_TEST(is_silent(all));
}

BOOST_AUTO_TEST_CASE(more_events_than_it_may_keep_are_dropped_and_that_is_told)
{
    lock_watch const all{mutex(), 2};
    BOOST_TEST((heard(all) == kind::live));
    for (int i = 0; i != 3; ++i)
        server->publish(channel());
    time.settle();
    BOOST_TEST((heard(all) == kind::live));
    BOOST_TEST(is_silent(all));
    publish(channel());
    BOOST_TEST((heard(all) == kind::released));
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_takes_no_event)
{
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    auto first = next(all), second = next(all);
    cancel(first);
    BOOST_TEST(first.aborted());
    publish(channel());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST((second.value().what == kind::released));
}

BOOST_AUTO_TEST_CASE(the_channels_are_those_of_the_kind)
{
    read_write_lock const books{client, "k"};
    lock_watch const all{books.read()};
    BOOST_TEST((heard(all) == kind::live));
    BOOST_TEST(server->subscribed().contains("redisson_rwlock:{k}"));
    publish("redisson_rwlock:{k}", "1");
    BOOST_TEST((heard(all) == kind::released));
}

BOOST_AUTO_TEST_CASE(a_user_without_keyspace_events_hears_releases)
{
    server->forbidden.insert("__keyspace@0__:k");
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    publish(channel());
    BOOST_TEST((heard(all) == kind::released));
}

BOOST_AUTO_TEST_CASE(a_channel_that_is_refused_again_is_no_gap)
{
    server->forbidden.insert("__keyspace@0__:k");
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    auto next = all.next(settled());
    time.advance(2min);
    BOOST_TEST(!next.is_done());
}

BOOST_AUTO_TEST_CASE(the_holder_is_asked_to_let_go)
{
    auto const ask = [this](lock const& of) { return lock_watch::ask_to_release(of, settled()); };
    BOOST_TEST((ask(mutex("")).ec() == error::invalid_argument));
    auto nobody = ask(mutex());
    BOOST_TEST(nobody.gave_nothing());
    auto held = acquire();
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    auto asked = ask(mutex());
    BOOST_TEST_REQUIRE(asked.gave_something());
    BOOST_TEST((heard(all) == kind::requested));
    BOOST_TEST(is_silent(all));
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(bad_ones_are_refused_and_closing_ends_all)
{
    BOOST_TEST((next(lock_watch{mutex("")}).ec() == error::invalid_argument));
    BOOST_TEST((next(lock_watch{mutex(), 0}).ec() == error::invalid_argument));
    lock_watch const all{mutex()};
    BOOST_TEST((heard(all) == kind::live));
    auto waits = next(all);
    auto closes = client.close(settled());
    BOOST_TEST(closes.succeeded());
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST((next(all).ec() == error::closed));
    BOOST_TEST((next(lock_watch{mutex()}).ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_a_watch_when_the_context_goes)
{
    auto at = std::make_unique<watching>();
    auto own = std::make_shared<lock_watch>(at->mutex());
    std::weak_ptr<lock_watch> const seen = own;
    own->next([own](error_code, lock_event) {});
    at->time.settle();
    own->next([own](error_code, lock_event) {});
    at->time.settle();
    own.reset();
    at.reset();
    BOOST_TEST(seen.expired());
}

BOOST_AUTO_TEST_CASE(a_gap_is_told_also_where_a_channel_is_refused)
{
    server->forbidden.insert("__keyspace@0__:k");
    lock_watch const all{mutex()};
    auto first = all.next(settled());
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST((first.value().what == lock_event::kind::live));
    auto waits = all.next(settled());
    server->pubsub_down();
    time.advance(1s);
    pubsub_up();
    time.advance(100ms);
    BOOST_TEST_REQUIRE(waits.is_done());
    BOOST_TEST((waits.value().what == lock_event::kind::live));
}

// The names decide the order in which a client tells its states of a new connection. A simulated
// world would be another one for what the process did before.
BOOST_FIXTURE_TEST_CASE(the_names_of_states_do_not_depend_on_other_clients, two_clients)
{
    auto const names_of = [](colock::client const& at) {
        std::vector<std::string> names;
        for (auto const& each : detail::client_access::inside(at)->keyed_states().all())
            names.push_back(each->name());
        return names;
    };
    lock_watch const first{mutex()}, second{mutex()};
    lock_watch const third{lock{other, "k"}}, fourth{lock{other, "k"}};
    time.settle();
    BOOST_TEST(names_of(client).size() == 2U);
    BOOST_TEST(names_of(client) == names_of(other));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
