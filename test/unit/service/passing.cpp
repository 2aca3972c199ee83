// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A release gives the lock to the first of the wait list: each is a client of its own, and the
// server runs the real scripts.
#include "decide/validity.hpp"
#include "unit/service/clients_in_line.hpp"

namespace colock::test {

namespace {

config passing_on(milliseconds lease = 3s)
{
    auto settings = clients_in_line::calm();
    settings.passing = true;
    settings.lease = lease;
    return settings;
}

struct passing_clients : clients_in_line {
    explicit passing_clients(config settings = passing_on()) : clients_in_line{std::move(settings)}
    {}

    std::string holder()
    {
        auto const fields = redis.ask({"HKEYS", "k"}).items;
        return fields.size() == 1 ? fields.front().text.substr(0, 36) : std::string{};
    }
    /// Of the first entry: 'field|lease|secret|...'.
    std::string secret()
    {
        auto const entry = list().front();
        auto const from = entry.find('|', entry.find('|') + 1) + 1;
        return entry.substr(from, entry.find('|', from) - from);
    }
    std::size_t tries() const { return a.tries() + b.tries() + c.tries(); }
};

config keeping_too()
{
    auto settings = passing_on();
    settings.max_tenure = 100ms;
    settings.keep = 50ms;
    return settings;
}

struct passing_and_keeping : passing_clients {
    passing_and_keeping() : passing_clients{keeping_too()} {}
};

struct passing_long_leases : passing_clients {
    passing_long_leases() : passing_clients{passing_on(30s)} {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_passing, passing_clients)

BOOST_AUTO_TEST_CASE(a_release_gives_the_lock_to_the_first)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    auto const before = tries();
    auto const first_token = held.fencing_token();
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    auto const second_token = second.value().fencing_token();
    BOOST_TEST(second_token > first_token);
    BOOST_TEST(!third.is_done());
    BOOST_TEST(holder() == b.id());
    release(b, second.value());
    BOOST_TEST_REQUIRE(third.succeeded());
    BOOST_TEST(third.value().fencing_token() > second_token);
    BOOST_TEST(holder() == c.id());
    BOOST_TEST(tries() == before);
    BOOST_TEST(list().empty());
}

BOOST_FIXTURE_TEST_CASE(a_first_lease_is_renewed_to_the_own_one, passing_long_leases)
{
    auto held = take(a);
    auto const second = wait(b);
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST((redis.lease_left("k") <= 3s));
    pass(1500ms);
    BOOST_TEST((redis.lease_left("k") > 25s));
    BOOST_TEST(static_cast<bool>(second.value()));
}

BOOST_AUTO_TEST_CASE(a_release_registers_the_next_waiter_of_its_client)
{
    auto held = take(a);
    auto const second = wait(b), next = wait(a), last = wait(a);
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    release(b, second.value());
    BOOST_TEST_REQUIRE(next.succeeded());
    auto const third = wait(b);
    auto const before = tries();
    release(a, next.value());
    BOOST_TEST_REQUIRE(third.succeeded());
    release(b, third.value());
    BOOST_TEST(last.succeeded());
    BOOST_TEST(holder() == a.id());
    BOOST_TEST(tries() == before);
}

BOOST_AUTO_TEST_CASE(the_message_may_come_before_the_answer)
{
    auto held = take(a);
    auto& first = b.server->expect(scripts::acquire);
    auto& registering = b.server->expect(scripts::acquire);
    auto const second = b.acquire();
    answer(first);
    auto const registered = redis.run(registering.seen());
    release(a, held);
    BOOST_TEST(holder() == b.id());
    BOOST_TEST(!second.is_done());
    registering.reply(registered);
    settle();
    BOOST_TEST(second.succeeded());
    BOOST_TEST(b.tries() == 2U);
}

BOOST_AUTO_TEST_CASE(a_message_before_an_answer_that_finds_nothing_is_no_grant)
{
    auto held = take(a);
    auto const second = wait(b);
    auto& check = b.server->expect(scripts::acquire);
    b.server->pubsub_down();
    settle();
    b.server->pubsub_up();
    settle();
    release(a, held);
    BOOST_TEST_REQUIRE(holder() == b.id());
    redis.ask({"DEL", "k"});
    redis.occupy("k", foreign, 3s);
    answer(check);
    BOOST_TEST(!second.is_done());
    BOOST_TEST(b.server->count(scripts::leave) == 1U);
    redis.free("k");
    pass(50ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_was_not_found_for_long_asks_with_the_same_number)
{
    auto held = take(a);
    auto const second = wait(b);
    b.server->expect(scripts::expiring);  // is not answered
    pass(2s);
    auto const before = b.tries();
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(b.tries() == before + 1);
    BOOST_TEST((second.value().valid_until() > clock::now() + 2900ms));
    BOOST_TEST(redis.fields("k").size() == 1U);
}

BOOST_AUTO_TEST_CASE(while_others_listen_the_first_is_told_to_ask)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const before = b.tries();
    redis.others = 1;
    release(a, held);
    pass(100ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(b.tries() > before);
}

BOOST_AUTO_TEST_CASE(a_lock_with_the_same_list_is_not_passed_on)
{
    auto held = take(a);
    auto const second = wait(b);
    pending_hold other;
    lock{c.client, "{k}"}.acquire(other.token());
    settle();
    BOOST_TEST_REQUIRE(other.succeeded());
    release(c, other.value());
    BOOST_TEST(!redis.is_locked("{k}"));
    BOOST_TEST(!second.is_done());
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(holder() == b.id());
}

BOOST_AUTO_TEST_CASE(a_client_whose_list_is_gone_registers_again)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.ask({"DEL", "colock_wait:{k}"});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST_REQUIRE(list().size() == 1U);
    auto const before = tries();
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(tries() == before);
}

BOOST_AUTO_TEST_CASE(a_client_whose_list_the_server_refuses_waits_by_the_channel)
{
    auto held = take(a);
    redis.ask({"SET", "colock_wait:{k}", "no list"});
    auto const second = wait(b);
    BOOST_TEST(b.listens());
    BOOST_TEST(b.tries() < 5U);
    release(a, held);
    pass(50ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_number_that_nobody_waits_by_gives_the_lock_back)
{
    auto held = take(a);
    auto second = wait(b);
    auto const word = secret();
    auto const strange = b.id() + ":99";
    redis.occupy("k", strange, 3s);
    redis.ask({"PUBLISH", b.turn_channel(), "0:99:5:other" + word});
    settle();
    BOOST_TEST(redis.is_locked("k"));
    redis.ask({"PUBLISH", b.turn_channel(), "0:99:5:" + word});
    settle();
    BOOST_TEST(!redis.fields("k").contains(strange));
}

// A number that a step has granted may have become a claim, which another client adopts.
BOOST_AUTO_TEST_CASE(a_late_message_about_a_granted_number_gives_nothing_back)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const word = secret();
    auto const entry = list().front();
    auto const number = entry.substr(37, entry.find('|') - 37);
    b.server->pubsub_down();
    settle();
    release(a, held);  // passes it over
    b.server->pubsub_up();
    settle();
    BOOST_TEST_REQUIRE(second.succeeded());
    auto const third = wait(b);
    redis.ask({"PUBLISH", b.turn_channel(), "0:" + number + ":5:" + word});
    settle();
    BOOST_TEST(b.server->count(scripts::leave) == 0U);
}

BOOST_AUTO_TEST_CASE(a_late_turn_of_an_older_number_leaves_the_number_that_stands)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const before = b.tries();
    redis.ask({"PUBLISH", b.turn_channel(), "0:1"});
    settle();
    BOOST_TEST(b.tries() == before + 1);  // it may be its turn all the same
    BOOST_TEST(list().size() == 1U);
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(b.tries() == before + 1);
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_turn_of_its_number_ends_the_registration)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.others = 1;  // a release tells it to ask
    auto& asked = b.server->expect(scripts::acquire);
    release(a, held);
    redis.occupy("k", foreign, 3s);
    pass(100ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    answer(asked);
    BOOST_TEST(list().size() == 1U);  // once, by a new number
    redis.free("k");
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_message_without_the_secret_is_no_grant)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const entry = list().front();
    auto const number = entry.substr(37, entry.find('|') - 37);
    redis.ask({"PUBLISH", b.turn_channel(), "0:" + number + ":5:other"});
    settle();
    BOOST_TEST(!second.is_done());
}

