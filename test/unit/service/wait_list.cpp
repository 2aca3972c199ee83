// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients wait in the list at the server: each is a client of its own, and the server runs the
// real scripts.
#include "unit/service/clients_in_line.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_wait_list, clients_in_line)

BOOST_AUTO_TEST_CASE(a_refused_client_takes_a_place_as_soon_as_it_can_be_told)
{
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(b.places() == (ids{"", "0"}), boost::test_tools::per_element());
    BOOST_TEST((list() == ids{b.id()}));
    BOOST_TEST(b.is_heard());
    BOOST_TEST(!b.listens());  // the message for everybody is not for it
}

BOOST_AUTO_TEST_CASE(with_a_mailbox_one_step_is_enough)
{
    b.open_mailbox();
    settle();
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(b.tries() == 1U);
    BOOST_TEST((list() == ids{b.id()}));
}

BOOST_AUTO_TEST_CASE(a_waiter_behind_a_refused_single_try_takes_its_place)
{
    b.open_mailbox();
    settle();
    auto held = take(a);
    auto& asked = b.server->expect(scripts::acquire);
    auto const tried = b.try_acquire();
    settle();
    auto const second = wait(b);
    answer(asked);
    BOOST_TEST(tried.gave_nothing());
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(second.succeeded());
}

// Others are told each time before it can ask.
BOOST_AUTO_TEST_CASE(a_client_that_may_not_be_told_gets_in_as_well)
{
    c.server->forbidden.insert(c.mailbox());
    auto held = take(a);
    auto of_b = wait(b);
    auto const third = wait(c);
    auto of_a = wait(a);
    for (int rounds = 0; rounds != 20 && !third.is_done(); ++rounds) {
        release(a, held);
        pass(20ms);
        if (third.is_done())
            break;
        BOOST_TEST_REQUIRE(of_b.succeeded());
        auto of_b_now = std::move(of_b.value());
        of_b = wait(b);
        release(b, of_b_now);
        pass(20ms);
        if (third.is_done())
            break;
        BOOST_TEST_REQUIRE(of_a.succeeded());
        held = std::move(of_a.value());
        of_a = wait(a);
    }
    BOOST_TEST(third.succeeded());
}

