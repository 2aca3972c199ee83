// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Readers and writers of several clients, at real servers.
#include "integration/suites.hpp"
#include "support/seed.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <array>

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
            // The server may need longer than 5 ms to say that it is taken.
            auto [ec, held] = co_await of.read().try_acquire_for(
                milliseconds{dice.one_in(8) ? 5 : 20'000}, {.as = me}, tuple
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
            auto [ec, held] = co_await of.write().try_acquire_for(
                milliseconds{dice.one_in(8) ? 5 : 20'000}, {.as = me}, tuple
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
