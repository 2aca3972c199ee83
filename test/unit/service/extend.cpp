// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_extend, harness)

BOOST_AUTO_TEST_CASE(a_longer_lease_counts_from_its_answer)
{
    auto mine = held();
    auto const before = mine.valid_until();
    auto& asked = server->expect(scripts::extend);
    auto extended = extend(mine, 10s);
    auto const sent = time.now();
    BOOST_TEST(asked.seen().lease() == "10000");
    BOOST_TEST(asked.seen().depth() == "1");
    BOOST_TEST((mine.valid_until() == before));
    time.advance(50ms);
    respond(asked, done());
    BOOST_TEST(extended.succeeded());
    BOOST_TEST((mine.valid_until() == sent + 10s - 102ms));
    // Renewed, from now on with this lease.
    auto& renewal = server->expect(scripts::renew);
    time.advance(2'900ms);
    BOOST_TEST(!renewal.has_come());
    time.advance(500ms);
    BOOST_TEST_REQUIRE(renewal.has_come());
    BOOST_TEST(renewal.seen().lease() == "10000");
}

BOOST_AUTO_TEST_CASE(a_re_entry_that_finds_nothing_is_no_hold_that_was_lost)
{
    owner const who;
    auto mine = held({.as = who});
    server->expect(scripts::extend).reply(not_there());
    auto const again = acquire({.as = who});
    BOOST_TEST((again.ec() == error::lost));
    BOOST_TEST(!mine);
    BOOST_TEST(events->count("lost") == 1);
}

BOOST_AUTO_TEST_CASE(a_shorter_lease_counts_before_it_is_sent)
{
    auto mine = held();
    auto& asked = server->expect(scripts::extend);
    auto extended = extend(mine, 500ms);
    BOOST_TEST((mine.valid_until() == time.now() + 500ms - 7ms));
    respond(asked, done());
    BOOST_TEST(extended.succeeded());
    BOOST_TEST((mine.valid_until() == time.now() + 500ms - 7ms));
}

BOOST_AUTO_TEST_CASE(a_fixed_lease_gets_that_much_longer_once)
{
    auto mine = held({.lease = 500ms});
    time.advance(300ms);
    server->expect(scripts::extend).reply(done());
    BOOST_TEST(extend(mine, 800ms).succeeded());
    BOOST_TEST((mine.valid_until() == time.now() + 800ms - 10ms));
    auto told = lost(mine);
    time.advance(1s);
    BOOST_TEST(told.succeeded());
    server->expect(scripts::release).reply(gone());
    mine = hold{};
    time.settle();
}

BOOST_AUTO_TEST_CASE(gone_at_the_server_is_lost)
{
    auto mine = held();
    auto told = lost(mine);
    server->expect(scripts::extend).reply(not_there());
    BOOST_TEST((extend(mine, 1s).ec() == error::lost));
    BOOST_TEST(told.succeeded());
}

BOOST_AUTO_TEST_CASE(a_bad_lease_is_refused_and_nothing_is_sent)
{
    auto mine = held();
    for (auto const lease : {0ms, -1ms, 99ms, milliseconds{std::chrono::hours{24 * 3'654}}})
        BOOST_TEST((extend(mine, lease).ec() == error::invalid_argument));
    server->expect(scripts::release).reply(released());
    release(mine);
    BOOST_TEST((extend(mine, 1s).ec() == error::not_held));
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(after_a_shorter_lease_that_was_refused_it_is_renewed_in_time)
{
    auto mine = held();
    server->expect(scripts::extend).out_of_memory();
    auto extended = extend(mine, 500ms);
    time.settle();
    BOOST_TEST((extended.ec() == error::server_refused));
    auto& renewal = server->expect(scripts::renew);
    time.advance(170ms);
    BOOST_TEST_REQUIRE(renewal.has_come());
    respond(renewal, done());
    BOOST_TEST((mine.valid_until() > time.now() + 450ms));
}

BOOST_AUTO_TEST_CASE(after_a_longer_lease_that_was_refused_it_is_renewed_in_time)
{
    auto mine = held();
    auto& under_way = server->expect(scripts::renew);
    time.advance(1s);
    BOOST_TEST_REQUIRE(under_way.has_come());
    server->expect(scripts::extend).out_of_memory();
    auto& renewal = server->expect(scripts::renew);
    auto extended = extend(mine, 60s);  // replaces the renewal
    respond(under_way, done());
    BOOST_TEST((extended.ec() == error::server_refused));
    BOOST_TEST_REQUIRE(renewal.has_come());
    respond(renewal, done());
    BOOST_TEST((mine.valid_until() > time.now() + 2'900ms));
}

BOOST_AUTO_TEST_CASE(an_older_renewal_does_not_confirm_a_longer_lease)
{
    auto mine = held();
    auto& renewal = server->expect(scripts::renew);
    time.advance(1s);
    BOOST_TEST_REQUIRE(renewal.has_come());
    auto const sent = renewal.seen().sent;
    auto& asked = server->expect(scripts::extend);
    auto extended = extend(mine, 60s);
    renewal.reply(done());  // it has set 3 s, not 60
    time.settle();
    BOOST_TEST((mine.valid_until() <= sent + validity));
    // The extension never arrives: the loss must come with the old lease.
    cut();
    auto told = lost(mine);
    time.advance(3s);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!mine);
    static_cast<void>(asked);
}

BOOST_AUTO_TEST_CASE(one_that_was_not_sent_before_the_release_is_not_held)
{
    auto mine = held();
    auto& first = server->expect(scripts::extend);
    auto one = extend(mine, 4s);
    auto two = extend(mine, 60s);
    auto gone = release(mine);
    server->expect(scripts::release).reply(released());
    respond(first, done());
    BOOST_TEST(one.succeeded());
    BOOST_TEST((two.ec() == error::not_held));
    BOOST_TEST(gone.succeeded());
}

BOOST_AUTO_TEST_CASE(nor_before_the_client_closes)
{
    auto mine = held();
    auto& first = server->expect(scripts::extend);
    auto one = extend(mine, 4s);
    auto two = extend(mine, 60s);
    pending<> closed;
    client.close(closed.token());
    server->expect(scripts::release).reply(released());
    respond(first, done());
    BOOST_TEST((two.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(a_release_does_not_wait_behind_one_that_is_not_written)
{
    auto mine = held();
    server->all_down();
    auto longer = extend(mine, 60s);
    auto gone = release(mine);
    BOOST_TEST((longer.ec() == error::not_held));
    server->expect(scripts::release).reply(released());
    server->all_up();
    time.settle();
    BOOST_TEST(gone.succeeded());
    BOOST_TEST(server->count(scripts::extend) == 0U);
}

BOOST_AUTO_TEST_CASE(two_that_are_not_written_go_as_one)
{
    auto mine = held({.lease = 20s});
    server->all_down();
    auto one = extend(mine, 60s);
    auto two = extend(mine, 40s);
    auto& both = server->expect(scripts::extend);
    server->all_up();
    time.settle();
    BOOST_TEST(both.seen().lease() == "40000");  // the last one counts
    both.reply(done());
    time.settle();
    BOOST_TEST((one.succeeded() && two.succeeded()));
    server->expect(scripts::release).reply(released());
}

BOOST_AUTO_TEST_CASE(a_fixed_lease_counts_from_the_call_however_late_it_is_sent)
{
    auto mine = held({.lease = 20s});
    auto& first = server->expect(scripts::extend);
    auto one = extend(mine, 19s);
    auto two = extend(mine, 4s);
    auto const asked = time.now();
    time.advance(1s);
    auto& second = server->expect(scripts::extend);
    respond(first, done());
    BOOST_TEST(second.seen().lease() == "3000");  // a second of the four is over
    respond(second, done());
    BOOST_TEST((one.succeeded() && two.succeeded()));
    BOOST_TEST((mine.valid_until() <= asked + 4s));
    server->expect(scripts::release).reply(released());
}

BOOST_AUTO_TEST_CASE(the_key_keeps_the_longest_promise)
{
    owner const me;
    auto outer = held({.as = me});
    server->expect(scripts::extend).reply(done());
    auto inner = acquire({.lease = 500ms, .as = me});
    BOOST_TEST(last().lease() == "3000");  // the outer's, which still counts on it
    BOOST_TEST((inner.value().valid_until() == time.now() + 500ms - 7ms));

    server->expect(scripts::extend).reply(done());
    BOOST_TEST(extend(outer, 10s).succeeded());
    BOOST_TEST(last().lease() == "10000");
    server->expect(scripts::extend).reply(done());
    BOOST_TEST(release(outer).succeeded());
    BOOST_TEST(std::stoi(last().lease()) <= 500);
    BOOST_TEST(std::stoi(last().lease()) > 400);
    server->expect(scripts::release).reply(released());
    release(inner.value());
}

// The step sets a lease itself, and might run after the renewal.
BOOST_AUTO_TEST_CASE(nothing_is_renewed_while_an_extension_is_under_way)
{
    auto mine = held();
    auto& slow = server->expect(scripts::extend);
    auto extended = mine.extend(3s, settled());
    time.advance(1'100ms);
    BOOST_TEST(server->count(scripts::renew) == 0U);
    server->expect(scripts::renew).reply(done());
    respond(slow, done());
    BOOST_TEST(extended.succeeded());
    BOOST_TEST(server->all_came());
    server->expect(scripts::release).reply(released());
    release(mine);
}

BOOST_AUTO_TEST_CASE(the_margin_is_that_of_the_lease_which_runs)
{
    auto mine = held({.lease = 800ms});
    server->expect(scripts::extend);
    auto extended = mine.extend(3s, settled());
    auto const until = mine.valid_until();
    time.advance(
        std::chrono::ceil<milliseconds>(until - time.now()) - 81ms
    );  // a tenth of the lease, and one
    BOOST_TEST(bool{mine});
    time.advance(1ms);
    BOOST_TEST(!mine);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
