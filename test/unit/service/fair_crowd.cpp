// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/fair_wait.hpp"
#include "unit/service/fair.hpp"

#include <algorithm>
#include <deque>
#include <optional>

namespace colock::test {

namespace {

/// Waiters, one of which goes; played until so many handlers have run.
struct crowd {
    crowd() { redis.attach(*h.server); }

    void begin()
    {
        for (int i = 0; i != 4; ++i)
            h.mine.acquire({.as = i < 2 ? me : owner{}}, waiting.emplace_back().token());
        waiting[2].cancel();
    }
    /// Releases whatever somebody has.
    void release_all()
    {
        for (auto& each : waiting)
            if (each.is_done() && each.value())
                each.value().release(ends.emplace_back().token());
    }

    script_server redis;
    fair h;
    owner me;
    std::deque<pending_hold> waiting;
    std::deque<pending<>> ends;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_fair_crowd)

BOOST_FIXTURE_TEST_CASE(all_are_served_in_the_order_of_their_calls, fair)
{
    script_server redis;
    redis.attach(*server);
    std::deque<pending_hold> all;
    for (int i = 0; i != 20; ++i)
        all.push_back(wait());
    for (std::size_t i = 0; i != all.size(); ++i) {
        BOOST_TEST_REQUIRE(all[i].succeeded());
        for (std::size_t later = i + 1; later != all.size(); ++later)
            BOOST_TEST(!all[later].is_done());
        BOOST_TEST(all[i].value().fencing_token() == i + 1);
        BOOST_TEST(release(all[i].value()).succeeded());
    }
    BOOST_TEST(redis.queue_length("k") == 0);
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_whenever_all_are_cancelled)
{
    for (std::size_t handlers = 0; handlers != 60; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        for (auto& each : c.waiting)
            each.cancel();
        for (int i = 0; i != 5; ++i) {
            c.h.time.advance(100ms);
            c.release_all();
        }
        // A place that nobody could be told of is looked at again when it counts as dead.
        c.h.time.jump(decide::ticket_life);
        c.h.time.settle();
        BOOST_TEST(c.redis.queue_length("k") == 0);
        BOOST_TEST(!c.redis.is_locked("k"));
        BOOST_TEST(c.h.is_forgotten());
        for (auto& each : c.waiting)
            BOOST_TEST(each.calls() == 1);
    }
}

BOOST_AUTO_TEST_CASE(its_context_may_be_destroyed_at_any_moment)
{
    for (std::size_t handlers = 0; handlers != 80; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        if (handlers % 2)
            c.release_all();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
