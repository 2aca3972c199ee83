// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The lines about long waits and long holds.
#include "decide/long_times.hpp"
#include "unit/harness.hpp"
#include <colock/multi_lock.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/red_lock.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

config warning_after(std::optional<milliseconds> wait, std::optional<milliseconds> hold)
{
    auto settings = short_leases();
    settings.warn_wait = wait;
    settings.warn_hold = hold;
    return settings;
}

struct watched : harness {
    explicit watched(config settings = warning_after(2s, 5s)) : harness{std::move(settings)}
    {
        redis.attach(*server);
    }

    /// The lines of this kind.
    std::vector<std::string> lines(std::string_view begin) const
    {
        std::vector<std::string> found;
        for (auto const& line : log)
            if (line.starts_with(begin))
                found.push_back(line);
        return found;
    }

    script_server redis;
};

struct unwatched : watched {
    unwatched() : watched{warning_after({}, {})} {}
};

struct watched_waits : watched {
    watched_waits() : watched{warning_after(1s, {})} {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_long_times)

BOOST_FIXTURE_TEST_CASE(a_long_hold_has_one_line, watched)
{
    auto held = acquire();
    time.advance(4'900ms);
    BOOST_TEST(log.empty());
    time.advance(200ms);
    auto const id = inside().uuid() + ":1";
    BOOST_TEST_REQUIRE(lines("hold of ").size() == 1U);
    BOOST_TEST(log.back() == "hold of k: held for 5.0 s so far, as " + id);
    time.advance(1min);
    BOOST_TEST(lines("hold of ").size() == 1U);
    release(held.value());
    auto again = acquire();
    time.advance(6s);
    BOOST_TEST(lines("hold of ").size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_long_wait_names_the_holder_of_this_client, watched)
{
    auto held = acquire();
    time.advance(500ms);
    auto first = acquire(), second = acquire();
    auto other = acquire(mutex("other"));
    time.advance(1'900ms);
    BOOST_TEST(lines("wait for ").empty());
    time.advance(200ms);
    BOOST_TEST_REQUIRE(lines("wait for ").size() == 1U);
    BOOST_TEST(
        log.back() ==
        "wait for k: 2.0 s so far, the longest of 2 calls; held by this client for 2.5 s, as " +
            inside().uuid() + ":1"
    );
    time.advance(1min);
    BOOST_TEST(lines("wait for ").size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_long_wait_for_somebody_else_says_where_to_look, watched_waits)
{
    redis.occupy("k", 1h);
    auto waits = acquire();
    time.advance(1'100ms);
    BOOST_TEST_REQUIRE(lines("wait for ").size() == 1U);
    BOOST_TEST(log.back() == "wait for k: 1.0 s so far; 'colock info k' says who holds it");
    auto later = acquire();
    time.advance(1'100ms);
    BOOST_TEST(lines("wait for ").size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(permits_are_waited_for_and_held_as_locks_are, watched)
{
    permit_semaphore const seats{client, "seats", 1};
    auto held = seats.acquire(settled());
    auto waits = seats.acquire(settled());
    time.advance(6s);
    BOOST_TEST(lines("wait for seats: 2.0 s so far; held by this client for 2.0 s").size() == 1U);
    BOOST_TEST(lines("hold of seats: held for 5.0 s so far, as " + held.value().id()).size() == 1U);
}

// The second line says which part others have.
BOOST_FIXTURE_TEST_CASE(a_wait_for_several_locks_is_one_wait_and_that_for_a_part, watched_waits)
{
    redis.occupy("b", 1h);
    redis.occupy("c", 1h);
    red_lock const most{mutex("a"), mutex("b"), mutex("c")};
    auto waits = most.acquire(settled());
    time.advance(1'200ms);
    BOOST_TEST(lines("wait for a").size() == 1U);
    BOOST_TEST(lines("wait for b").size() == 1U);
    BOOST_TEST(lines("wait for ").size() == 2U);
}

// To look is to walk over all that is held.
BOOST_AUTO_TEST_CASE(there_are_few_looks_however_many_become_long)
{
    auto const start = clock::now();
    auto now = start, last = start;
    int looks = 0;
    std::size_t told = 0;
    for (; now < start + 2min; ++looks) {
        long_times look{{.wait = {}, .hold = 1min}, last, now};
        for (int i = 0; i != 1'000; ++i)
            look.holds("lock", "k", "id", {}, start + i * 50ms);
        told += look.hold_lines().size();
        last = std::exchange(now, look.next_look());
    }
    BOOST_TEST(looks <= 16);
    BOOST_TEST(told == 1'000U);
}

BOOST_FIXTURE_TEST_CASE(without_a_limit_nothing_is_said, unwatched)
{
    auto held = acquire(), waits = acquire();
    time.advance(1min);
    BOOST_TEST(log.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
