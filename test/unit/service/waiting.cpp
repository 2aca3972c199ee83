// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A waiter that sleeps, and what wakes it.
#include "unit/service/contended.hpp"

namespace colock::test {

namespace {

/// Whose password is a word of the server's.
struct contended_with_password : contended {
    contended_with_password() : contended{with_password()} {}

    static config with_password()
    {
        auto settings = short_leases();
        settings.password = "NOPERM";
        return settings;
    }
};

BOOST_FIXTURE_TEST_SUITE(service_subscription, contended)

BOOST_AUTO_TEST_CASE(subscribed_before_the_second_try)
{
    server->hold_changes = true;
    auto got = acquire();
    BOOST_TEST(tries() == 1U);
    BOOST_TEST_REQUIRE(server->changes().size() == 1U);
    BOOST_TEST((server->changes()[0].subscribe == std::vector{mailbox(), channel()}));
    is_free = true;  // released before the subscription was live: no message comes
    server->confirm_change();
    time.settle();
    BOOST_TEST(tries() == 2U);
    BOOST_TEST(got.succeeded());
    BOOST_TEST((events->last_lease == 30s));
    BOOST_TEST(events->count("waiting") == 1);
}

// A step of a lost connection may come late. It must not touch a later ownership.
BOOST_AUTO_TEST_CASE(after_a_refusal_the_next_try_has_another_number)
{
    auto a = acquire();
    BOOST_TEST_REQUIRE(tries() == 2U);
    BOOST_TEST(server->written().at(0).field() != server->written().at(1).field());
}

BOOST_AUTO_TEST_CASE(a_message_wakes)
{
    auto got = acquire();
    BOOST_TEST(tries() == 2U);
    message();
    BOOST_TEST(tries() == 3U);
    is_free = true;
    message();
    BOOST_TEST(got.succeeded());
    message();
    BOOST_TEST(tries() == 4U);
}

BOOST_AUTO_TEST_CASE(a_message_during_a_try_leads_to_another)
{
    auto got = acquire();
    auto& slow = server->expect(scripts::acquire);
    message();
    BOOST_TEST_REQUIRE(slow.has_come());
    message();
    BOOST_TEST(tries() == 3U);
    is_free = true;
    respond(slow, refused(30'000));
    BOOST_TEST(tries() == 4U);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(the_end_of_the_lease_wakes)
{
    pttl = 70;
    auto got = acquire();
    is_free = true;
    time.advance(70ms);
    BOOST_TEST(!got.is_done());
    time.advance(2ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(without_a_message_the_server_is_asked_at_the_poll_cap)
{
    auto a = acquire();
    auto const sent = tries();
    time.advance(999ms);
    BOOST_TEST(polls() == 0U);
    time.advance(1ms);
    BOOST_TEST(polls() == 1U);
    time.advance(10s);
    BOOST_TEST(polls() == 11U);
    BOOST_TEST(tries() == sent);
    is_free = true;
    time.advance(1s);
    BOOST_TEST(a.succeeded());
}

BOOST_AUTO_TEST_CASE(keys_that_sleep_are_asked_for_together)
{
    std::vector<pending_hold> all(1'000);
    for (std::size_t i = 0; i != all.size(); ++i)
        mutex("key" + std::to_string(i)).acquire(all[i].token());
    time.settle();
    auto const sent = tries();
    time.advance(1s);
    BOOST_TEST((polls() >= 8U && polls() <= 12U));
    time.advance(10s);
    BOOST_TEST(polls() <= 11 * 12U);
    BOOST_TEST(tries() == sent);
    is_free = true;
    time.advance(1s);
    for (auto const& p : all)
        BOOST_TEST(p.succeeded());
}

BOOST_AUTO_TEST_CASE(a_lease_that_ends_before_the_next_question_is_waited_for)
{
    auto a = acquire();
    server->serve = [this](call const& c) {
        auto const soon = reply::of(std::vector{reply::of(1), reply::of(300)});
        return answer{
            answer::kind::replied, c.what == &scripts::look ? soon : granted(++token), {}, {}};
    };
    time.advance(1'300ms);
    BOOST_TEST(!a.is_done());
    time.advance(1ms);
    BOOST_TEST(a.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refused_question_makes_each_ask_for_itself)
{
    auto a = acquire();
    server->serve = [this](call const& c) {
        return c.what == &scripts::look
            ? answer{answer::kind::failed, {}, error::server_refused, {}}
            : answer{answer::kind::replied, granted(++token), {}, {}};
    };
    time.advance(1s);
    BOOST_TEST(a.succeeded());
}

BOOST_AUTO_TEST_CASE(a_channel_lingers_when_its_last_waiter_has_left)
{
    auto got = acquire();
    cancel(got);
    BOOST_TEST(client.stats().subscriptions == 1U);
    time.advance(999ms);
    BOOST_TEST(server->subscribed().contains(channel()));
    time.advance(2ms);
    BOOST_TEST((server->subscribed() == std::set{mailbox()}));
    BOOST_TEST(client.stats().subscriptions == 0U);
}

// A change was under way, and the server does not come back. A client without `run()` becomes idle.
BOOST_AUTO_TEST_CASE(a_channel_that_nobody_wants_any_more_goes_also_without_a_link)
{
    server->hold_changes = true;
    auto got = acquire();
    cancel(got);
    server->pubsub_down();
    time.advance(2s);
    BOOST_TEST(client.stats().subscriptions == 0U);
}

BOOST_AUTO_TEST_CASE(who_comes_within_the_linger_tries_twice_at_once)
{
    auto first = acquire();
    first.cancel();
    time.advance(500ms);
    auto const sent = tries(), changed = server->changes().size();
    auto second = acquire();
    BOOST_TEST(tries() == sent + 2);
    time.advance(2s);
    BOOST_TEST(server->changes().size() == changed);
    BOOST_TEST(server->subscribed().contains(channel()));
}

BOOST_AUTO_TEST_CASE(a_waiter_that_leaves_behind_a_local_hold_leaves_no_subscription)
{
    auto a = acquire(), b = acquire();
    is_free = true;
    message();
    BOOST_TEST_REQUIRE(a.succeeded());
    b.cancel();
    time.advance(1'100ms);
    BOOST_TEST(static_cast<bool>(a.value()));
    BOOST_TEST(client.stats().subscriptions == 0U);
}

BOOST_AUTO_TEST_CASE(who_leaves_does_not_delay_the_subscription_of_another)
{
    // Both answers come in one turn: one key is refused, and another's last waiter leaves.
    auto old = acquire(mutex("k"));
    auto older = acquire(mutex("k1"));
    for (auto const* name : {"k2", "k3", "k4", "k5"}) {
        auto fresh = std::make_shared<pending_hold>();
        mutex(name).acquire(fresh->token());
        cancel(old);
        BOOST_TEST(
            server->subscribed().contains("redisson_lock__channel:{" + std::string{name} + "}"),
            name
        );
        old = acquire(mutex("k"));
    }
    auto& one = server->expect(scripts::acquire);
    auto fresh = acquire(mutex("k6"));
    BOOST_TEST_REQUIRE(one.has_come());
    one.reply(refused(30'000));
    cancel(older);
    BOOST_TEST(server->subscribed().contains("redisson_lock__channel:{k6}"));
}

BOOST_AUTO_TEST_CASE(a_refused_subscription_is_told_and_the_wait_goes_on)
{
    server->forbidden = {channel()};
    auto got = acquire();
    BOOST_TEST(events->count("subscription_failed") == 1);
    BOOST_TEST((events->last_error == error::subscription_failed));
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(log[0].find("the server: " + events->last_cause + ';') != std::string::npos, log[0]);
    auto const changes = server->changes().size();
    time.advance(3s);
    BOOST_TEST(server->changes().size() == changes);  // asked for once
    BOOST_TEST(events->count("subscription_failed") == 1);
    is_free = true;
    time.advance(1'001ms);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(many_refused_subscriptions_are_summed_up)
{
    for (auto const* const key : {"a", "b", "c"}) {
        auto const channel = "redisson_lock__channel:{" + std::string{key} + "}";
        server->forbidden.insert(channel);
        auto got = acquire(mutex(key));
        cancel(got);
    }
    BOOST_TEST(events->count("subscription_failed") == 3);
    BOOST_TEST(log.size() == 1U);
    time.advance(2s);
    BOOST_TEST(client.stats().subscriptions == 0U);  // they are only remembered as refused
    BOOST_TEST(log.size() == 2U);
    BOOST_TEST(log.back().ends_with(" (and 1 more in 1.0 s)"));
    time.advance(29s);
    server->forbidden = {channel()};
    auto const late = acquire();
    BOOST_TEST(log.size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(a_refused_subscription_is_logged_without_secrets, contended_with_password)
{
    server->forbidden = {channel()};
    auto const got = acquire();
    BOOST_TEST_REQUIRE(log.size() == 1U);
    BOOST_TEST(log.front().find("refused by the server: ***;") != std::string::npos, log.front());
}

BOOST_AUTO_TEST_CASE(a_refused_channel_does_not_hurt_its_neighbours)
{
    server->forbidden = {"redisson_lock__channel:{bad}"};
    auto bad = acquire(mutex("bad"));
    std::vector<pending_hold> good(9);
    for (std::size_t i = 0; i != good.size(); ++i)
        mutex("good" + std::to_string(i)).acquire(good[i].token());
    time.settle();
    BOOST_TEST(server->subscribed().size() == 10U);
    BOOST_TEST(events->count("subscription_failed") == 1);
}

BOOST_AUTO_TEST_CASE(a_new_pubsub_link_restores_subscriptions_and_wakes)
{
    auto got = acquire();
    pubsub_down();
    BOOST_TEST(server->subscribed().empty());
    is_free = true;  // the message is missed
    pubsub_up();
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(a_new_command_link_wakes_who_sleeps)
{
    auto got = acquire();
    server->link_down(link());
    time.advance(100ms);
    is_free = true;
    mend();
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(without_a_pubsub_link_the_poll_cap_is_enough)
{
    server->pubsub_down();
    server->hold_changes = true;
    auto got = acquire();
    time.advance(500ms);
    is_free = true;
    time.advance(502ms);
    BOOST_TEST(got.succeeded());
}

// Three wait for one name, and each has its own end.
BOOST_AUTO_TEST_CASE(the_number_of_a_call_tells_its_events_apart)
{
    auto first = acquire();
    auto second = try_for(50ms);
    auto third = acquire();
    BOOST_TEST_REQUIRE(events->steps.size() == 1U);
    auto const [number, what] = events->steps.front();
    BOOST_TEST(what == "waiting");
    third.cancel();
    time.advance(60ms);
    is_free = true;
    message();
    time.advance(20ms);
    BOOST_TEST((first.succeeded() && second.succeeded() && third.aborted()));
    std::vector<std::pair<std::uint64_t, std::string>> const all{
        {number, "waiting"},
        {number + 2, "cancelled"},
        {number + 1, "gave_up"},
        {number, "acquired"}};
    BOOST_TEST((events->steps == all));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
