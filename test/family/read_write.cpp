// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Readers and writers of several clients, at real servers.
#include "integration/suites.hpp"
#include "support/seed.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace colock::test {

static asio::awaitable<void> rest(milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

/// Counts who is inside: many readers or one writer.
class library {
public:
    asio::awaitable<void> read(milliseconds time)
    {
        BOOST_TEST(writers_ == 0);
        most_readers_ = std::max(most_readers_, ++readers_);
        co_await rest(time);
        BOOST_TEST(writers_ == 0);
        --readers_;
        ++read_;
    }
    asio::awaitable<void> write(milliseconds time)
    {
        BOOST_TEST(readers_ == 0);
        BOOST_TEST(++writers_ == 1);
        co_await rest(time);
        BOOST_TEST(readers_ == 0);
        BOOST_TEST(--writers_ == 0);
        ++written_;
    }
    int most_readers() const noexcept { return most_readers_; }
    int times_read() const noexcept { return read_; }
    int times_written() const noexcept { return written_; }

private:
    int readers_ = 0, writers_ = 0, most_readers_ = 0, read_ = 0, written_ = 0;
};

static std::size_t fields_of(redis_server& server, std::string const& name)
{
    return static_cast<std::size_t>(server.ask("HLEN", name).number);
}

BOOST_AUTO_TEST_SUITE(read_write)

// Each task reads or writes, waits, tries or gives up, enters twice or steps down, by chance.
BOOST_DATA_TEST_CASE(many_readers_or_one_writer, each_server(), kind)
{
    random_numbers dice;
    BOOST_TEST_CONTEXT("seed " << dice.seed())
    {
        lab at{shared_server(kind)};
        std::array clients{&at.connect(), &at.connect()};
        auto const name = unique_name("library");
        library inside;
        auto const read = [&](read_write_lock of) -> asio::awaitable<void> {
            owner const me;
            auto held = co_await of.read().try_acquire_for(
                milliseconds{dice.one_in(8) ? 5 : 20'000}, {.as = me}
            );
            if (!held)
                co_return;
            if (dice.one_in(6)) {
                hold again = co_await of.read().acquire({.as = me});
                co_await again.release();
            }
            co_await inside.read(milliseconds{dice.below(3)});
            BOOST_TEST(bool{*held});
            co_await held->release();
        };
        auto const write = [&](read_write_lock of) -> asio::awaitable<void> {
            owner const me;
            auto held = co_await of.write().try_acquire_for(
                milliseconds{dice.one_in(8) ? 5 : 20'000}, {.as = me}
            );
            if (!held)
                co_return;
            co_await inside.write(milliseconds{dice.below(2)});
            BOOST_TEST(bool{*held});
            if (!dice.one_in(3)) {
                co_await held->release();
                co_return;
            }
            hold below = co_await of.read().acquire({.as = me});
            co_await held->release();
            co_await inside.read(milliseconds{dice.below(2)});
            co_await below.release();
        };
        at.run(
            [&]() -> asio::awaitable<void> {
                tasks all{at.context()};
                for (std::size_t i = 0; i != 24; ++i)
                    all.start([&, i]() -> asio::awaitable<void> {
                        read_write_lock const mine{clients.at(i % 2)->client, name};
                        for (int round = 0; round != 20; ++round) {
                            if (dice.one_in(4))
                                co_await write(mine);
                            else
                                co_await read(mine);
                        }
                    });
                co_await all.join(50s);
                BOOST_TEST(inside.most_readers() > 1);
                BOOST_TEST(inside.times_read() > 0);
                BOOST_TEST(inside.times_written() > 0);
                co_await eventually([&] { return !exists(at.server(), name); });
                BOOST_TEST(!exists(at.server(), name));
                BOOST_TEST(at.server().ask("KEYS", "*" + name + "*").items.empty());
            },
            60s
        );
    }
}

BOOST_DATA_TEST_CASE(a_writer_is_not_starved_by_readers_of_its_client, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        read_write_lock const mine{c.client, unique_name("stream")};
        library inside;
        bool over = false;
        tasks all{at.context()};
        for (int i = 0; i != 16; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                co_await rest(milliseconds{i});
                while (!over) {
                    hold held = co_await mine.read().acquire();
                    co_await inside.read(10ms);
                    co_await held.release();
                }
            });
        co_await eventually([&] { return inside.times_read() > 50; });
        std::int64_t longest = 0;
        for (int i = 0; i != 10; ++i) {
            stopwatch const watch;
            hold held = co_await mine.write().acquire();
            longest = std::max(longest, watch.ms());
            co_await inside.write(1ms);
            co_await held.release();
        }
        over = true;
        co_await all.join(5s);
        BOOST_TEST_MESSAGE("the writer has waited for " << longest << " ms at most");
        BOOST_TEST(longest < 300);
        BOOST_TEST(inside.most_readers() > 2);
    });
}

