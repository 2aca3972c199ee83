// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How holds of either side end: lost, forced, closed, stopped, destroyed.
#include "unit/service/read_write.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(read_write_ends)

BOOST_AUTO_TEST_CASE(the_loss_of_one_reader_is_his_alone)
{
    rw at;
    hold first = at.reads();
    auto const field = at.last().field();
    hold second = at.reads();
    auto const lost = at.lost(first);
    at.server->serve = [&](call const& c) {
        std::vector<reply> each;
        for (std::size_t i = 0; i != c.keys.size(); ++i)
            each.push_back(c.arguments.at(3 * i) == field ? not_there() : done());
        return replied(each.size() == 1 ? each.front() : reply::of(each));
    };
    at.time.advance(1'600ms);
    BOOST_TEST(lost.succeeded());
    BOOST_TEST(!first);
    BOOST_TEST(bool{second});
    at.server->serve = [](call const&) { return replied(gone()); };
    at.release(first);
    at.release(second);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(a_reader_of_its_own_lease_ends_alone)
{
    rw at;
    hold brief = at.reads({.lease = 500ms});
    hold other = at.reads();
    at.time.advance(460ms);
    BOOST_TEST(!brief);
    BOOST_TEST(bool{other});
    at.let_go(other, scripts::read_release);
    at.server->expect(scripts::read_release).reply(gone());
    at.release(brief);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(what_a_writer_reads_goes_with_the_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return replied(releases ? gone() : not_there());
    };
    at.time.advance(1'100ms);
    BOOST_TEST(!write);
    BOOST_TEST(!read);
    at.release(write);
    at.release(read);
    at.ends_clean(5ms);
}

BOOST_AUTO_TEST_CASE(a_writer_that_is_gone_reads_nothing)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return replied(releases ? gone() : not_there());
    };
    auto const read = at.acquire(at.reading(), {.as = me});
    BOOST_TEST((read.ec() == error::lost));
    at.time.advance(5ms);
    BOOST_TEST(!write);
    at.release(write);
    at.ends_clean(5ms);
}

BOOST_DATA_TEST_CASE(a_side_that_is_forced_is_lost_at_once, data::make({true, false}), read)
{
    rw at;
    owner const me;
    hold held = read ? at.reads() : at.writes();
    at.server->expect(scripts::read_write_force).reply(done());
    pending<bool> forced;
    if (read)
        at.reading().force_release(forced.token());
    else
        at.writing().force_release(forced.token());
    at.time.settle();
    BOOST_TEST_REQUIRE(forced.succeeded());
    BOOST_TEST(forced.value());
    BOOST_TEST(at.last().arguments.at(0) == (read ? "read" : "write"));
    BOOST_TEST(at.last().arguments.at(1) == "redisson_rwlock:{k}");
    BOOST_TEST(!held);
    at.release(held);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(closing_releases_both_sides_and_ends_who_waits)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    auto waits = at.acquire(at.reading());
    at.server->serve = [](call const& c) {
        BOOST_TEST((c.what == &scripts::write_release || c.what == &scripts::read_release));
        return replied(released());
    };
    pending<> closed;
    at.client.close(closed.token());
    at.time.advance(5ms);
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST(!write);
    BOOST_TEST(!read);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(stopping_ends_who_asks_and_who_waits)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(2ms);
    auto waits = at.acquire(at.reading());
    auto writer = at.acquire(at.writing());
    BOOST_TEST_REQUIRE(asked.has_come());
    at.client.stop();
    at.time.advance(5ms);
    BOOST_TEST((p.ec() == error::closed));
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST((writer.ec() == error::closed));
    at.ends_clean(4s);
}

// Each handler count at which the context may go, with all that is pending.
BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_time)
{
    for (std::size_t most = 0; most != 60; ++most) {
        rw at;
        owner const me;
        at.server->serve = [n = 0](call const& c) mutable -> std::optional<answer> {
            if (++n % 3 == 0)
                return {};
            bool const takes =
                c.what == &scripts::read_acquire || c.what == &scripts::write_acquire;
            return replied(takes && n % 2 ? refused(500) : done());
        };
        pending_hold read, write, also, under;
        at.reading().acquire(read.token());
        at.writing().acquire({.as = me}, write.token());
        at.reading().acquire({.as = me}, under.token());
        at.reading().acquire(also.token());
        for (std::size_t n = 0; n != most && at.time.step(); ++n) {}
        if (most % 2)
            at.time.advance(milliseconds{most * 10});
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
