// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What one owner has on both sides: leases, releases, and what is lost.
#include "unit/service/read_write.hpp"

#include <string>

namespace colock::test {

namespace {

/// The owner writes twice, and the step of its second hold is not answered yet.
struct late_re_entry : rw {
    owner me;
    hold write{writes({.lease = 5s, .as = me})};
    expectation& late{server->expect(scripts::extend)};
    pending_hold again{acquire(writing(), {.lease = 5s, .as = me})};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(read_write_sides)

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
    at.publish("1");  // its own message
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

// Its text is older than the reader, and it may run later.
BOOST_FIXTURE_TEST_CASE(
    a_re_entry_that_shortens_the_lease_under_a_reader_is_made_good, late_re_entry
)
{
    server->expect(scripts::read_extend).reply(done());
    auto& longer = server->expect(scripts::read_renew);
    auto const reading_again = acquire(reading(), {.lease = 60s, .as = me});
    BOOST_TEST_REQUIRE(reading_again.succeeded());
    hold& read = reading_again.value();
    BOOST_TEST((read.valid_until() <= time.now() + 5s));
    respond(late, done());
    BOOST_TEST(again.succeeded());
    BOOST_TEST_REQUIRE(longer.has_come());
    BOOST_TEST(std::stoll(longer.seen().lease()) > 59'000);
    respond(longer, done());
    BOOST_TEST(read.valid_for(59s));
    server->expect(scripts::read_release).reply(released());
    server->expect(scripts::extend).reply(done());
    BOOST_TEST(release(read).succeeded());
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
    at.server->expect(scripts::read_extend).reply(done());
    auto& again = at.server->expect(scripts::read_renew);
    auto const got = at.acquire(at.reading(), {.lease = 60s, .as = me, .renew = true});
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST((got.value().valid_until() <= at.time.now() + 3s));
    early.reply(done());
    again.reply(done());  // which gives the hash the reader's lease
    at.time.settle();
    BOOST_TEST(got.value().valid_for(59s));
    BOOST_TEST(at.server->all_came());
}

BOOST_FIXTURE_TEST_CASE(
    an_unanswered_step_of_the_writer_bounds_what_its_reader_proves, late_re_entry
)
{
    server->expect(scripts::read_extend).reply(done());
    auto& longer = server->expect(scripts::read_renew);
    auto const got = acquire(reading(), {.lease = 60s, .as = me, .renew = true});
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST((got.value().valid_until() <= time.now() + 5s));
    late.reply(done());
    longer.reply(done());  // which gives the hash the reader's lease
    time.settle();
    BOOST_TEST(again.succeeded());
    BOOST_TEST(got.value().valid_for(59s));
    BOOST_TEST(server->all_came());
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
    BOOST_TEST_REQUIRE(tried.gave_something());
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
    auto extended = lost.extend(500ms, at.settled());
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
