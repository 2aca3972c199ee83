// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients of the list at the server take turns, release, close and write.
#include "unit/service/clients_in_line.hpp"
#include <colock/admin.hpp>

namespace colock::test {

namespace {

struct clients_with_tenures : clients_in_line {
    clients_with_tenures() : clients_in_line{short_leases()} {}
};

}  // namespace

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

BOOST_AUTO_TEST_CASE(whoever_has_just_released_stands_behind_those_who_have_the_turn)
{
    auto held = take_slowly(a);
    auto const second = wait(b);
    auto& asked = b.server->expect(scripts::acquire);  // told, and on its way
    auto const released = a.release(held);
    settle();
    BOOST_TEST_REQUIRE(asked.has_come());
    auto const again = wait(a);
    BOOST_TEST(!again.is_done());  // though the lock is free
    BOOST_TEST((list() == ids{b.id(), a.id()}));
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
    auto const again = wait(a);
    BOOST_TEST(!again.is_done());
    second.cancel();
    asked.lose();
    settle();
    BOOST_TEST(second.is_done());
    BOOST_TEST(again.succeeded());
    BOOST_TEST(list().empty());
}

// Others listen to the lock's channel, so a told client lets them go first, for 24 ms here.
BOOST_AUTO_TEST_CASE(a_turn_that_would_be_put_off_past_the_limit_is_used_at_once)
{
    auto before = take_slowly(b);
    release(b, before);
    auto held = take(a);
    b.open_mailbox();
    auto const waits = b.try_for(30ms);
    settle();
    pass(21ms);
    BOOST_TEST_REQUIRE(!waits.is_done());
    redis.others = 1;
    release(a, held);
    BOOST_TEST(waits.gave_something());
}

// It has died, say.
BOOST_AUTO_TEST_CASE(a_client_behind_one_that_does_not_come_waits_a_tenth_of_a_second)
{
    auto held = take_slowly(a);
    auto const second = wait(b);
    auto& asked = b.server->expect(scripts::acquire);
    release(a, held);
    BOOST_TEST_REQUIRE(asked.has_come());
    auto const again = wait(a);
    pass(90ms);
    BOOST_TEST(!again.is_done());
    pass(20ms);
    BOOST_TEST(again.succeeded());
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
    BOOST_TEST(a.entry_of_last_release().starts_with(a.id()));
    BOOST_TEST(a.tries() == before);
    BOOST_TEST((list() == ids{a.id()}));
    release(b, second.value());
    BOOST_TEST(mine.succeeded());
}

// Such as a release that finds the server busy.
BOOST_AUTO_TEST_CASE(a_single_try_takes_no_place_by_a_release_that_is_repeated)
{
    a.open_mailbox();
    b.open_mailbox();
    settle();
    auto held = take_slowly(a);
    auto const second = wait(b);
    a.server->expect(scripts::release).not_now();
    auto const released = a.release(held);
    settle();
    auto const tried = a.try_for(0ms);
    settle();
    BOOST_TEST(!tried.is_done());
    pass(500ms);
    BOOST_TEST(released.succeeded());
    BOOST_TEST_REQUIRE(tried.gave_something());  // it is faster than the one who is told
    BOOST_TEST((list() == ids{b.id()}));
    release(a, *tried.value());
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_CASE(letters_that_are_missed_while_a_release_joins_are_made_up_for)
{
    a.open_mailbox();
    b.open_mailbox();
    settle();
    auto held = take_slowly(a);
    auto second = wait(b);
    auto const third = wait(a);
    pass(settings_.max_tenure + 5ms);  // so that it is not handed over
    auto& releasing = a.server->expect(scripts::release);
    auto const released = a.release(held);
    settle();
    BOOST_TEST_REQUIRE(releasing.has_come());
    auto const told = redis.run(releasing.seen());
    settle();
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST((list() == ids{a.id()}));
    a.server->pubsub_down();
    settle();
    release(b, second.value());  // a does not hear that
    BOOST_TEST(list().empty());
    a.server->pubsub_up();
    settle();
    releasing.reply(told);
    settle();
    BOOST_TEST(third.succeeded());
}

// An attempt of a connection that is gone, which came late, stood in the list and was told.
BOOST_AUTO_TEST_CASE(a_turn_ends_the_pause_in_which_strangers_go_first)
{
    redis.others = 1;
    a.open_mailbox();
    auto held = take(a);
    auto const mine = wait(a);
    pass(settings_.max_tenure + 5ms);  // so that it is not handed over
    release(a, held);
    BOOST_TEST(!mine.is_done());
    auto const joining = a.entry_of_last_release();
    publish(a, "turn " + joining.substr(joining.find(':') + 1) + " 0 k");
    BOOST_TEST(mine.succeeded());
}

// `publishing::both` sends each letter by both ways.
BOOST_AUTO_TEST_CASE(a_letter_that_comes_twice_does_not_end_the_pause)
{
    auto const held = take(a);
    auto const waits = wait(b);
    auto letter = b.turn();
    letter.replace(letter.size() - 3, 1, "3");  // so many strangers have heard
    auto const before = b.tries();
    publish(b, letter);
    publish(b, letter);
    BOOST_TEST(b.tries() == before);
    pass(2ms);
    BOOST_TEST(b.tries() == before + 1);
}

BOOST_AUTO_TEST_CASE(a_turn_is_used_at_once_where_only_its_own_subscription_lingers)
{
    redis.occupy("k", foreign, 5ms);
    auto first = wait(b);
    pass(10ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST_REQUIRE(b.listens());
    release(b, first.value());
    auto const held = take(a);
    auto const waits = wait(b);
    auto letter = b.turn();
    letter.replace(letter.size() - 3, 1, "1");  // so many have heard
    auto const before = b.tries();
    publish(b, letter);
    BOOST_TEST(b.tries() == before + 1);
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
    BOOST_TEST(a.entry_of_last_release().starts_with(a.id()));
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
    BOOST_TEST(!b.listens_to(read_write_channel));
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
    auto const second = write(b), third = write(c);
    BOOST_TEST(!c.listens_to(read_write_channel));
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
    pass(10ms);
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
    admin::servers{c.client}.release_of("k", admin::release_as::lock, field, had_it.token());
    settle();
    BOOST_TEST(had_it.value());
    BOOST_TEST(second.succeeded());
    auto const late = a.release(held);
    settle();
    BOOST_TEST(late.ec() == make_error_code(error::lost));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
