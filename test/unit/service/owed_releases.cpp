// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Releases that the client owes after faults, and while it closes.
#include "unit/resp/allocations.hpp"
#include "unit/service/group.hpp"
#include <colock/claim.hpp>

#include <limits>
#include <new>

namespace colock::test {

namespace {

/// Calls `act` with a new hold, while each of its allocations in turn finds no memory, until one
/// call needs no more. The holds are then dropped.
template <class Act>
void without_memory(served& at, Act const& act)
{
    bool is_refused = true;
    for (std::size_t granted = 0; is_refused; ++granted) {
        auto mine = at.take(at.mutex());
        BOOST_TEST_REQUIRE(mine.succeeded());
        try {
            is_refused = false;
            act(mine.value(), [&] { allocations::refuse_after(granted); });
        } catch (std::bad_alloc const&) {
            is_refused = true;
            BOOST_TEST(bool{mine.value()});
        }
        allocations::refuse_after(std::numeric_limits<std::size_t>::max() / 2);
        mine.value() = {};
        at.time.settle();
        BOOST_TEST(!at.redis.is_locked("k"));
    }
}

BOOST_FIXTURE_TEST_SUITE(service_owed_releases, served)

BOOST_AUTO_TEST_CASE(a_release_that_finds_no_memory_is_made_when_the_hold_is_dropped)
{
    without_memory(*this, [](hold& mine, auto const& begin) {
        pending<> p;
        auto to = p.token();
        begin();
        mine.release(std::move(to));
    });
}

// The claim that is given in the end is dropped, and its lock with it.
BOOST_AUTO_TEST_CASE(a_hold_that_finds_no_memory_to_be_given_is_released_when_it_is_dropped)
{
    without_memory(*this, [this](hold& mine, auto const& begin) {
        pending<claim> p;
        auto to = p.token();
        begin();
        mine.give(std::move(to));
        allocations::refuse_after(std::numeric_limits<std::size_t>::max() / 2);
        time.settle();
        BOOST_TEST(p.succeeded());
        redis.clear();
    });
}

// The server has run the renewal, so the key outlives the lease that the client knows to be
// granted.
BOOST_AUTO_TEST_CASE(a_release_is_owed_as_long_as_a_lost_renewal_may_have_given)
{
    auto mine = take(mutex());
    auto& renewal = server->expect(scripts::renew);
    time.advance_until([&] { return renewal.has_come(); }, 2s);
    BOOST_TEST_REQUIRE(renewal.has_come());
    redis.run(renewal.seen());
    cut();
    auto const done = release(mine.value());
    time.advance(2'500ms);
    BOOST_TEST(redis.is_locked("k"));
    server->link_up(link());
    time.advance(10ms);
    BOOST_TEST(!redis.is_locked("k"));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
