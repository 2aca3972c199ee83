// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients wait in the list at the server: each is a client of its own, and the server runs the
// real scripts.
#include "client/raw_commands.hpp"
#include "unit/service/clients_in_line.hpp"

namespace colock::test {

namespace {

struct clients_with_tenures : clients_in_line {
    clients_with_tenures() : clients_in_line{short_leases()} {}
};

}  // namespace

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

BOOST_AUTO_TEST_CASE(a_leave_whose_answer_is_lost_is_sent_again)
{
    auto held = take(a);
    auto second = wait(b);
    auto& leaving = b.server->expect(scripts::leave);
    second.cancel();
    settle();
    leaving.lose();
    settle();
    BOOST_TEST(b.server->count(scripts::leave) == 2U);
    BOOST_TEST(list().empty());
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
    auto const second = wait(b);
    BOOST_TEST(list().empty());
    BOOST_TEST(b.listens());
    release(a, held);
    pass(20ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_wait_list_turns, clients_with_tenures)

BOOST_AUTO_TEST_CASE(a_client_that_closes_leaves_the_list)
{
    auto held = take(a);
    auto& first = b.server->expect(scripts::acquire);
    auto& joining = b.server->expect(scripts::acquire);
    auto const waits = b.acquire();
    answer(first);
    BOOST_TEST_REQUIRE(joining.has_come());
    auto const joined = redis.run(joining.seen());
    BOOST_TEST(list().size() == 1U);
    pending<> closed;
    b.client.close(closed.token());
    settle();
    BOOST_TEST(waits.is_done());
    BOOST_TEST(!closed.is_done());
    joining.reply(joined);
    settle();
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(whoever_has_just_released_asks_for_a_place_behind_the_others)
{
    auto held = take_slowly(a);
    auto const second = wait(b);
    auto& asked = b.server->expect(scripts::acquire);  // told, and on its way
    auto const released = a.release(held);
    settle();
    BOOST_TEST_REQUIRE(asked.has_come());
    auto const again = wait(a);
    BOOST_TEST(!again.is_done());  // though the lock is free
    BOOST_TEST(a.places().back() == "behind");
    BOOST_TEST((list() == ids{a.id()}));
    asked.lose();  // it asks once more
    settle();
    BOOST_TEST(second.succeeded());
    release(b, second.value());
    BOOST_TEST(again.succeeded());
}

BOOST_AUTO_TEST_CASE(a_client_behind_one_that_has_left_does_not_wait_for_it)
{
    auto held = take_slowly(a);
    auto second = wait(b);
    auto& asked = b.server->expect(scripts::acquire);  // told, and on its way
    auto const released = a.release(held);
    settle();
    BOOST_TEST_REQUIRE(asked.has_come());
    second.cancel();
    asked.lose();
    settle();
    BOOST_TEST(second.is_done());
    auto const again = wait(a);
    BOOST_TEST(a.places().back() == "behind");
    pass(settings_.max_tenure);
    BOOST_TEST(again.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_client_with_waiters_of_its_own_takes_its_place_as_it_releases)
{
    auto of_b = take(b);
    auto first = wait(a);
    auto const mine = wait(a);
    release(b, of_b);
    auto held = std::move(first.value());
    auto const second = wait(b);
    pass(settings_.max_tenure + 5ms);  // so that it is not handed over
    auto const before = a.tries();
    release(a, held);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!mine.is_done());
    BOOST_TEST(a.entry_of_last_release() == a.id());
    BOOST_TEST(a.tries() == before);
    BOOST_TEST((list() == ids{a.id()}));
    release(b, second.value());
    BOOST_TEST(mine.succeeded());
}

// The answer that the client stands in the list is about a place that it has left since.
BOOST_AUTO_TEST_CASE(a_waiter_that_leaves_while_its_client_releases_leaves_no_place_to_the_next)
{
    auto of_b = take(b);
    auto first = wait(a);
    auto mine = wait(a);
    release(b, of_b);
    auto held = std::move(first.value());
    auto const second = wait(b);
    pass(settings_.max_tenure + 5ms);  // so that it is not handed over
    auto& releasing = a.server->expect(scripts::release);
    auto const released = a.release(held);
    settle();
    BOOST_TEST(a.entry_of_last_release() == a.id());
    auto const answered = redis.run(releasing.seen());
    mine.cancel();
    settle();
    BOOST_TEST(mine.is_done());
    auto const before = a.tries();
    auto const next = wait(a);
    releasing.reply(answered);
    settle();
    BOOST_TEST(released.succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(a.tries() > before);
    release(b, second.value());
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(the_first_writer_alone_is_told_of_a_writers_release)
{
    auto first = write(a);
    auto const second = write(b), third = write(c);
    BOOST_TEST((list() == ids{b.id(), c.id()}));
    BOOST_TEST(!c.listens_to(read_write_channel));
    auto const before = c.server->written().size();
    release(a, first.value());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(!third.is_done());
    BOOST_TEST(c.server->written().size() == before);
    release(b, second.value());
    BOOST_TEST(third.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(the_last_reader_tells_the_first_writer_who_hears_everybody_as_well)
{
    auto one_reads = read(a), another_reads = read(a);
    auto const second = write(b);
    BOOST_TEST(b.listens_to(read_write_channel));  // a reader of Redisson knows no list
    release(a, one_reads.value());
    BOOST_TEST(!second.is_done());
    release(a, another_reads.value());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(a_reader_gets_in_between_writers_that_stand_in_the_list)
{
    auto first = write(a);
    auto const reading = read(c);
    auto const second = write(b);
    release(a, first.value());
    BOOST_TEST((reading.succeeded() != second.succeeded()));
    auto const& entered = reading.is_done() ? reading : second;
    release(reading.is_done() ? c : b, entered.value());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(reading.succeeded());
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(a_field_of_any_client_is_released_with_the_message_of_the_lock)
{
    auto held = take(a);
    auto const second = wait(b);
    pending<bool> had_it;
    auto const field = a.server->written().back().field();
    raw_commands{c.client}.release_of(
        detail::lock_id{"k", detail::lock_kind::plain}, field, had_it.token()
    );
    settle();
    BOOST_TEST(had_it.value());
    BOOST_TEST(second.succeeded());
    auto const late = a.release(held);
    settle();
    BOOST_TEST(late.ec() == make_error_code(error::lost));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
