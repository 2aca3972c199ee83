// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// How the clients that wait for one key spread their attempts.
#include "decide/crowd.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace colock::test::crowds {

namespace {

using namespace std::chrono_literals;
using decide::crowd;

constexpr auto round_trip = 200us;
constexpr time_point start{1'000s};

BOOST_AUTO_TEST_SUITE(decide_crowd)

BOOST_AUTO_TEST_CASE(a_lone_waiter_asks_at_once)
{
    for (std::int64_t const subscribers : {-1, 0, 1, 2}) {  // itself, and who holds it
        crowd c{9s};
        BOOST_TEST((c.heard(1, round_trip, 0.999) == 0ns));
        c.counted(subscribers);
        BOOST_TEST((c.heard(1, round_trip, 0.999) == 0ns));
    }
}

BOOST_AUTO_TEST_CASE(places_are_spread_evenly)
{
    crowd c{9s};
    c.counted(101);
    BOOST_TEST((crowd{9s}.pace(100, round_trip) == 350us));
    for (auto const dice : {0.0, 0.25, 0.5, 0.75}) {
        auto const wait = c.spread(1, round_trip, dice);
        BOOST_TEST((wait / 1us == static_cast<std::int64_t>(99 * dice * 350)));
    }
}

BOOST_AUTO_TEST_CASE(with_every_second_loss_there_is_one_less_before)
{
    crowd c{9s};
    c.counted(12);
    auto const half = [](unsigned before) { return before * crowd{9s}.pace(11, round_trip) / 2; };
    for (unsigned before = 10; before != 0; --before)
        for (int i = 0; i != 2; ++i)
            BOOST_TEST((c.heard(1, round_trip, 0.5) == half(before)));
    BOOST_TEST((c.heard(1, round_trip, 0.999) == 0ns));
    c.begin_wait();
    BOOST_TEST((c.heard(1, round_trip, 0.5) == half(10)));
}

BOOST_AUTO_TEST_CASE(as_many_ask_at_once_as_get_in)
{
    crowd c{9s};
    c.counted(101);
    auto const pace = crowd{9s}.pace(100, round_trip);
    BOOST_TEST((c.spread(20, round_trip, 0.5) == 61 * pace / 2));  // 49.5 - 19
    BOOST_TEST((c.spread(51, round_trip, 0.5) == 0ns));
    BOOST_TEST((c.spread(0, round_trip, 0.5) == c.spread(1, round_trip, 0.5)));
    BOOST_TEST((c.spread(-7, round_trip, 0.5) == c.spread(1, round_trip, 0.5)));
    BOOST_TEST((c.spread(std::numeric_limits<std::int64_t>::max(), round_trip, 0.5) == 0ns));
    BOOST_TEST(
        (c.spread(std::numeric_limits<std::int64_t>::min(), round_trip, 0.5) ==
         c.spread(1, round_trip, 0.5))
    );
}

BOOST_AUTO_TEST_CASE(all_places_come_up_in_time)
{
    crowd c{1s};
    c.counted(1'001);
    BOOST_TEST((c.pace(1'000, round_trip) == 2'600us));
    BOOST_TEST((c.pace(1'000, 1s) == 8ms));
    BOOST_TEST((c.spread(1, 1s, 0.999) < 8s));
}

BOOST_AUTO_TEST_CASE(no_count_is_too_large)
{
    for (auto const count :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        crowd c{9s};
        c.counted(count);
        BOOST_TEST((c.heard(1, 1s, 0.999) >= 0ns));
    }
}

BOOST_AUTO_TEST_CASE(a_place_past_the_end_of_the_wait_is_drawn_again_before_it)
{
    auto const at = [](crowd::duration place, double dice) {
        return crowd::in_time(start, start + place, start + 100ms, dice) - start;
    };
    BOOST_TEST((at(98ms, 0.1) == 98ms));
    BOOST_TEST((at(99ms, 0.1) == 9'900us));  // its answer would come too late
    BOOST_TEST((at(5s, 0.9) == 89'100us));
    BOOST_TEST((crowd::in_time(start, start + 5s, start + 100us, 0.9) == start));
}

BOOST_AUTO_TEST_CASE(a_large_crowd_does_not_linger)
{
    crowd c{9s};
    c.counted(16);
    BOOST_TEST(!c.is_large());
    c.counted(17);
    BOOST_TEST(c.is_large());
}

/// Clients that wait for one lock. After each release all are told one after the other, and until
/// that is over nobody knows who got in.
struct simulation {
    struct client {
        crowd others{1s};
        std::int64_t since = 0;  ///< the release before its wait
        bool waits = true;
    };

    explicit simulation(std::size_t n) : clients(n)
    {
        // As they come: each knows of those before it.
        std::int64_t before = 0;
        for (auto& c : clients)
            c.others.counted(++before);
    }

    std::int64_t waiting() const
    {
        return std::ranges::count_if(clients, [](client const& c) { return c.waits; });
    }

    /// Gives the client that got in.
    client& release()
    {
        auto const n = waiting();
        auto const dice = [](std::mt19937_64& from) {
            return static_cast<double>(from() >> 11U) * 0x1p-53;
        };
        auto const told = n * 5us;
        std::vector<std::pair<crowd::duration, client*>> asking;
        for (auto& c : clients)
            if (c.waits)
                asking.emplace_back(
                    c.others.heard(1, round_trip, dice(random)) +
                        std::chrono::duration_cast<crowd::duration>(dice(random) * told),
                    &c
                );
        std::ranges::sort(asking, {}, [](auto const& a) { return a.first; });
        auto const until = asking.front().first + round_trip + told;
        for (auto const& [at, c] : asking) {
            if (at > until)
                break;
            ++asked;
            if (c != asking.front().second)
                c->others.counted(n);
        }
        ++releases;
        auto& first = *asking.front().second;
        waits.push_back(releases - first.since);
        return first;
    }

    std::vector<client> clients;
    std::vector<std::int64_t> waits;
    std::int64_t asked = 0, releases = 0;
    std::mt19937_64 random{7};
};

BOOST_AUTO_TEST_CASE(few_ask_however_many_wait)
{
    for (std::size_t const n : {10U, 100U, 1'000U}) {
        simulation s{n};
        while (s.waiting() != 0)
            s.release().waits = false;
        auto const each = static_cast<double>(s.asked) / static_cast<double>(s.releases);
        BOOST_TEST_MESSAGE(n << " clients: " << each << " ask at a release");
        BOOST_TEST(each < 6);
    }
}

BOOST_AUTO_TEST_CASE(everybody_gets_in_within_two_rounds)
{
    constexpr std::int64_t n = 50;
    simulation s{n};
    for (auto& c : s.clients)
        c.others.counted(n);
    for (int i = 0; i != 200 * n; ++i) {
        auto& got = s.release();
        got.since = s.releases;
        got.others.counted(n);
        got.others.begin_wait();
    }
    std::ranges::sort(s.waits);
    BOOST_TEST(s.waits[s.waits.size() * 99 / 100] <= 2 * n);
    BOOST_TEST(s.waits.back() <= 3 * n);
    BOOST_TEST(s.asked < 10 * s.releases);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test::crowds
