// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a permit semaphore sends, and when.
#include "unit/service/counters.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_permit, counters)

BOOST_AUTO_TEST_CASE(renewed_each_third_and_given_back)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased();
    BOOST_TEST_REQUIRE(p.succeeded());
    BOOST_TEST(argument(0).size() == 16U);
    BOOST_TEST(argument(1) == "3000");
    auto const id = argument(0);
    auto const until = p.value().valid_until();
    BOOST_TEST((until == time.now() + validity));
    server->expect(scripts::permit_extend).reply(done());
    BOOST_TEST(time.advance_until([&] { return server->all_came(); }, 1'000ms));
    time.settle();
    BOOST_TEST(last().key() == "{k}:timeout");
    BOOST_TEST(argument(0) == id);
    BOOST_TEST((p.value().valid_until() > until));
    BOOST_TEST(client.stats().holds == 1U);
    server->expect(scripts::permit_release).reply(released());
    auto gives = p.value().release(settled());
    BOOST_TEST(gives.succeeded());
    BOOST_TEST(argument(1) == id);
    BOOST_TEST(client.stats().holds == 0U);
    auto const sent = server->written().size();
    time.advance(5s);
    BOOST_TEST(server->written().size() == sent);
}

BOOST_AUTO_TEST_CASE(a_permit_whose_time_is_over_is_lost_to_its_release)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased();
    time.jump(validity);
    server->expect(scripts::permit_release).reply(released());
    auto gives = p.value().release(settled());
    BOOST_TEST((gives.ec() == error::lost));
}

BOOST_AUTO_TEST_CASE(lost_when_the_server_does_not_have_it)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased();
    server->expect(scripts::permit_extend).reply(not_there());
    time.advance(1'000ms);
    BOOST_TEST(!p.value());
    auto gives = p.value().release(settled());
    BOOST_TEST((gives.ec() == error::lost));
    BOOST_TEST(client.stats().owed_releases == 0U);
}

BOOST_AUTO_TEST_CASE(a_grant_that_comes_late_is_given_back)
{
    auto& slow = server->expect(scripts::permit_acquire);
    auto p = take_leased();
    time.jump(validity / 2 + 1ms);
    server->expect(scripts::permit_release).reply(released());
    server->expect(scripts::permit_acquire).reply(taken());
    respond(slow, taken());
    BOOST_TEST(p.succeeded());
    BOOST_TEST(server->written().at(0).field() != server->written().at(2).field());
}

// The lease begins when the server runs the script, which may be later than a lease after it was
// sent.
BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_its_lease_is_given_back)
{
    auto& slow = server->expect(scripts::permit_acquire);
    auto p = take_leased();
    time.jump(validity + 1s);
    server->expect(scripts::permit_release).reply(released());
    server->expect(scripts::permit_acquire).reply(taken());
    respond(slow, taken());
    BOOST_TEST(p.succeeded());
}

BOOST_AUTO_TEST_CASE(it_is_asked_for_when_the_next_lease_ends)
{
    server->expect(scripts::permit_acquire).reply(refused(200));
    server->expect(scripts::permit_acquire).reply(refused(200));
    auto p = take_leased();
    BOOST_TEST(server->all_came());
    server->expect(scripts::permit_acquire).reply(taken());
    time.advance(201ms);
    BOOST_TEST(p.succeeded());
}

// As for locks: after the end of its lease it is free, whatever was answered.
BOOST_AUTO_TEST_CASE(closing_is_done_when_the_lease_of_one_that_could_not_be_released_is_over)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased({.lease = 1'000ms});
    server->link_down(link());
    auto closes = client.close(settled());
    time.advance(999ms);
    BOOST_TEST(!closes.is_done());
    time.advance(2ms);
    BOOST_TEST(closes.succeeded());
}

BOOST_AUTO_TEST_CASE(extended_to_a_shorter_lease_it_is_lost_sooner)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased();
    auto told = lost(p.value());
    server->expect(scripts::permit_extend);
    auto extends = p.value().extend(200ms, settled());
    time.advance(200ms);
    BOOST_TEST(told.succeeded());
    BOOST_TEST(!p.value());
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_it_when_the_context_goes)
{
    for (bool const waits_for_its_loss : {false, true}) {
        auto at = std::make_unique<counters>();
        at->server->expect(scripts::permit_acquire).reply(taken());
        auto p = at->take_leased();
        BOOST_TEST_REQUIRE(p.succeeded());
        auto own = std::make_shared<permit>(std::move(p.value()));
        std::weak_ptr<permit> const seen = own;
        if (waits_for_its_loss) {
            own->lost([own](error_code) {});
        } else {
            at->server->expect(scripts::count);
            at->permits_.available([own](error_code, std::int64_t) {});
        }
        at->time.settle();
        own.reset();
        at.reset();
        BOOST_TEST(seen.expired());
    }
}

// A renewal that waits for the link gives way to the release, whose outcome is the caller's.
BOOST_AUTO_TEST_CASE(released_while_a_renewal_waits_for_the_link)
{
    server->expect(scripts::permit_acquire).reply(taken());
    auto p = take_leased();
    BOOST_TEST_REQUIRE(p.succeeded());
    server->link_down(link());
    time.advance(1'500ms);
    BOOST_TEST(server->count(scripts::permit_extend) == 0U);
    auto released_it = p.value().release(settled());
    server->expect(scripts::permit_release).reply(done());
    mend();
    BOOST_TEST(released_it.succeeded());
}

// As locks are: what is due together is one call, and each permit has its own answer.
BOOST_AUTO_TEST_CASE(permits_are_renewed_in_batches)
{
    constexpr std::size_t many = 20;
    std::vector<pending<permit>> all;
    for (std::size_t i = 0; i != many; ++i) {
        server->expect(scripts::permit_acquire).reply(taken());
        all.push_back(take_leased());
        BOOST_TEST_REQUIRE(all.back().succeeded());
    }
    auto told = lost(all.at(3).value());
    server->link_down(link());
    auto const before = server->count(scripts::permit_extend);
    std::vector<reply> each(many, reply::of(1));
    each.at(3) = reply::of(std::int64_t{0});
    server->expect(scripts::permit_extend).reply(reply::of(each));
    mend();
    BOOST_TEST(server->count(scripts::permit_extend) - before == 1U);
    BOOST_TEST(last().keys.size() == many);
    BOOST_TEST(told.succeeded());
    for (std::size_t i = 0; i != many; ++i)
        BOOST_TEST(static_cast<bool>(all.at(i).value()) == (i != 3));
    BOOST_TEST(client.stats().holds == many - 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
