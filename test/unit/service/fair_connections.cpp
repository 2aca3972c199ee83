// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/fair.hpp"

#include <optional>

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_fair_connections, fair)

BOOST_AUTO_TEST_CASE(a_new_link_keeps_all_at_once)
{
    auto const first = placed();
    auto const second = placed();
    server->link_down(link());
    time.advance(6'000ms);
    BOOST_TEST(server->count(scripts::fair_keep) == 0U);
    server->expect(scripts::fair_keep).reply(each({not_there(), not_there()}));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->expect(scripts::fair_acquire).reply(waits(50'000));
    server->link_up(link());
    time.advance(1ms);
    BOOST_TEST(server->all_came());
    BOOST_TEST((!first.is_done() && !second.is_done()));
}

BOOST_AUTO_TEST_CASE(after_an_outage_all_are_kept_in_the_order_of_their_arrival)
{
    auto const first = placed();
    std::vector<std::string> arrived{field};
    time.advance(1'000ms);
    for (int i = 0; i != 2; ++i) {
        auto const next = placed();
        arrived.push_back(field);
    }
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(beat - 1'000ms);  // the first is the last to be due again
    server->link_down(link());
    time.advance(6'000ms);

    server->expect(scripts::fair_keep).reply(each({not_there(), not_there(), not_there()}));
    for (int i = 0; i != 3; ++i)
        server->expect(scripts::fair_acquire).reply(waits(50'000));
    mend();
    BOOST_TEST(server->all_came());
    auto const& steps = server->written();
    auto const& kept = steps.at(steps.size() - 4).arguments;
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(kept.at(3 * i) == arrived[i]);
        BOOST_TEST(steps.at(steps.size() - 3 + i).field() == arrived[i]);
    }
}

// The answer of the heartbeat that would revive the ticket is lost, and the server then refuses the
// client: nobody else would wake the waiter.
BOOST_AUTO_TEST_CASE(a_ticket_that_cannot_be_revived_ends_with_the_refusal)
{
    auto const waiting = placed(500);
    server->link_down(link());
    time.advance(600ms);
    BOOST_TEST(server->unsent() == 1U);  // it asks by itself
    server->expect(scripts::fair_keep);
    mend();
    BOOST_TEST(server->all_came());
    BOOST_TEST(server->unsent() == 0U);
    server->down_reason_to_tell = error::server_refused;
    server->all_down();
    time.advance(beat + 1ms);
    BOOST_TEST((waiting.ec() == error::server_refused));
}

// What asks would take those away whom nobody could keep.
BOOST_AUTO_TEST_CASE(after_an_outage_all_are_kept_before_anybody_asks)
{
    auto const first = placed(500);
    auto const second = placed(500);
    server->link_down(link());
    server->pubsub_down();
    time.advance(6'000ms);
    server->pubsub_up();  // each would ask, and the first has wanted to since the lease was over
    time.settle();
    BOOST_TEST(server->unsent() == 1U);
    server->expect(scripts::fair_keep).reply(each({waits(500), waits(500)}));
    mend();
    BOOST_TEST(server->all_came());
    BOOST_TEST(server->unsent() == 0U);
    server->expect(scripts::fair_acquire).reply(waits(500));
    time.advance(510ms);
    BOOST_TEST(server->all_came());
}

// Whose first answer was lost asks again as soon as it can: that is not before the others.
BOOST_AUTO_TEST_CASE(after_an_outage_who_came_last_does_not_come_first)
{
    auto const first = placed();
    std::vector<std::string> arrived{field};
    auto const second = placed();
    arrived.push_back(field);
    auto& unanswered = server->expect(scripts::fair_acquire);
    auto const third = wait();
    BOOST_TEST_REQUIRE(unanswered.has_come());
    arrived.push_back(last().field());
    server->link_down(link());
    time.advance(100ms);
    BOOST_TEST(server->unsent() == 1U);

    server->expect(scripts::fair_keep).reply(each({not_there(), not_there(), not_there()}));
    auto const before = server->written().size() + 1;
    for (int i = 0; i != 4; ++i)  // the third asks once more when its subscription is live
        server->expect(scripts::fair_acquire).reply(waits(50'000));
    mend();
    BOOST_TEST(server->all_came());
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(server->written().at(before + i).field() == arrived[i]);
    BOOST_TEST((!first.is_done() && !second.is_done() && !third.is_done()));
    server->serve = [](call const&) { return answer{answer::kind::replied, released(), {}, {}}; };
}

// The heartbeat of the second waited for the link when that went down, and is sent before the
// others.
BOOST_AUTO_TEST_CASE(a_heart_beat_from_before_the_outage_lets_nobody_overtake)
{
    auto const first = placed();
    std::vector<std::string> arrived{field};
    time.advance(1'000ms);
    auto const second = placed();
    arrived.push_back(field);
    server->expect(scripts::fair_keep).reply(each({waits(50'000)}));
    time.advance(beat - 1'000ms);  // the first is due again after the second
    auto& early = server->expect(scripts::fair_keep);
    time.advance(1'000ms);
    BOOST_TEST_REQUIRE(early.has_come());
    server->link_down(link());
    server->sent_alone(early);
    time.settle();
    BOOST_TEST(server->unsent() == 1U);

    server->expect(scripts::fair_keep).reply(each({not_there()}));
    server->expect(scripts::fair_keep).reply(each({not_there(), not_there()}));
    for (int i = 0; i != 2; ++i)
        server->expect(scripts::fair_acquire).reply(waits(50'000));
    mend();
    BOOST_TEST(server->all_came());
    auto const& steps = server->written();
    for (std::size_t i = 0; i != 2; ++i)
        BOOST_TEST(steps.at(steps.size() - 2 + i).field() == arrived[i]);
    BOOST_TEST((!first.is_done() && !second.is_done()));
}

BOOST_AUTO_TEST_CASE(after_an_outage_all_are_kept_however_many_calls_that_takes)
{
    server->serve = [](call const& c) -> std::optional<answer> {
        if (c.what == &scripts::fair_keep)
            return {};  // held back
        return answer{answer::kind::replied, waits(50'000), {}, {}};
    };
    std::vector<pending_hold> all;
    for (int i = 0; i != 600; ++i)
        all.push_back(wait());
    server->link_down(link());
    time.advance(6'000ms);
    mend();
    std::size_t kept = 0;
    for (auto const& each : server->written())
        if (each.what == &scripts::fair_keep)
            kept += each.keys.size() / 4;
    BOOST_TEST(kept == all.size());
}

BOOST_AUTO_TEST_CASE(a_new_subscription_lets_it_ask)
{
    auto const got = placed();
    pubsub_down();
    server->expect(scripts::fair_acquire).reply(granted(3));
    pubsub_up();
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(a_refused_channel_leaves_the_heart_beat)
{
    server->expect(scripts::fair_acquire).reply(waits(60'000));
    server->forbidden.insert(channel() + ":" + inside().field(1));
    auto const got = wait();
    server->expect(scripts::fair_keep).reply(each({waits(0)}));
    server->expect(scripts::fair_acquire).reply(granted(3));
    time.advance(beat);
    BOOST_TEST(got.succeeded());
}

BOOST_AUTO_TEST_CASE(closing_takes_the_places_along)
{
    auto held = granted_at_once();
    auto const waiting = placed();
    server->expect(scripts::fair_release).reply(gone());
    server->expect(scripts::fair_release).reply(released());
    auto closed = client.close(settled());
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(server->all_came());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(closing_takes_the_last_place_first)
{
    std::vector<std::string> arrived;
    for (int i = 0; i != 3; ++i) {
        auto const waiting = placed();
        arrived.push_back(field);
    }
    for (int i = 0; i != 3; ++i)
        server->expect(scripts::fair_release).reply(gone());
    auto closed = client.close(settled());
    BOOST_TEST(closed.succeeded());
    auto const& steps = server->written();
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(steps.at(steps.size() - 1 - i).field() == arrived[i]);
}

BOOST_AUTO_TEST_CASE(a_client_that_stops_sends_nothing)
{
    auto const waiting = placed();
    auto const steps = server->written().size();
    stop();
    BOOST_TEST((waiting.ec() == error::closed));
    BOOST_TEST(server->written().size() == steps);
    BOOST_TEST(is_forgotten());
    BOOST_TEST(time.advance_until([&] { return context.stopped(); }, 5s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