BOOST_DATA_TEST_CASE(who_waits_on_either_side_is_woken, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("woken");
        read_write_lock const here{a.client, name}, there{b.client, name};
        for (int i = 0; i != 5; ++i) {
            hold write = co_await here.write().acquire();
            std::vector<hold> read;
            tasks readers{at.context()};
            for (int n = 0; n != 8; ++n)
                readers.start([&]() -> asio::awaitable<void> {
                    read.push_back(co_await there.read().acquire());
                });
            co_await eventually([&] { return is_waiting(b.client, name); });
            co_await rest(20ms);
            BOOST_TEST(read.empty());
            co_await write.release();
            co_await readers.join(5s);
            BOOST_TEST(fields_of(at.server(), name) == 9U);

            bool wrote = false;
            tasks writer{at.context()};
            writer.start([&]() -> asio::awaitable<void> {
                hold next = co_await here.write().acquire();
                wrote = true;
                co_await next.release();
            });
            co_await rest(20ms);
            BOOST_TEST(!wrote);
            for (auto& one : read)
                co_await one.release();
            co_await writer.join(5s);
        }
    });
}

BOOST_DATA_TEST_CASE(each_reader_has_a_lease_of_its_own, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect(brief(at.settings()));
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("leases");
        read_write_lock const mine{a.client, name};
        hold ending = co_await mine.read().acquire({.lease = 300ms});
        hold renewed = co_await mine.read().acquire();
        hold longer = co_await mine.read().acquire({.lease = 3s});
        auto const lease = co_await mine.read().remaining_lease();
        BOOST_TEST_REQUIRE(lease.has_value());
        BOOST_TEST((*lease > 2s && *lease <= 3s));
        co_await ending.lost(asio::cancel_after(10s));
        BOOST_TEST(!ending);
        BOOST_TEST(bool{renewed});
        BOOST_TEST(bool{longer});
        co_await longer.release();
        auto const left = co_await mine.read().remaining_lease();
        BOOST_TEST_REQUIRE(left.has_value());
        BOOST_TEST((*left <= brief_lease));
        co_await ever([&] { return !renewed; }, 600ms);
        BOOST_TEST(bool{renewed});
        co_await renewed.release();
        co_await ending.release(tuple);
        // Nobody reads any more, whatever stands in the hash.
        auto next = co_await read_write_lock{b.client, name}.write().try_acquire_for(2s);
        BOOST_TEST_REQUIRE(next.has_value());
        co_await next->release();
    });
}

BOOST_DATA_TEST_CASE(readers_of_a_client_that_stops_end_with_their_leases, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect(brief(at.settings()));
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("stopped");
        read_write_lock const dying{a.client, name}, living{b.client, name};
        hold lost = co_await dying.read().acquire();
        hold kept = co_await living.read().acquire();
        a.client.stop();
        co_await lost.lost(asio::cancel_after(10s));
        BOOST_TEST(!lost);
        BOOST_TEST(bool{kept});
        if (auto const none = co_await living.write().try_acquire())
            BOOST_ERROR("granted");
        co_await kept.release();
        hold write = co_await living.write().acquire(asio::cancel_after(10s));
        co_await write.release();
        a.run();
    });
}

BOOST_DATA_TEST_CASE(who_writes_reads_and_steps_down, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect(brief(at.settings()));
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("down");
        read_write_lock const mine{a.client, name}, other{b.client, name};
        owner const me;
        hold write = co_await mine.write().acquire({.as = me});
        hold read = co_await mine.read().acquire({.as = me});
        BOOST_TEST(co_await mine.read().is_locked() == true);
        BOOST_TEST(co_await other.write().is_locked() == true);
        BOOST_TEST(co_await mine.read().hold_count(me) == 1);
        if (auto const none = co_await other.read().try_acquire())
            BOOST_ERROR("granted");
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            hold also = co_await other.read().acquire();
            BOOST_TEST(bool{read});
            co_await also.release();
        });
        co_await eventually([&] { return is_waiting(b.client, name); });
        co_await rest(20ms);
        co_await write.release();
        co_await waiting.join(5s);
        BOOST_TEST(co_await mine.write().is_locked() == false);
        BOOST_TEST(co_await mine.read().is_locked() == true);
        // Both sides are renewed while they are held, and the one that is left.
        co_await ever([&] { return !read; }, 1s);
        BOOST_TEST(bool{read});
        if (auto const none = co_await other.write().try_acquire())
            BOOST_ERROR("granted");
        co_await read.release();
        BOOST_TEST(!exists(at.server(), name));
    });
}

BOOST_DATA_TEST_CASE(each_side_is_forced_by_itself, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect(brief(at.settings()));
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("forced");
        read_write_lock const mine{a.client, name}, other{b.client, name};
        hold first = co_await mine.read().acquire();
        hold second = co_await mine.read().acquire();
        BOOST_TEST(co_await other.write().force_release() == false);
        BOOST_TEST(co_await other.read().force_release() == true);
        co_await first.lost(asio::cancel_after(10s));
        co_await second.lost(asio::cancel_after(10s));
        BOOST_TEST(co_await mine.read().is_locked() == false);
        hold write = co_await mine.write().acquire();
        BOOST_TEST(co_await mine.read().force_release() == false);
        BOOST_TEST(bool{write});
        BOOST_TEST(co_await mine.write().force_release() == true);
        BOOST_TEST(!write);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
