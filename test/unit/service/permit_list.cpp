// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients wait for permits in the list at the server: each is a client of its own, and the
// server runs the real scripts.
#include "unit/service/counters.hpp"
#include "unit/service/several_clients.hpp"

#include <array>

namespace colock::test {

namespace {

std::string const common = "redisson_sc:{k}";

/// Clients that want permits of the semaphore `k`, at one server.
struct clients_in_list {
    using ids = std::vector<std::string>;

    struct one : counters {
        explicit one(script_server& redis) { redis.attach(*server); }

        std::string id() { return inside().uuid(); }
        bool listens() const { return server->subscribed().contains(common); }
        std::size_t asked() const
        {
            return server->count(scripts::semaphore_acquire) +
                server->count(scripts::permit_acquire);
        }
        std::string number() const { return server->written().back().arguments.at(1); }
    };

    void settle() { settle_all(all); }
    void pass(milliseconds time) { pass_for_all(all, time); }
    pending<> wait(one& who, std::int64_t n = 1)
    {
        auto p = who.take(n);
        settle();
        return p;
    }
    void give(one& who, std::int64_t n = 1)
    {
        auto const p = who.give(n);
        settle();
        BOOST_TEST(p.succeeded());
    }
    pending<permit> lease(one& who, acquire_options options = {})
    {
        auto p = who.take_leased(options);
        settle();
        return p;
    }
    ids list()
    {
        ids found;
        for (auto const& each : redis.ask({"ZRANGE", turns, "0", "-1"}).items) {
            auto const number = each.text.find(':'), more = each.text.find(':', number + 1);
            found.push_back(each.text.substr(0, number));
            found.back() += more == each.text.npos ? "" : each.text.substr(more);
        }
        return found;
    }
    /// The first of the list was told its turn, and the message is lost.
    void lose_turn()
    {
        auto const first = redis.ask({"ZRANGE", turns, "0", "0"}).items.at(0).text;
        redis.ask({"ZADD", turns, std::to_string(-redis.now() - 100'000), first});
    }
    /// Redisson, or an older colock, gives some back.
    void foreigner_gives(std::int64_t n = 1)
    {
        redis.set_counter("k", redis.counter("k") + n);
        for (auto* const each : all)
            each->server->publish(common, std::to_string(redis.counter("k")));
        settle();
    }

    std::string const turns = decide::wait_list("k");
    script_server redis;
    one a{redis}, b{redis}, c{redis}, d{redis};
    std::array<one*, 4> all{&a, &b, &c, &d};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_permit_list, clients_in_list)

BOOST_AUTO_TEST_CASE(a_refused_client_takes_a_place_as_soon_as_it_can_be_told)
{
    auto const first = wait(b), second = wait(c);
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    BOOST_TEST(c.server->subscribed().contains(c.mailbox()));
    BOOST_TEST(b.listens());  // for releases of those who know no list
    BOOST_TEST(!c.listens());
}

// A single try was faster, and the first wants more than is left.
BOOST_AUTO_TEST_CASE(what_a_told_client_does_not_get_is_offered_to_others)
{
    redis.set_counter("k", 0);
    auto const five = wait(b, 5), three = wait(c, 3), last = wait(d, 1);
    auto& asked = c.server->expect(scripts::semaphore_acquire);
    give(a, 3);
    BOOST_TEST_REQUIRE(asked.has_come());
    BOOST_TEST(a.try_take(1).succeeded());
    pass(5ms);  // the first has heard of these as well, and asks in vain
    asked.reply(redis.run(asked.seen()));
    settle();
    pass(5ms);
    BOOST_TEST(last.succeeded());
    BOOST_TEST(redis.counter("k") == 1);
}

BOOST_AUTO_TEST_CASE(a_request_whose_lease_has_run_out_leaves_the_list)
{
    redis.set_counter("k", 0);
    acquire_options options;
    options.lease = 1s;
    auto waits = lease(b, options);
    BOOST_TEST((list() == ids{b.id()}));
    auto& asked = b.server->expect(scripts::permit_acquire);
    pass(1'100ms);  // the poll cap
    BOOST_TEST_REQUIRE(asked.has_come());
    b.server->link_down(b.link());
    settle();
    pass(1'500ms);
    b.server->link_up(b.link());
    settle();
    pass(10ms);
    BOOST_TEST((list() == ids{b.id()}));
    waits.cancel();
    settle();
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_release_tells_as_many_as_can_get_in)
{
    auto const first = wait(b), second = wait(c), third = wait(d);
    auto const before = d.asked();
    give(a, 2);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    BOOST_TEST(d.asked() == before);
    BOOST_TEST((list() == ids{d.id()}));
    give(b);
    BOOST_TEST(third.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(who_wants_more_than_there_is_keeps_its_place_and_lets_others_pass)
{
    auto const big = wait(b, 3), small = wait(c), other = wait(d);
    BOOST_TEST((list() == ids{b.id() + ":3", c.id(), d.id()}));
    auto const before = b.asked();
    give(a);
    pass(10ms);  // the first hears the channel, too
    BOOST_TEST(!big.is_done());
    BOOST_TEST(small.succeeded());
    BOOST_TEST(!other.is_done());
    BOOST_TEST(b.asked() <= before + 1);
    BOOST_TEST((list() == ids{b.id() + ":3", d.id()}));
    give(a, 3);
    BOOST_TEST(big.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_whose_next_call_wants_another_number_keeps_its_place)
{
    auto big = wait(b, 3), small = wait(b), other = wait(c);
    BOOST_TEST((list() == ids{b.id() + ":3", c.id()}));
    big.cancel();
    settle();
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    give(a, 2);
    BOOST_TEST(other.succeeded());
    BOOST_TEST(small.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_leaves_the_list)
{
    auto first = wait(b);
    auto second = wait(c, 2);
    second.cancel();
    settle();
    BOOST_TEST((list() == ids{b.id()}));
    give(a);
    BOOST_TEST(first.succeeded());
}

BOOST_AUTO_TEST_CASE(whoever_leaves_after_its_turn_was_told_passes_it_on)
{
    auto first = wait(b), second = wait(c);
    lose_turn();
    redis.set_counter("k", 1);
    first.cancel();
    settle();
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_that_is_not_connected_is_passed_over)
{
    auto const first = wait(b), second = wait(c);
    b.server->pubsub_down();
    settle();
    give(a);
    BOOST_TEST(!first.is_done());
    BOOST_TEST(second.succeeded());
    b.server->pubsub_up();
    settle();
    BOOST_TEST((list() == ids{b.id()}));
    give(c);
    BOOST_TEST(first.succeeded());
}

BOOST_AUTO_TEST_CASE(a_lost_message_delays_by_the_poll_cap_at_most)
{
    auto const first = wait(b);
    lose_turn();
    redis.set_counter("k", 1);
    settle();
    BOOST_TEST(!first.is_done());
    pass(1'050ms);
    BOOST_TEST(first.succeeded());
}

BOOST_AUTO_TEST_CASE(all_that_is_left_is_told)
{
    auto const first = wait(b), second = wait(c);
    redis.set_counter("k", 1);  // and nobody has heard of it
    give(a);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_waiting_client_keeps_the_list_alive)
{
    auto const first = wait(b);
    redis.ask({"PEXPIRE", turns, "20000"});
    pass(1'050ms);
    BOOST_TEST(redis.ask({"PTTL", turns}).number > 500'000);
    redis.ask({"DEL", turns});
    pass(1'050ms);
    BOOST_TEST((list() == ids{b.id()}));
}

BOOST_AUTO_TEST_CASE(a_single_try_takes_no_place)
{
    auto const once = b.try_take();
    settle();
    BOOST_TEST(once.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_semaphore_that_is_set_tells_those_who_wait)
{
    auto const first = wait(b), second = wait(c), third = wait(d);
    pending<bool> made;
    a.permits_.try_set_permits(2, made.token());
    settle();
    BOOST_TEST(made.succeeded());
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
}

// ---- Clients that know no list -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_first_hears_a_foreigner_and_the_next_listens_in_its_turn)
{
    auto const first = wait(b), second = wait(c), third = wait(d);
    foreigner_gives();
    pass(10ms);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(!second.is_done());
    BOOST_TEST((list() == ids{c.id(), d.id()}));
    BOOST_TEST(c.listens());
    BOOST_TEST(!d.listens());
    foreigner_gives();
    pass(10ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    BOOST_TEST(d.listens());
}

BOOST_AUTO_TEST_CASE(of_several_permits_of_a_foreigner_each_waiter_hears)
{
    auto const first = wait(b), second = wait(c), third = wait(d);
    foreigner_gives(3);
    pass(10ms);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(who_is_first_listens_after_a_poll_cap)
{
    auto const first = wait(b), second = wait(c);
    give(a);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(!c.listens());
    pass(1'050ms);
    BOOST_TEST(c.listens());
    foreigner_gives();
    pass(10ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_told_client_that_comes_too_late_is_the_first_again_and_listens)
{
    auto const first = wait(b), second = wait(c);
    give(a);
    BOOST_TEST(first.succeeded());
    lose_turn();
    c.server->publish(c.mailbox(), "turn " + c.number() + " 0 k");  // but there is none
    settle();
    BOOST_TEST(!second.is_done());
    BOOST_TEST((list() == ids{c.id()}));
    BOOST_TEST(c.listens());
}

BOOST_AUTO_TEST_CASE(where_the_server_refuses_the_list_the_channel_tells)
{
    redis.ask({"SET", turns, "of another type"});
    auto const first = wait(b);
    BOOST_TEST(b.listens());
    give(a);
    pass(20ms);
    BOOST_TEST(first.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_whose_mailbox_is_refused_listens_to_the_common_channel)
{
    b.server->forbidden.insert(b.mailbox());
    auto const first = wait(b);
    BOOST_TEST(list().empty());
    BOOST_TEST(b.listens());
    give(a);
    pass(20ms);
    BOOST_TEST(first.succeeded());
}

// ---- Permits with a lease ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_leased_permit_that_is_released_goes_to_the_first)
{
    redis.set_counter("k", 1);
    auto held = lease(a);
    BOOST_TEST_REQUIRE(held.succeeded());
    auto const first = lease(b), second = lease(c);
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    auto const before = c.asked();
    pending<> gives;
    held.value().release(gives.token());
    settle();
    BOOST_TEST(first.succeeded());
    BOOST_TEST(!second.is_done());
    BOOST_TEST(c.asked() == before);
}

BOOST_AUTO_TEST_CASE(permits_whose_lease_has_ended_go_to_those_who_wait)
{
    redis.set_counter("k", 2);
    acquire_options const brief{.lease = 400ms, .renew = false};
    auto const short_lived = lease(a, brief), another = lease(a, brief);
    BOOST_TEST_REQUIRE(another.succeeded());
    auto const first = lease(b), second = lease(c);
    pass(500ms);
    BOOST_TEST(first.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_call_that_gives_up_gives_up_its_place)
{
    redis.set_counter("k", 1);
    auto held = lease(a);
    auto first = lease(b);
    auto const second = lease(c);
    first.cancel();
    settle();
    BOOST_TEST((list() == ids{c.id()}));
    BOOST_TEST(c.listens());  // it is the first now
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
