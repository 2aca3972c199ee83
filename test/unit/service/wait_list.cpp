// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients wait in the list at the server: each is a client of its own, and the server runs the
// real scripts.
#include "unit/service/clients_in_line.hpp"

namespace colock::test {

BOOST_FIXTURE_TEST_SUITE(service_wait_list, clients_in_line)

BOOST_AUTO_TEST_CASE(a_refused_client_takes_a_place_as_soon_as_it_is_heard)
{
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(b.places() == (ids{"", "last"}), boost::test_tools::per_element());
    BOOST_TEST((list() == ids{b.id()}));
    BOOST_TEST(b.listens_to(b.turn_channel()));
    BOOST_TEST(!b.listens());  // the message for everybody is not for it
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
    BOOST_TEST(b.places().back() == "first");
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
    redis.ask({"LPOP", "colock_wait:{k}"});  // b is told, and does not know yet
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

BOOST_AUTO_TEST_CASE(a_client_that_is_not_connected_is_passed_over)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    b.server->pubsub_down();
    settle();
    release(a, held);
    BOOST_TEST(!second.is_done());
    BOOST_TEST(third.succeeded());
    b.server->pubsub_up();  // it asks where it stands
    settle();
    BOOST_TEST(b.places().back() == "check");
    BOOST_TEST((list() == ids{b.id()}));
    release(c, third.value());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_lost_message_delays_the_first_by_the_poll_cap_at_most)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.ask({"LPOP", "colock_wait:{k}"});
    redis.ask({"DEL", "k"});
    settle();
    BOOST_TEST(!second.is_done());
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_client_whose_list_is_gone_takes_a_place_again)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.ask({"DEL", "colock_wait:{k}"});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_whose_list_others_have_made_anew_takes_a_place_again)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.ask({"DEL", "colock_wait:{k}"});
    redis.ask({"RPUSH", "colock_wait:{k}", c.id()});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST((list() == ids{c.id(), b.id()}));
    release(a, held);
    BOOST_TEST(third.succeeded());
    release(c, third.value());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_waiting_client_keeps_the_list_alive)
{
    auto held = take(a);
    auto const second = wait(b);
    redis.ask({"PEXPIRE", "colock_wait:{k}", "20000"});
    pass(settings_.poll_cap + 50ms);
    BOOST_TEST(redis.ask({"PTTL", "colock_wait:{k}"}).number > 50'000);
}

BOOST_AUTO_TEST_CASE(a_client_that_gets_the_lock_out_of_turn_gives_its_place_up)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.ask({"DEL", "k"});
    c.server->pubsub_down();
    c.server->pubsub_up();  // so it asks
    settle();
    BOOST_TEST(third.succeeded());
    BOOST_TEST((list() == ids{b.id()}));
}

BOOST_AUTO_TEST_CASE(a_told_client_that_comes_too_late_is_the_first_again)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.ask({"LPOP", "colock_wait:{k}"});
    b.server->publish(b.turn_channel(), "0");  // but a has it still
    settle();
    BOOST_TEST(!second.is_done());
    BOOST_TEST((list() == ids{b.id(), c.id()}));
}

