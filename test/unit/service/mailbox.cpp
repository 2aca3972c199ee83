// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The mailbox of a client: when it is open, and what a letter does.
#include "unit/service/clients_in_line.hpp"
#include "unit/service/group.hpp"
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

#include <set>

namespace colock::test {

namespace {

struct with_mailbox : served {
    using served::served;

    bool is_open() { return server->subscribed().contains(mailbox()); }
    std::size_t renewals() const { return server->count(scripts::renew); }
};

BOOST_FIXTURE_TEST_SUITE(service_mailbox, with_mailbox)

// ---- When it is open ---------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(who_neither_waits_nor_renews_has_none)
{
    for (int i = 0; i != 5; ++i) {
        auto held = acquire();
        time.advance(800ms);
        release(held.value());
    }
    redis.occupy("k", 500ms);
    BOOST_TEST(try_acquire().gave_nothing());
    BOOST_TEST(server->changes().empty());
}

BOOST_AUTO_TEST_CASE(it_opens_with_the_first_renewal)
{
    auto const held = acquire();
    time.advance(850ms);
    BOOST_TEST(server->changes().empty());
    time.advance(200ms);
    BOOST_TEST(renewals() == 1U);
    BOOST_TEST((server->subscribed() == std::set{mailbox()}));
}

BOOST_AUTO_TEST_CASE(spin_locks_need_none)
{
    auto const held = take(spin_lock{client, "k"});
    auto const waits = take(spin_lock{client, "k"});
    time.advance(2s);
    BOOST_TEST(renewals() != 0U);
    BOOST_TEST(server->changes().empty());
}

BOOST_AUTO_TEST_CASE(it_closes_a_minute_after_its_last_use)
{
    auto held = acquire();
    time.advance(130s);
    BOOST_TEST(is_open());
    release(held.value());
    time.advance(59s);
    BOOST_TEST(is_open());
    time.advance(62s);
    BOOST_TEST(!is_open());
    BOOST_TEST(client.stats().subscriptions == 0U);
}

// It is renewed more seldom than once a minute.
BOOST_AUTO_TEST_CASE(it_stays_open_for_a_long_lease)
{
    redis.occupy("k", 100ms);
    auto held = acquire({.lease = 20min});
    time.advance(200s);
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(renewals() == 0U);
    BOOST_TEST(is_open());
}

BOOST_AUTO_TEST_CASE(it_is_opened_again_after_a_stop)
{
    auto const held = acquire();
    time.advance(1'100ms);
    BOOST_TEST_REQUIRE(is_open());
    stop();
    client.run(run.token());
    context.restart();
    time.settle();
    BOOST_TEST(is_open());
    publish(mailbox(), letter());
    BOOST_TEST(renewals() == 3U);  // the start asks, too
}

BOOST_AUTO_TEST_CASE(it_closes_after_a_stop_in_which_all_was_released)
{
    auto held = acquire();
    time.advance(1'100ms);
    BOOST_TEST_REQUIRE(is_open());
    stop();
    held.value() = {};
    time.settle();
    context.restart();
    client.run(run.token());
    time.advance(5min);
    BOOST_TEST(!is_open());
}

BOOST_AUTO_TEST_CASE(a_client_that_rests_closes_it)
{
    harness other{short_leases(), false};
    redis.attach(*other.server);
    redis.occupy("k", 100ms);
    auto waits = other.acquire();
    other.time.advance(200ms);
    BOOST_TEST_REQUIRE(waits.succeeded());
    BOOST_TEST(other.server->subscribed().contains(other.mailbox()));
    waits.value() = {};
    other.time.advance(2s);
    BOOST_TEST(other.server->links_up() == 0U);
    BOOST_TEST(other.context.stopped());
}

struct in_cluster : with_mailbox {
    in_cluster()
        : with_mailbox{[] {
            auto c = short_leases();
            c.topology = topology::cluster;
            c.key_prefix = "shop:";
            return c;
        }()}
    {}
};

BOOST_FIXTURE_TEST_CASE(a_cluster_has_one_for_each_slot, in_cluster)
{
    std::vector const held{acquire(mutex("a{0}")), acquire(mutex("b{0}")), acquire(mutex("c{9}"))};
    time.advance(1'010ms);
    auto const of = [this](std::string const& tag) {
        return "shop:redisson_lock__channel:{" + tag + "}:mailbox:" + inside().uuid();
    };
    BOOST_TEST((server->subscribed() == std::set{of("0"), of("9")}));
    publish(of("9"), letter("shop:c{9}"));
    BOOST_TEST(renewals() != 0U);
    redis.clear();
    auto const before = renewals();
    publish(of("0"), "forced 1 shop:a{0}");
    BOOST_TEST(renewals() == before + 1);
    BOOST_TEST(!held[0].value());
    BOOST_TEST(bool{held[1].value()});
}

BOOST_AUTO_TEST_CASE(a_refused_one_is_told_and_the_next_renewal_serves)
{
    server->forbidden = {mailbox()};
    auto const held = acquire(), other = acquire(mutex("other"));
    time.advance(2s);
    BOOST_TEST(log.size() == 1U);
    BOOST_TEST(events->count("subscription_failed") == 1);
    redis.clear();
    time.advance(1s);
    BOOST_TEST(!held.value());
}

// ---- What a letter does ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_letter_makes_it_ask_the_server)
{
    auto const held = acquire();
    time.advance(1'010ms);
    auto const before = renewals();
    publish(mailbox(), letter());
    BOOST_TEST(renewals() == before + 1);
    BOOST_TEST(bool{held.value()});  // it was not true
    auto const said = letter();
    redis.clear();
    publish(mailbox(), said);
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_CASE(what_is_about_something_else_does_nothing)
{
    auto const held = acquire();
    time.advance(1'010ms);
    auto const before = renewals();
    for (auto const* const said :
         {"forced 1 other", "forced 2 k", "forced k", "", "0", "turn 1 0 k"})
        publish(mailbox(), said);
    BOOST_TEST(renewals() == before);
}

// Over another connection it may overtake the answer of the acquire.
BOOST_AUTO_TEST_CASE(a_letter_that_comes_before_the_grant_counts)
{
    redis.occupy("k", 500ms);
    auto const waits = acquire();
    auto& asked = server->expect(scripts::acquire);
    time.advance(600ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    auto const granted = redis.run(asked.seen());
    auto const said = letter();
    redis.clear();
    publish(mailbox(), said);
    respond(asked, granted);
    BOOST_TEST_REQUIRE(waits.succeeded());
    time.advance(300ms);
    BOOST_TEST(!waits.value());
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Clients of one server ---------------------------------------------------------------------

BOOST_FIXTURE_TEST_SUITE(service_mailboxes, clients_in_line)

template <class Lock>
void check_forced(clients_in_line& at, Lock const& mine, Lock const& other)
{
    auto held = at.enter(mine);
    BOOST_TEST_REQUIRE(held.succeeded());
    at.pass(1'010ms);
    pending<bool> forced;
    other.force_release(forced.token());
    at.settle();
    BOOST_TEST(forced.gave_something());
    BOOST_TEST(!held.value());
    held.value() = {};
    at.settle();
}

BOOST_AUTO_TEST_CASE(a_holder_of_each_kind_is_told_at_once_when_another_client_forces_it)
{
    check_forced(*this, lock{a.client, "k"}, lock{b.client, "k"});
    check_forced(*this, fenced_lock{a.client, "k"}, fenced_lock{b.client, "k"});
    check_forced(*this, fair_lock{a.client, "k"}, fair_lock{b.client, "k"});
    read_write_lock const ours{a.client, "k"}, theirs{b.client, "k"};
    check_forced(*this, ours.read(), theirs.read());
    check_forced(*this, ours.write(), theirs.write());
}

BOOST_AUTO_TEST_CASE(before_its_first_renewal_who_never_waited_is_told_by_that)
{
    auto const held = take(a);
    pending<bool> forced;
    b.mutex().force_release(forced.token());
    settle();
    BOOST_TEST(forced.gave_something());
    BOOST_TEST(bool{held});
    pass(1'010ms);
    BOOST_TEST(!held);
}

BOOST_AUTO_TEST_CASE(who_has_waited_is_told_from_the_grant_on)
{
    auto first = take(a);
    auto const waits = wait(b);
    release(a, first);
    BOOST_TEST_REQUIRE(waits.succeeded());
    pass(10ms);
    pending<bool> forced;
    c.mutex().force_release(forced.token());
    settle();
    BOOST_TEST(!waits.value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
