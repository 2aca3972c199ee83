// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A release gives the lock to the first of the wait list: each is a client of its own, and the
// server runs the real scripts.
#include "decide/registration.hpp"
#include "unit/clients_in_line.hpp"

namespace colock::test {

namespace {

config passing_on()
{
    auto settings = clients_in_line::calm();
    settings.passing = true;
    return settings;
}

struct passing_clients : clients_in_line {
    passing_clients() : clients_in_line{passing_on()} {}

    std::string holder()
    {
        auto const fields = redis.ask({"HKEYS", "k"}).items;
        return fields.size() == 1 ? fields.front().text.substr(0, 36) : std::string{};
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_passing, passing_clients)

BOOST_AUTO_TEST_CASE(a_release_gives_the_lock_to_the_first)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    auto const tries = b.tries() + c.tries();
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    BOOST_TEST(holder() == b.id());
    BOOST_TEST(b.tries() + c.tries() == tries);
    release(b, second.value());
    BOOST_TEST(third.succeeded());
    BOOST_TEST(holder() == c.id());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(validity_counts_from_the_last_step_that_found_the_entry)
{
    auto held = take(a);
    auto const second = wait(b);
    auto const registered = clock::now();
    pass(600ms);
    release(a, held);
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(second.value().valid_until() <= decide::valid_until(registered, 3s));
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

BOOST_AUTO_TEST_SUITE(decide_registration)

using decide::registration;

BOOST_AUTO_TEST_CASE(a_message_alone_proves_nothing)
{
    registration one;
    one.begin(7, "entry");
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST(!one.is_passed());
    one.found(7, time_point{} + 5s);
    BOOST_TEST(one.is_passed());
    BOOST_TEST((one.since() == time_point{} + 5s));
    BOOST_TEST(one.token() == 3U);
}

BOOST_AUTO_TEST_CASE(another_number_is_not_its_own)
{
    registration one;
    one.begin(7, "entry");
    BOOST_TEST(!one.passed(6, 3));
    one.found(6, time_point{} + 5s);
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST(!one.is_passed());
}

BOOST_AUTO_TEST_CASE(an_older_step_does_not_replace_a_newer_one)
{
    registration one;
    one.begin(7, "entry");
    one.found(7, time_point{} + 5s);
    one.found(7, time_point{} + 4s);
    BOOST_TEST(one.passed(7, 3));
    BOOST_TEST((one.since() == time_point{} + 5s));
}

BOOST_AUTO_TEST_CASE(reads_the_message_that_passes_a_lock_on)
{
    auto const read = decide::read_passed("0:12:34:secret");
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->number == 12U);
    BOOST_TEST(read->token == 34U);
    BOOST_TEST(read->secret == "secret");
    for (auto const* const other : {"", "0", "3", "0:", "0:12", "0:12:", "0:x:1:s", ":1:2:s"})
        BOOST_TEST(!decide::read_passed(other).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