BOOST_AUTO_TEST_CASE(validity_counts_from_the_last_step_that_found_the_entry)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const registered = clock::now();
    pass(600ms);
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST((second.value().valid_until() <= decide::valid_until(registered, 3s)));
}

BOOST_AUTO_TEST_CASE(who_gives_up_when_the_lock_was_passed_on_gives_it_back)
{
    auto held = take(a);
    auto second = wait(b), third = wait(c);
    second.cancel();
    release(a, held);
    BOOST_TEST(third.succeeded());
    BOOST_TEST(holder() == c.id());
}

BOOST_AUTO_TEST_CASE(what_was_passed_on_before_the_leave_is_given_back)
{
    auto held = take(a);
    auto second = wait(b), third = wait(c);
    auto& leaving = b.server->expect(scripts::leave);
    second.cancel();
    settle();
    BOOST_TEST_REQUIRE(leaving.has_come());
    release(a, held);
    BOOST_TEST(holder() == b.id());  // its channel lives on for a while
    BOOST_TEST(!third.is_done());
    answer(leaving);
    BOOST_TEST(third.succeeded());
}

BOOST_FIXTURE_TEST_CASE(what_was_passed_on_is_not_kept, passing_and_keeping)
{
    auto held = take(a);
    auto const second = wait(b);
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    release(b, second.value());
    BOOST_TEST(holder().empty());
}

BOOST_AUTO_TEST_CASE(a_client_that_is_not_connected_is_passed_over)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    b.server->pubsub_down();
    settle();
    release(a, held);
    BOOST_TEST(!second.is_done());
    BOOST_TEST(third.succeeded());
    b.server->pubsub_up();
    settle();
    release(c, third.value());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_waiter_with_a_lease_of_its_own_is_told_to_ask)
{
    auto held = take(a);
    pending_hold own;
    lock{b.client, "k"}.acquire({.lease = 5s}, own.token());
    settle();
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(own.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
