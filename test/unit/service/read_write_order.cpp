// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Who goes first: readers among each other, and readers and writers of one client.
#include "unit/service/read_write.hpp"

namespace colock::test {

namespace {

/// A reader that waits behind a writer of its own client gets in after this time, and not before.
void passes_after(milliseconds time, rw& at, pending_hold const& reader)
{
    at.time.advance(time - 1ms);
    BOOST_TEST(!reader.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.time.advance(1ms);
    BOOST_TEST_REQUIRE(reader.succeeded());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(read_write_order)

BOOST_AUTO_TEST_CASE(who_tries_once_leaves_the_others_to_be_woken)
{
    rw at;
    owner const me;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto once = at.try_acquire(at.reading(), {.as = me});
    auto waits = at.acquire(at.reading(), {.as = me});
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(asked.has_come());
    at.server->expect(scripts::read_acquire).reply(refused(-1));  // once it is subscribed
    asked.reply(refused(-1));
    at.time.advance(5ms);
    BOOST_TEST(once.gave_nothing());
    BOOST_TEST(at.server->all_came());
    BOOST_TEST(!waits.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.publish("1");
    at.time.advance(2ms);
    at.let_go(waits, scripts::read_release);
}

// The server has said to the reader that another client writes.
BOOST_AUTO_TEST_CASE(a_writer_behind_a_refused_reader_finds_the_lock_taken)
{
    rw at;
    auto reader = at.waits_to_read(60'000);
    pending_try writer;
    at.writing().try_acquire_for(100ms, writer.token());
    at.time.advance(101ms);
    BOOST_TEST((writer.succeeded() && !writer.value()));
    reader.cancel();
    at.time.settle();
}

BOOST_AUTO_TEST_CASE(the_next_one_asks_for_the_first_who_left_while_he_asked)
{
    rw at;
    auto first = at.waits_to_read(-1);
    auto second = at.acquire(at.reading());
    auto& probe = at.server->expect(scripts::read_acquire);
    at.time.advance(1'100ms);
    BOOST_TEST_REQUIRE(probe.has_come());
    first.cancel();
    at.time.settle();
    BOOST_TEST(first.aborted());
    probe.reply(refused(-1));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.time.advance(1'100ms);
    at.let_go(second, scripts::read_release);
}

BOOST_AUTO_TEST_CASE(always_too_late_is_given_back_before_it_is_tried_again)
{
    rw at;
    auto& first = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(1'600ms);
    auto& again = at.server->expect(scripts::read_acquire);
    first.reply(granted(0));
    at.time.advance(1'600ms);
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == first.seen().field());
    at.server->expect(scripts::read_release).reply(released(0));
    again.reply(granted(0));
    at.time.advance(10ms);
    BOOST_TEST(at.server->all_came());
    BOOST_TEST(!p.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.time.advance(20ms);
    BOOST_TEST_REQUIRE(p.succeeded());
    BOOST_TEST(at.last().field() != first.seen().field());
    at.let_go(p.value(), scripts::read_release);
    at.ends_clean();
}

// Its own readers are not kept out for the sake of a writer that readers of others keep out; but
// while they are in, no more of them come.
BOOST_AUTO_TEST_CASE(readers_pass_a_writer_that_others_keep_out)
{
    rw at;
    auto writer = at.waits_to_write(3'000);
    auto passing = at.acquire(at.reading());
    passes_after(2ms, at, passing);

    auto behind = at.acquire(at.reading());
    at.time.advance(100ms);
    BOOST_TEST(!behind.is_done());
    at.let_go(passing.value(), scripts::read_release);
    at.time.advance(1ms);
    BOOST_TEST(!behind.is_done());
    at.server->expect(scripts::write_acquire).reply(granted(3));
    at.publish("0");
    at.time.advance(1ms);
    BOOST_TEST_REQUIRE(writer.succeeded());
    at.time.advance(100ms);
    BOOST_TEST(!behind.is_done());
    at.server->expect(scripts::write_release).reply(released(0));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    BOOST_TEST(at.release(writer.value()).succeeded());
    at.time.advance(2ms);
    at.let_go(behind, scripts::read_release);
}

// Where a script takes longer the writer has the time of two.
BOOST_AUTO_TEST_CASE(readers_pass_a_writer_of_a_far_server_later)
{
    rw at;
    auto& slow = at.server->expect(scripts::write_acquire);
    auto writer = at.acquire(at.writing());
    at.time.advance(5ms);
    at.server->expect(scripts::write_acquire).reply(refused(3'000));  // once it is subscribed
    slow.reply(refused(3'000));
    passes_after(10ms, at, at.acquire(at.reading()));
}

// The writer's last question before it lets readers pass is refused before it is sent, and ends the
// writer, the last that the state of this side lived for.
BOOST_AUTO_TEST_CASE(a_writer_that_is_refused_as_it_lets_readers_pass_is_gone)
{
    rw at;
    auto writer = at.waits_to_write(3'000);
    at.server->pubsub_down();
    at.time.settle();
    at.server->down_reason_to_tell = error::server_refused;
    at.server->all_down();
    at.time.settle();
    BOOST_TEST(!writer.is_done());
    auto const reader = at.acquire(at.reading());
    at.time.advance(10ms);
    BOOST_TEST((writer.ec() == error::server_refused));
    BOOST_TEST((reader.ec() == error::server_refused));
    at.time.advance(50ms);
    at.server->expect(scripts::write_release).reply(gone());  // its place
    at.server->down_reason_to_tell = {};
    at.server->all_up();
    at.time.advance(50ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_reader_that_is_lost_keeps_nobody_waiting)
{
    rw at;
    hold early = at.reads({.lease = 1s});
    auto writer = at.waits_to_write(30'000);
    auto behind = at.acquire(at.reading());
    at.time.advance(500ms);
    BOOST_TEST(!behind.is_done());
    at.server->serve = [](call const& c) -> std::optional<answer> {
        bool const reads = c.what == &scripts::read_acquire;
        return replied(reads ? granted(0) : refused(30'000));
    };
    at.time.advance(530ms);
    BOOST_TEST(!early);
    BOOST_TEST(behind.succeeded());
}

// Whom a writer keeps out the readers don't pass.
BOOST_AUTO_TEST_CASE(readers_pass_no_writer_while_somebody_else_writes)
{
    rw at;
    auto writer = at.waits_to_write(30'000);
    auto first = at.acquire(at.reading());
    at.server->expect(scripts::read_acquire).reply(refused(30'000));
    at.server->expect(scripts::read_acquire).reply(refused(30'000));  // once it is subscribed
    at.time.advance(20ms);
    BOOST_TEST(at.server->all_came());
    auto second = at.acquire(at.reading());
    at.time.advance(100ms);
    BOOST_TEST(!first.is_done());
    BOOST_TEST(!second.is_done());
    BOOST_TEST(at.server->unsent() == 0U);
}

// What a refusal says of a writer elsewhere holds until it may be found out that he is gone, though
// nobody of this client may ask meanwhile.
BOOST_AUTO_TEST_CASE(readers_pass_a_writer_when_who_wrote_has_gone_unheard)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(500));
    at.server->expect(scripts::read_acquire).reply(refused(500));  // once it is subscribed
    auto first = at.acquire(at.reading());
    at.time.advance(2ms);
    BOOST_TEST(at.server->all_came());
    auto writer = at.acquire(at.writing());
    auto second = at.acquire(at.reading());
    // Now readers of others keep the writer out: they came when the one who wrote was gone.
    at.server->serve = [](call const& c) -> std::optional<answer> {
        auto const got = c.what == &scripts::look ? reply::of(std::vector<reply>{})
            : c.what == &scripts::write_acquire   ? refused(3'000)
            : c.what == &scripts::read_acquire    ? granted(0)
            : c.what == &scripts::read_release    ? released()
                                                  : done();
        return answer{answer::kind::replied, got, {}, {}};
    };
    first.cancel();
    at.time.advance(600ms);
    BOOST_TEST(!writer.is_done());
    BOOST_TEST(second.succeeded());
    auto third = at.acquire(at.reading());
    at.time.advance(1'100ms);
    BOOST_TEST(!third.is_done());  // behind the writer, while one reads who has passed him
    BOOST_TEST(at.release(second.value()).succeeded());
    at.time.advance(100ms);
    BOOST_TEST(third.succeeded());
}

// Those who wait behind a writer of their own client get in when somebody takes the lock from him.
BOOST_AUTO_TEST_CASE(a_forced_writer_makes_room_for_his_readers)
{
    rw at;
    hold write = at.writes();
    auto const said = at.letter_about(at.last().field());
    at.open_mailbox();
    auto waits = at.acquire(at.reading());
    at.time.advance(5ms);
    BOOST_TEST(at.client.stats().subscriptions == 0U);
    at.server->expect(scripts::renew).reply(not_there());
    auto const lost = at.lost(write);
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.server->publish(at.mailbox(), said);
    at.time.advance(5ms);
    BOOST_TEST(lost.succeeded());
    at.let_go(waits, scripts::read_release);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