// It inherits the place.
BOOST_AUTO_TEST_CASE(a_waiter_that_becomes_the_first_while_its_client_asks_does_not_ask_again)
{
    b.open_mailbox();
    settle();
    auto held = take(a);
    auto& asked = b.server->expect(scripts::acquire);
    auto second = b.acquire();
    settle();
    auto const next = wait(b);
    second.cancel();
    answer(asked);
    BOOST_TEST(second.aborted());
    BOOST_TEST(b.tries() == 1U);
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(a_release_tells_the_first_alone)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    auto const before = c.server->written().size();
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    BOOST_TEST(c.server->written().size() == before);
    release(b, second.value());
    BOOST_TEST(third.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_leaves_the_list)
{
    auto held = take(a);
    auto second = wait(b), third = wait(c);
    second.cancel();
    settle();
    BOOST_TEST(second.aborted());
    BOOST_TEST((list() == ids{c.id()}));
    release(a, held);
    BOOST_TEST(third.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(whoever_leaves_when_its_turn_may_have_come_passes_it_on)
{
    auto held = take(a);
    auto second = wait(b), third = wait(c);
    lose_turn();
    redis.ask({"DEL", "k"});
    second.cancel();
    settle();
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(the_last_of_several_waiters_alone_leaves)
{
    auto held = take(a);
    auto second = wait(b), another = wait(b), third = wait(c);
    second.cancel();
    settle();
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    another.cancel();
    settle();
    BOOST_TEST((list() == ids{c.id()}));
}

BOOST_AUTO_TEST_CASE(a_client_that_is_not_connected_is_passed_over_and_comes_back_to_its_place)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    b.server->pubsub_down();
    settle();
    release(a, held);
    BOOST_TEST(!second.is_done());
    BOOST_TEST(third.succeeded());
    BOOST_TEST(list().empty());
    auto const place = b.places().back();
    b.server->pubsub_up();
    settle();
    BOOST_TEST((list() == ids{b.id()}));
    BOOST_TEST(std::stoll(b.places().back()) > std::stoll(place));
    release(c, third.value());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_lost_message_delays_the_first_by_the_poll_cap_at_most)
{
    auto held = take(a);
    auto const second = wait(b);
    lose_turn();
    redis.ask({"DEL", "k"});
    settle();
    BOOST_TEST(!second.is_done());
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_client_whose_list_is_gone_takes_its_place_again)
{
    auto held = take(a);
    auto const second = wait(b);
    pass(2ms);
    auto const third = wait(c);
    redis.ask({"DEL", turns});
    redis.ask({"ZADD", turns, std::to_string(redis.now()), c.id() + ":99"});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST((list() == ids{b.id(), c.id(), c.id()}));
    release(a, held);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_waiting_client_keeps_the_list_alive)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.ask({"PEXPIRE", turns, "20000"});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(redis.ask({"PTTL", turns}).number > 500'000);
}

BOOST_AUTO_TEST_CASE(a_client_that_gets_the_lock_out_of_turn_gives_its_place_up)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.ask({"DEL", "k"});
    c.server->pubsub_down();
    c.server->pubsub_up();  // so it looks, and asks
    settle();
    BOOST_TEST(third.succeeded());
    BOOST_TEST((list() == ids{b.id()}));
}

BOOST_AUTO_TEST_CASE(a_told_client_that_comes_too_late_is_the_first_again)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    lose_turn();
    publish(b, b.turn());  // but a has it still
    BOOST_TEST(!second.is_done());
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    BOOST_TEST(redis.ask({"ZSCORE", turns, first()}).text == b.places().back());
}

BOOST_AUTO_TEST_CASE(a_turn_that_comes_while_it_asks_is_not_forgotten)
{
    auto held = take(a);
    auto const second = wait(b);
    auto& slow = b.server->expect(scripts::acquire);
    publish(b, b.turn());
    BOOST_TEST_REQUIRE(slow.has_come());
    auto const refused = redis.run(slow.seen());
    redis.ask({"DEL", "k"});
    publish(b, b.turn());
    slow.reply(refused);
    settle();
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_turn_of_a_wait_that_is_over_does_nothing)
{
    auto held = take(a);
    auto second = wait(b);
    auto const old = b.turn();
    second.cancel();
    settle();
    auto const third = wait(b);
    auto const before = b.tries();
    publish(b, old);
    BOOST_TEST(b.tries() == before);
}

BOOST_AUTO_TEST_CASE(a_single_try_takes_no_place)
{
    b.open_mailbox();
    settle();
    auto held = take(a);
    auto const once = b.try_acquire();
    settle();
    BOOST_TEST(once.succeeded());
    BOOST_TEST(list().empty());
    BOOST_TEST(b.places().back().empty());
}

BOOST_AUTO_TEST_CASE(a_forced_release_tells_the_first)
{
    auto held = take(a);
    auto const second = wait(b);
    pending<bool> forced;
    c.mutex().force_release(forced.token());
    settle();
    BOOST_TEST(forced.succeeded());
    BOOST_TEST(second.succeeded());
}

// It asks until its first attempt has found that it can be told.
BOOST_AUTO_TEST_CASE(what_is_released_while_the_mailbox_opens_is_not_missed)
{
    auto held = take(a);
    b.server->hold_changes = true;
    auto const second = wait(b);
    release(a, held);
    BOOST_TEST(!second.is_done());
    b.server->confirm_change();
    settle();
    BOOST_TEST(second.succeeded());
}

// ---- Holders that know no list -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_first_alone_listens_to_the_channel_of_the_lock_before_a_foreign_holder)
{
    redis.occupy("k", foreign, 30s);
    auto const second = wait(b), third = wait(c);
    BOOST_TEST((b.listens() && !c.listens()));
    redis.free("k");
    settle();
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    release(b, second.value());
    pass(10ms);
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(a_told_client_that_meets_a_foreign_holder_listens_in_front)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.occupy("k", foreign, 30s);
    lose_turn();
    publish(b, b.turn());
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    BOOST_TEST((b.listens() && !c.listens()));
    redis.free("k");
    settle();
    BOOST_TEST(second.succeeded());
    BOOST_TEST((list() == ids{c.id()}));
}

// Redisson's clients tell nobody in the list, and the lock is never free when it is asked about.
BOOST_AUTO_TEST_CASE(a_look_finds_that_the_holder_has_become_a_foreign_one)
{
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(!b.listens());
    redis.occupy("k", foreign, 1h);
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(b.listens());
    redis.free("k");
    settle();
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(if_the_first_dies_before_a_foreign_holder_the_next_one_listens)
{
    redis.occupy("k", foreign, 1h);
    auto const second = wait(b), third = wait(c);
    b.server->pubsub_down();
    b.server->all_down();
    pass(2 * settings_.poll_cap + 50ms);
    BOOST_TEST((list() == ids{c.id()}));
    BOOST_TEST(c.listens());
    redis.free("k");
    settle();
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(a_told_client_lets_those_ask_first_who_have_no_place)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.others = 1;  // hears, and has no place
    auto const released = a.release(held);
    settle();
    BOOST_TEST(released.succeeded());
    BOOST_TEST(!second.is_done());
    pass(20ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(where_the_server_refuses_the_list_the_channel_of_the_lock_tells)
{
    redis.ask({"SET", turns, "of another type"});
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(b.listens());
    release(a, held);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_whose_mailbox_is_refused_listens_to_the_channel_of_the_lock)
{
    auto held = take(a);
    b.server->forbidden.insert(b.mailbox());
    auto second = wait(b);
    BOOST_TEST(list().empty());
    BOOST_TEST(b.listens());
    release(a, held);
    BOOST_TEST(second.succeeded());
    release(b, second.value());
    pass(10ms);
    held = take(a);
    auto const third = wait(b);
    BOOST_TEST(b.listens());
    release(a, held);
    BOOST_TEST(third.succeeded());
}

// ---- The end of a wait -------------------------------------------------------------------------

// It is busy, or lacks memory, or its connection was lost: the entry stands there still.
BOOST_AUTO_TEST_CASE(the_end_of_a_wait_that_the_server_could_not_hear_of_is_told_again)
{
    auto const held = take(a);
    for (auto const answer :
         {&expectation::not_now, &expectation::out_of_memory, &expectation::lose}) {
        auto second = wait(b);
        auto& leaving = b.server->expect(scripts::release);
        second.cancel();
        settle();
        BOOST_TEST((list() == ids{b.id()}));
        (leaving.*answer)();
        pass(500ms);
        BOOST_TEST(list().empty());
    }
}

BOOST_AUTO_TEST_CASE(a_late_end_of_a_wait_takes_no_later_place_away)
{
    auto held = take(a);
    auto second = wait(b);
    auto& leaving = b.server->expect(scripts::release);
    second.cancel();
    settle();
    leaving.not_now();
    auto const third = wait(b);
    pass(500ms);
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(the_end_of_a_wait_keeps_no_closing_client_up_whose_connection_is_refused)
{
    auto held = take(a);
    auto second = wait(b);
    b.server->down_reason_to_tell = error::server_refused;
    b.server->link_down(b.link());
    second.cancel();
    settle();
    pending<> closed;
    b.client.close(closed.token());
    pass(1s);
    BOOST_TEST(closed.succeeded());
}

// The holder's release tells the first of the list.
BOOST_AUTO_TEST_CASE(the_next_one_is_not_told_while_the_lock_is_held)
{
    auto held = take(a);
    auto second = wait(b);
    auto const third = wait(c);
    auto const before = c.tries();
    second.cancel();
    settle();
    BOOST_TEST(c.tries() == before);
    BOOST_TEST((list() == ids{c.id()}));
    release(a, held);
    BOOST_TEST(third.succeeded());
}

BOOST_AUTO_TEST_CASE(a_prefix_of_any_characters)
{
    auto settings = calm();
    settings.key_prefix = "*x:";
    clients_in_line with_prefix{settings};
    auto held = with_prefix.take(with_prefix.a);
    auto const second = with_prefix.wait(with_prefix.b);
    with_prefix.release(with_prefix.a, held);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
