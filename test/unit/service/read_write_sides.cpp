// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the readers of a client owe each other, and what the two sides of one owner do.
#include "unit/service/read_write.hpp"

#include <string>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(read_write_sides)

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
    BOOST_TEST(once.succeeded());
    BOOST_TEST(!once.value().has_value());
    BOOST_TEST(at.server->all_came());
    BOOST_TEST(!waits.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.publish("1");
    at.time.advance(2ms);
    at.let_go(waits, scripts::read_release);
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
    at.time.advance(5ms);
    BOOST_TEST(!passing.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.time.advance(10ms);
    BOOST_TEST_REQUIRE(passing.succeeded());

    auto behind = at.acquire(at.reading());
    at.time.advance(100ms);
    BOOST_TEST(!behind.is_done());
    at.let_go(passing.value(), scripts::read_release);
    at.time.advance(5ms);
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
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_reads_again_takes_over_the_field_of_what_he_lost)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold lost = at.reads_again({.lease = 500ms, .as = me});
    auto const field = at.last().field();
    at.time.advance(500ms);
    BOOST_TEST(!lost);

    hold again = at.reads_again({.as = me});
    BOOST_TEST(at.last().field() == field);
    BOOST_TEST(at.last().depth() == "1");
    lost = hold{};  // its release would take the field
    at.time.advance(2ms);
    BOOST_TEST(at.server->unsent() == 0U);
    BOOST_TEST(bool{again});
    at.let_go(write, scripts::write_release);
    BOOST_TEST(bool{again});
    at.let_go(again, scripts::read_release);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(a_lost_reader_is_not_handed_on_with_the_lock)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold lost = at.reads_again({.lease = 500ms, .as = me});
    at.time.advance(500ms);
    BOOST_TEST(!lost);
    at.server->serve = [](call const& c) -> std::optional<answer> {
        bool const takes = c.what == &scripts::write_acquire;
        return replied(takes ? granted(8) : done());
    };
    auto next = at.acquire(at.writing());
    auto const before = at.server->count(scripts::write_acquire);
    BOOST_TEST(at.release(write).succeeded());
    at.publish("1");  // the echo
    at.time.advance(50ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(at.server->count(scripts::write_release) == 1U);
    BOOST_TEST(at.server->count(scripts::write_acquire) == before + 1);
}

BOOST_AUTO_TEST_CASE(what_was_lost_on_one_side_does_not_shorten_the_other)
{
    rw at;
    owner const me;
    hold first = at.writes({.lease = 1s, .as = me});
    hold second = at.writes_again({.lease = 1s, .as = me});
    hold read = at.reads_again({.lease = 30s, .as = me});
    at.time.advance(1s);
    BOOST_TEST(!first);
    BOOST_TEST(!second);
    auto& less = at.server->expect(scripts::extend);
    first = hold{};
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(less.has_come());
    BOOST_TEST(std::stoll(less.seen().arguments.at(2)) > 28'000);
    less.reply(done());
    at.server->expect(scripts::write_release).reply(released(0));
    second = hold{};
    at.time.advance(2ms);
    BOOST_TEST(bool{read});
    at.let_go(read, scripts::read_release);
    at.ends_clean();
}

// A field outlives its own lease while the other side renews the hash.
BOOST_AUTO_TEST_CASE(a_release_is_owed_as_long_as_the_other_side_stands)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 2s, .as = me});
    hold read = at.reads_again({.lease = 30s, .as = me});
    at.server->link_down(at.link());
    write = hold{};
    at.time.advance(5s);
    at.server->expect(scripts::read_renew).reply(done());
    at.server->expect(scripts::write_release).reply(released(0));
    at.server->link_up(at.link());
    at.time.advance(10ms);
    BOOST_TEST(at.server->all_came());
    BOOST_TEST(bool{read});
    at.let_go(read, scripts::read_release);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(and_as_long_as_a_reader_that_ended_first_lets_it_stand)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.lease = 30s, .as = me});
    at.let_go(read, scripts::read_release);
    at.server->link_down(at.link());
    at.time.advance(2'900ms);
    write = hold{};  // lost
    at.time.advance(5s);
    at.server->expect(scripts::write_release).reply(released(0));
    at.server->link_up(at.link());
    at.time.advance(10ms);
    BOOST_TEST(at.server->all_came());
    at.ends_clean();
}

// Its text is older than the reader, and it runs later.
BOOST_AUTO_TEST_CASE(a_re_entry_that_shortens_the_lease_under_a_reader_is_made_good)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 5s, .as = me});
    auto& late = at.server->expect(scripts::extend);
    auto again = at.acquire(at.writing(), {.lease = 5s, .as = me});
    hold read = at.reads_again({.lease = 60s, .as = me});
    auto& longer = at.server->expect(scripts::renew);
    late.reply(done());
    at.time.settle();
    BOOST_TEST(again.succeeded());
    BOOST_TEST_REQUIRE(longer.has_come());
    BOOST_TEST(std::stoll(longer.seen().lease()) > 59'000);
    longer.reply(done());
    at.time.settle();
    at.server->expect(scripts::read_release).reply(released());
    at.server->expect(scripts::extend).reply(done());
    BOOST_TEST(at.release(read).succeeded());
}

// It sets the lease of the hash, and may run last.
BOOST_AUTO_TEST_CASE(an_unanswered_renewal_of_the_writer_bounds_what_its_reader_proves)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    auto& early = at.server->expect(scripts::renew);
    at.time.advance(1s);
    BOOST_TEST_REQUIRE(early.has_come());
    hold read = at.reads_again({.lease = 60s, .as = me, .renew = true});
    BOOST_TEST((read.valid_until() <= at.time.now() + 3s));
    at.server->expect(scripts::renew).reply(done());  // the hash needs the reader's lease
    early.reply(done());
    at.time.settle();
    BOOST_TEST(at.server->all_came());
}

