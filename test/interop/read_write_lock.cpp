// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `read_write_lock` beside Redisson's RReadWriteLock.
#include "interop/exclusive.hpp"
#include "interop/mixed_fleet.hpp"

namespace colock::test {

namespace {

struct read_side : read_lock {
    read_side(client const& at, std::string name)
        : read_lock{read_write_lock{at, std::move(name)}.read()}
    {}
};

/// A lock of both sides, with those of ours and the words for Redisson's.
struct both_sides : beside<writing> {
    template <class... Arguments>
    auto ask_reader(std::string thread, std::string command, Arguments... arguments)
    {
        return java.ask(std::move(thread), std::move(command), "read", name, arguments...);
    }

    read_side reading{c.client, name};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(read_write_lock_beside_redisson)

// Readers of both sides are inside together, each renewed by its own watchdog; a writer of either
// side gets in when the last of them has left.
BOOST_AUTO_TEST_CASE(readers_of_both_sides_together)
{
    both_sides s;
    s.run([&]() -> asio::awaitable<void> {
        hold reading = co_await s.reading.acquire();
        co_await s.ask_reader("t1", "lock", by_watchdog);
        BOOST_TEST(s.server().ask("HLEN", s.name).number == 3);
        auto const limit = 2 * java_peer::watchdog + 200ms;
        auto const writing = s.begin("t2", "tryLock", milliseconds{limit}, by_watchdog);
        BOOST_TEST(is_refused(co_await s.mine.try_acquire_for(limit)));
        BOOST_TEST((co_await writing.wait()).text == "false");
        BOOST_TEST(bool{reading});
        BOOST_TEST(co_await s.ask_reader("t1", "isHeldByCurrentThread") == "true");

        auto const next = s.begin("t2", "lock", by_watchdog);
        co_await eventually([&] { return s.waiting() == 1; });
        co_await s.ask_reader("t1", "unlock");
        BOOST_TEST(!next.is_done());
        auto const before = std::chrono::steady_clock::now();
        co_await reading.release();
        auto const entered = co_await next.wait();
        BOOST_TEST(!entered.failed, entered.text);
        BOOST_TEST(ms_since(before, entered.at) < 5 * longest_hand_over);

        std::chrono::steady_clock::time_point in;
        tasks all{s.context()};
        for (int i = 0; i != 3; ++i)
            all.start([&]() -> asio::awaitable<void> {
                hold held = co_await s.reading.acquire();
                in = std::chrono::steady_clock::now();
                co_await held.release();
            });
        co_await eventually([&] { return s.c.client.stats().waiters == 3 && s.waiting() == 1; });
        auto const left = std::chrono::steady_clock::now();
        co_await s.ask("t2", "unlock");
        co_await all.join(2s);
        BOOST_TEST(ms_since(left, in) < 5 * longest_hand_over);
    });
}

// A writer that Redisson's readers keep out is woken by the last of them.
BOOST_AUTO_TEST_CASE(the_last_reader_of_redisson_wakes_our_writer)
{
    both_sides s;
    s.run([&]() -> asio::awaitable<void> {
        std::vector<std::int64_t> times;
        for (int i = 0; i != rounds; ++i) {
            co_await s.ask_reader("t1", "lock", by_watchdog);
            co_await s.ask_reader("t2", "lock", by_watchdog);
            std::chrono::steady_clock::time_point entered;
            tasks all{s.context()};
            all.start([&]() -> asio::awaitable<void> {
                hold held = co_await s.mine.acquire();
                entered = std::chrono::steady_clock::now();
                co_await held.release();
            });
            co_await eventually([&] { return s.c.client.stats().waiters == 1 && s.waiting() == 1; }
            );
            co_await s.ask_reader("t1", "unlock");
            BOOST_TEST(s.c.client.stats().waiters == 1U);
            auto const before = std::chrono::steady_clock::now();
            co_await s.ask_reader("t2", "unlock");
            co_await all.join(2s);
            times.push_back(ms_since(before, entered));
        }
        BOOST_TEST(median(times) < longest_hand_over);
    });
}

// Each side reads what it writes, and steps down to a reader: then readers of the other come in.
BOOST_AUTO_TEST_CASE(downgrades_are_seen)
{
    both_sides s;
    s.run([&]() -> asio::awaitable<void> {
        owner const me;
        hold writing = co_await s.mine.acquire({.as = me});
        hold reading = co_await s.reading.acquire({.as = me});
        auto const entering = s.java.begin("t1", "lock", "read", s.name, by_watchdog);
        co_await eventually([&] { return s.waiting() == 1; });
        auto const before = std::chrono::steady_clock::now();
        co_await writing.release();
        auto const entered = co_await entering.wait();
        BOOST_TEST(!entered.failed, entered.text);
        BOOST_TEST(ms_since(before, entered.at) < 5 * longest_hand_over);
        co_await reading.release();
        co_await s.ask_reader("t1", "unlock");
        BOOST_TEST(s.server().ask("EXISTS", s.name).number == 0);

        // Redisson tells nobody of its own; the poll cap does.
        co_await s.ask("t1", "lock", by_watchdog);
        co_await s.ask_reader("t1", "lock", by_watchdog);
        BOOST_TEST(is_refused(co_await s.reading.try_acquire()));
        co_await s.ask("t1", "unlock");
        auto const reads_too = co_await s.reading.try_acquire();
        BOOST_TEST_REQUIRE(reads_too.has_value());
        BOOST_TEST(is_refused(co_await s.mine.try_acquire()));
        co_await s.ask_reader("t1", "unlock");
    });
}

BOOST_AUTO_TEST_CASE(depth_and_force_of_readers)
{
    both_sides s;
    s.run([&]() -> asio::awaitable<void> {
        owner const me;
        hold outer = co_await s.reading.acquire({.as = me});
        hold inner = co_await s.reading.acquire({.as = me});
        co_await s.ask_reader("t1", "lock", by_watchdog);
        co_await s.ask_reader("t1", "lock", by_watchdog);
        auto const depths = s.server().ask("HVALS", s.name);
        BOOST_TEST(std::ranges::count(depths.items, "2", &decide::reply::text) == 2);
        BOOST_TEST(co_await s.ask_reader("t1", "getHoldCount") == "2");
        BOOST_TEST(co_await s.reading.hold_count(me) == 2);
        BOOST_TEST(co_await s.reading.is_locked());
        BOOST_TEST(co_await s.ask_reader("t2", "isLocked") == "true");
        BOOST_TEST(!co_await s.mine.is_locked());

        BOOST_TEST(co_await s.ask_reader("t2", "forceUnlock") == "true");
        BOOST_TEST(co_await eventually([&] { return !outer && !inner; }));
        co_await s.ask_reader("t1", "lock", by_watchdog);
        BOOST_TEST(co_await s.reading.force_release());
        BOOST_TEST(co_await s.ask_reader("t1", "isHeldByCurrentThread") == "false");
        s.server().ask("FLUSHALL");  // Redisson leaves the leases of those whom it forces
    });
}

BOOST_AUTO_TEST_CASE(mixed_fleet) { fleet_of("read_write", {.least_share = 0.08}); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