BOOST_AUTO_TEST_CASE(a_single_try_takes_no_place)
{
    auto held = take(a);
    auto const once = b.try_acquire();
    settle();
    BOOST_TEST(once.succeeded());
    BOOST_TEST(list().empty());
    BOOST_TEST(!b.listens_to(b.turn_channel()));
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

// ---- Holders that know no list -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_foreign_holder_is_waited_for_by_the_channel_of_the_lock)
{
    redis.occupy("k", foreign, 30s);
    auto const second = wait(b);
    BOOST_TEST(b.listens());
    redis.free("k");
    pass(20ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_told_client_that_meets_a_foreign_holder_listens_in_front)
{
    auto held = take(a);
    auto const second = wait(b), third = wait(c);
    redis.occupy("k", foreign, 30s);
    redis.ask({"LPOP", "colock_wait:{k}"});
    b.server->publish(b.turn_channel(), "0");
    settle();
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    BOOST_TEST((b.listens() && !c.listens()));
    redis.free("k");
    pass(20ms);
    BOOST_TEST(second.succeeded());
    BOOST_TEST((list() == ids{c.id()}));
    release(b, second.value());
    pass(20ms);
    BOOST_TEST(third.succeeded());
}

// Redisson's clients tell nobody in the list, and the lock is never free when it is asked about.
BOOST_AUTO_TEST_CASE(a_client_that_is_not_told_asks_after_thirty_polls_and_listens)
{
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(!b.listens());
    redis.occupy("k", foreign, 1h);
    pass(29s);
    BOOST_TEST(!b.listens());
    pass(2s);
    BOOST_TEST(b.listens());
    redis.free("k");
    pass(20ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_told_client_lets_those_ask_first_who_have_no_place)
{
    redis.occupy("k", foreign, 30s);
    auto const second = wait(b);
    redis.ask({"DEL", "k"});
    auto held = take(a);
    b.server->publish(one::channel());  // it asks, and takes a place
    pass(20ms);
    BOOST_TEST_REQUIRE((list() == ids{b.id()}));
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
    redis.ask({"SET", "colock_wait:{k}", "of another type"});
    auto held = take(a);
    auto const second = wait(b);
    BOOST_TEST(b.listens());
    release(a, held);
    pass(20ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_whose_own_channel_is_refused_listens_to_that_of_the_lock)
{
    auto held = take(a);
    b.server->forbidden.insert(b.turn_channel());
    auto second = wait(b);
    BOOST_TEST(list().empty());
    BOOST_TEST(b.listens());
    release(a, held);
    pass(20ms);
    BOOST_TEST(second.succeeded());
    // The refusal is remembered for a while, and nothing is asked then.
    release(b, second.value());
    held = take(a);
    auto const third = wait(b);
    BOOST_TEST(b.listens());
    release(a, held);
    pass(20ms);
    BOOST_TEST(third.succeeded());
}

// The server was busy. In the meantime the client wants the lock again.
BOOST_AUTO_TEST_CASE(a_late_leave_takes_no_later_place_away)
{
    auto held = take(a);
    auto second = wait(b);
    auto& leaving = b.server->expect(scripts::leave);
    second.cancel();
    settle();
    leaving.not_now();
    settle();
    auto const third = wait(b);
    BOOST_TEST((list() == ids{b.id()}));  // the old entry, which is also the new one
    auto const leaves = b.server->count(scripts::leave);
    pass(500ms);
    BOOST_TEST(b.server->count(scripts::leave) == leaves);
    BOOST_TEST((list() == ids{b.id()}));
    release(a, held);
    BOOST_TEST(third.succeeded());
}

// It is busy, or lacks memory, or its connection was lost: the entry stands there still.
BOOST_AUTO_TEST_CASE(a_leave_that_the_server_could_not_run_is_repeated)
{
    auto const held = take(a);
    for (auto const answer :
         {&expectation::not_now, &expectation::out_of_memory, &expectation::lose}) {
        auto second = wait(b);
        auto& leaving = b.server->expect(scripts::leave);
        second.cancel();
        settle();
        BOOST_TEST((list() == ids{b.id()}));
        (leaving.*answer)();
        pass(500ms);
        BOOST_TEST(list().empty());
    }
}

BOOST_AUTO_TEST_CASE(a_leave_whose_connection_is_refused_is_sent_later)
{
    auto held = take(a);
    auto second = wait(b);
    b.server->down_reason_to_tell = error::server_refused;
    b.server->link_down(b.link());
    second.cancel();
    pass(20s);
    BOOST_TEST((list() == ids{b.id()}));
    b.server->down_reason_to_tell = {};
    b.server->link_up(b.link());
    pass(1s);
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_leave_whose_connection_is_refused_keeps_no_closing_client_up)
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
