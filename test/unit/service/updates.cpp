// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Changes of a semaphore: what is joined, sent again, given up.
#include "unit/service/counters.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_updates, counters)

BOOST_AUTO_TEST_CASE(releases_that_come_together_go_as_one)
{
    auto& slow = server->expect(scripts::semaphore_release);
    auto first = give(1);
    auto second = give(2), third = give(3);
    BOOST_TEST(server->written().size() == 1U);
    BOOST_TEST(client.stats().owed_releases == 3U);
    auto& sum = server->expect(scripts::semaphore_release);
    respond(slow, reply::of(1));
    BOOST_TEST(first.succeeded());
    BOOST_TEST_REQUIRE(sum.has_come());
    BOOST_TEST(argument(0) == "5");
    BOOST_TEST(last().keys.at(1) == "colock_once:{k}:" + inside().uuid() + ":change");
    respond(sum, reply::of(6));
    BOOST_TEST(second.succeeded());
    BOOST_TEST(third.succeeded());
    BOOST_TEST(idle());
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(a_release_is_sent_until_it_is_answered)
{
    server->expect(scripts::semaphore_release).lose();
    server->expect(scripts::semaphore_release).not_now();
    auto& slow = server->expect(scripts::semaphore_release);
    auto gives = give(2);
    time.advance(20ms);
    BOOST_TEST_REQUIRE(slow.has_come());
    BOOST_TEST(slow.seen().arguments == server->written().front().arguments);
    cancel(gives);
    BOOST_TEST(gives.aborted());
    server->expect(scripts::semaphore_release).reply(reply::of(2));
    lose(slow);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(an_unheard_release_is_owed_and_an_unheard_setting_is_not)
{
    cut();
    auto gives = give();
    auto sets = permits_.try_set_permits(5, settled());
    time.advance(2'000ms);
    BOOST_TEST((gives.ec() == error::unavailable));
    BOOST_TEST((sets.ec() == error::unavailable));
    server->expect(scripts::semaphore_release).reply(reply::of(1));
    mend();
    BOOST_TEST(server->all_came());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(a_change_that_nobody_waits_for_is_not_sent_later)
{
    cut();
    pending<std::int64_t> unwanted;
    auto unheard = permits_.drain(settled());
    time.advance(2'000ms);
    BOOST_TEST((unheard.ec() == error::unavailable));
    BOOST_TEST(idle());
    permits_.drain(unwanted.token());
    time.settle();
    auto gives = give();
    cancel(unwanted);
    BOOST_TEST(unwanted.aborted());
    server->expect(scripts::semaphore_release).reply(reply::of(1));
    mend();
    BOOST_TEST(gives.succeeded());
    BOOST_TEST(server->count(scripts::semaphore_drain) == 0U);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(under_full_memory_a_release_goes_on)
{
    server->expect(scripts::semaphore_release).out_of_memory();
    server->expect(scripts::semaphore_release).out_of_memory();
    auto& third = server->expect(scripts::semaphore_release);
    auto gives = give();
    time.advance(60ms);
    BOOST_TEST_REQUIRE(third.has_come());
    BOOST_TEST(!gives.is_done());
    third.reply(reply::of(1));
    server->expect(scripts::semaphore_set).out_of_memory();
    auto sets = permits_.try_set_permits(5, settled());
    BOOST_TEST(gives.succeeded());
    BOOST_TEST((sets.ec() == error::server_refused));
    BOOST_TEST(idle());
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_wanted_of_a_stopped_client_ends_at_once)
{
    std::weak_ptr<core> inside;
    pending<> runs, gives;
    pending<std::int64_t> drains;
    {
        auto other = detail::client_access::make(make_core(with(short_leases())));
        inside = detail::client_access::inside(other);
        other.run(runs.token());
        time.settle();
        other.stop();
        time.settle();
        semaphore const theirs{other, "k"};
        theirs.release(1, gives.token());
        theirs.drain(drains.token());
        time.settle();
        BOOST_TEST((gives.ec() == error::closed));
        BOOST_TEST((drains.ec() == error::closed));
    }
    time.settle();
    BOOST_TEST(inside.expired());
}

BOOST_AUTO_TEST_CASE(closing_waits_for_releases_and_ends_waiters)
{
    auto& slow = server->expect(scripts::semaphore_release);
    auto gives = give();
    server->expect(scripts::semaphore_acquire).reply(too_few());
    server->expect(scripts::semaphore_acquire).reply(too_few());
    auto waits = take();
    server->expect(scripts::semaphore_undo).reply(not_there());
    auto closed = client.close(settled());
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST(!closed.is_done());
    respond(slow, reply::of(1));
    BOOST_TEST(gives.succeeded());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((give().ec() == error::closed));
    BOOST_TEST((take().ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(stopped_with_all_under_way_and_run_again)
{
    server->expect(scripts::semaphore_acquire);
    server->expect(scripts::semaphore_release);
    auto waits = take();
    auto gives = give();
    stop();
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST((gives.ec() == error::closed));
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, 5ms));
    undoes_when_run_again();
}

BOOST_AUTO_TEST_CASE(stopped_while_an_undo_is_refused_and_run_again)
{
    server->expect(scripts::semaphore_acquire);
    take().cancel();
    server->down_reason_to_tell = error::server_refused;
    cut_all();
    stop();
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, 5ms));
    server->down_reason_to_tell = error::unavailable;
    undoes_when_run_again();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