BOOST_AUTO_TEST_CASE(an_unanswered_step_of_the_writer_bounds_what_its_reader_proves)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 5s, .as = me});
    auto& late = at.server->expect(scripts::extend);
    auto again = at.acquire(at.writing(), {.lease = 5s, .as = me});
    hold read = at.reads_again({.lease = 60s, .as = me, .renew = true});
    BOOST_TEST((read.valid_until() <= at.time.now() + 5s));
    at.server->expect(scripts::renew).reply(done());  // the hash needs the reader's lease
    late.reply(done());
    at.time.settle();
    BOOST_TEST(again.succeeded());
    BOOST_TEST(at.server->all_came());
}

BOOST_AUTO_TEST_CASE(an_unanswered_renewal_of_a_reader_does_not_bound_its_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 60s, .as = me, .renew = true});
    hold read = at.reads_again({.as = me});
    auto& early = at.server->expect(scripts::read_renew);
    at.time.advance(1'100ms);
    BOOST_TEST_REQUIRE(early.has_come());
    at.server->expect(scripts::extend).reply(done());
    BOOST_TEST(at.extend(write, 70s).succeeded());
    BOOST_TEST((write.valid_until() > at.time.now() + 60s));
    early.reply(done());
    at.time.settle();
}

BOOST_AUTO_TEST_CASE(a_release_that_is_refused_ends_the_other_side)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.lease = 30s, .as = me});
    auto const lost = at.lost(read);
    at.server->expect(scripts::write_release).fail(error::server_refused);
    at.release(write);
    at.time.advance(2ms);
    BOOST_TEST(lost.succeeded());
    BOOST_TEST(!read);  // nobody renews what keeps everybody out
}

BOOST_AUTO_TEST_CASE(who_writes_may_try_once_to_read_while_his_last_reader_leaves)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    auto& leaving = at.server->expect(scripts::read_release);
    read = hold{};
    auto tried = at.try_acquire(at.reading(), {.as = me});
    BOOST_TEST(!tried.is_done());
    at.server->expect(scripts::read_extend).reply(done());
    leaving.reply(released(0));
    at.time.advance(5ms);
    BOOST_TEST_REQUIRE(tried.succeeded());
    BOOST_TEST(tried.value().has_value());
    at.let_go(*tried.value(), scripts::read_release);
    at.let_go(write, scripts::write_release);
}

BOOST_AUTO_TEST_CASE(a_reader_has_its_own_lease_beside_a_longer_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 1h, .as = me});
    hold read = at.reads_again({.as = me});
    BOOST_TEST(at.last().arguments.at(2) == "3000");
    at.server->expect(scripts::read_renew).reply(done());
    at.time.advance(1'100ms);
    BOOST_TEST(at.last().arguments.at(1) == "3000");
    at.let_go(write, scripts::write_release);
    at.let_go(read, scripts::read_release);
}

// Of a hash that lived for what its owner read.
BOOST_AUTO_TEST_CASE(a_writer_has_its_own_lease_again_when_it_reads_no_more)
{
    rw at;
    owner const me;
    hold write = at.writes({.lease = 10s, .as = me});
    hold read = at.reads_again({.lease = 1h, .as = me});
    at.server->expect(scripts::read_release).reply(released(0));
    auto& again = at.server->expect(scripts::extend);
    read = hold{};
    at.time.advance(5ms);
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field().ends_with(":write"));
    BOOST_TEST(std::stoll(again.seen().arguments.at(2)) <= 10'000);
    again.reply(done());
    at.time.settle();
    BOOST_TEST(bool{write});
    at.let_go(write, scripts::write_release);
}

// What was lost while a step of it was on its way is in nobody's way when that is answered.
BOOST_AUTO_TEST_CASE(who_waits_for_a_step_of_what_he_lost_reads_when_it_is_answered)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold lost = at.reads_again({.lease = 500ms, .as = me});
    at.time.advance(100ms);
    auto& slow = at.server->expect(scripts::read_extend);
    pending<> extended;
    lost.extend(500ms, extended.token());
    at.time.advance(600ms);
    BOOST_TEST_REQUIRE(slow.has_come());
    BOOST_TEST(!lost);
    auto again = at.acquire(at.reading(), {.as = me});
    at.time.advance(100ms);
    BOOST_TEST(!again.is_done());
    at.server->expect(scripts::read_extend).reply(done());
    slow.reply(done());
    at.time.advance(5ms);
    at.let_go(again, scripts::read_release);
    at.let_go(write, scripts::write_release);
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
    BOOST_TEST(at.server->count(scripts::read_acquire) == 2U);
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
        auto const got = c.what == &scripts::expiring ? reply::of(std::vector<reply>{})
            : c.what == &scripts::write_acquire       ? refused(3'000)
            : c.what == &scripts::read_acquire        ? granted(0)
            : c.what == &scripts::read_release        ? released()
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

// Those who wait behind a writer of their own client hear who takes the lock from him.
BOOST_AUTO_TEST_CASE(a_forced_writer_is_heard_by_his_readers)
{
    rw at;
    hold write = at.writes();
    auto waits = at.acquire(at.reading());
    at.time.advance(5ms);
    BOOST_TEST(at.client.stats().subscriptions == 1U);
    at.server->expect(scripts::renew).reply(not_there());
    auto const lost = at.lost(write);
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.publish("1");
    at.time.advance(5ms);
    BOOST_TEST(lost.succeeded());
    at.let_go(waits, scripts::read_release);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
