// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many read a catalogue at once; who changes it is alone.
//
//     7_readers_and_writers [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

// [many
asio::awaitable<void> readers_together(colock::read_write_lock here, colock::read_write_lock there)
{
    colock::hold first = co_await here.read().acquire();
    colock::hold second = co_await there.read().acquire();  // of another process
    auto const writer = co_await there.write().try_acquire();
    std::printf("two read; a writer: %s\n", writer ? "in" : "not now");
    expect(!writer, "somebody reads");
    co_await first.release();
    co_await second.release();
}
// many]

// [wait
asio::awaitable<void> write(colock::read_write_lock catalogue)
{
    colock::hold writing = co_await catalogue.write().acquire();
    std::puts("it writes, alone");
    co_await writing.release();
}

asio::awaitable<void> writer_waits(colock::read_write_lock here, colock::read_write_lock there)
{
    colock::hold reading = co_await here.read().acquire();
    auto const read_on = [](colock::hold held) -> asio::awaitable<void> {
        co_await tutorial::pause(50ms);
        std::puts("the last reader leaves");
        co_await held.release();
    };
    co_await (read_on(std::move(reading)) && write(there));
}
// wait]

// [downgrade
asio::awaitable<void> downgrade(colock::read_write_lock here, colock::read_write_lock there)
{
    colock::owner const me;
    colock::hold writing = co_await here.write().acquire({.as = me});
    colock::hold reading = co_await here.read().acquire({.as = me});  // who writes may read
    co_await writing.release();                                       // and step down

    colock::hold other = co_await there.read().acquire();
    auto const writer = co_await there.write().try_acquire();
    std::printf(
        "stepped down: another reader is in, another writer: %s\n", writer ? "in" : "not now"
    );
    co_await other.release();
    co_await reading.release();
}
// downgrade]

// [upgrade
asio::awaitable<void> upgrade(colock::read_write_lock catalogue)
{
    colock::owner const me;
    colock::acquire_options const mine{.as = me};
    colock::hold reading = co_await catalogue.read().acquire(mine);
    auto const [failure, writing] =
        co_await catalogue.write().acquire(mine, asio::as_tuple(asio::deferred));
    std::printf("a reader asks to write: %s\n", failure.message().c_str());
    expect(failure == colock::error::would_deadlock && !writing, "it would wait for itself");
    co_await reading.release();
}
// upgrade]

asio::awaitable<void> look(colock::read_write_lock lock, examples::raw_redis* server)
{
    colock::hold reading = co_await lock.read().acquire();
    auto const while_read = co_await server->command("HGET", "catalogue", "mode");
    co_await reading.release();
    colock::hold writing = co_await lock.write().acquire();
    auto const while_written = co_await server->command("HGET", "catalogue", "mode");
    co_await writing.release();
    std::printf("the mode at the server: %s, then %s\n", while_read.c_str(), while_written.c_str());
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, colock::config::from_url(url)};
    colock::client b{executor, colock::config::from_url(url)};
    a.run(asio::detached);
    b.run(asio::detached);
    auto server = co_await examples::raw_redis::connect(url);

    colock::read_write_lock const here{a, "catalogue"};
    colock::read_write_lock const there{b, "catalogue"};
    co_await readers_together(here, there);
    co_await writer_waits(here, there);
    co_await downgrade(here, there);
    co_await upgrade(here);
    co_await look(here, &server);

    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
