// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that a Java process holds, and one that it waits for. Java is played by the commands that
// Redisson's scripts execute.
//
//     13_from_redisson [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <regex>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

// [same
asio::awaitable<bool> process_order(colock::lock lock)
{
    if (auto held = co_await lock.try_acquire_for(1s)) {
        co_await tutorial::pause(10ms);  // …
        co_await held->release();        // an exception releases it as well
        co_return true;
    }
    co_return false;
}
// same]

std::string const name = "order:42";
std::string const channel = "redisson_lock__channel:{order:42}";
std::string const java_thread = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";  // UUID, thread

asio::awaitable<void> java_lock(examples::raw_redis* java)
{
    co_await java->command("HSET", name, java_thread, "1");
    co_await java->command("PEXPIRE", name, "30000");
}

asio::awaitable<void> java_unlock(examples::raw_redis* java)
{
    co_await java->command("DEL", name);
    co_await java->command("PUBLISH", channel, "0");
}

asio::awaitable<void> java_holds(colock::lock lock, examples::raw_redis* java)
{
    co_await java_lock(java);
    auto const held = co_await lock.try_acquire();
    auto const lease = co_await lock.remaining_lease();
    std::printf("Java holds it: C++ %s\n", held ? "is in as well" : "is not in");
    std::printf("its lease ends in ~%lld ms\n", static_cast<long long>(lease->count()));
    expect(!held && lease <= 30s, "Java's lock");
}

// [wait
asio::awaitable<colock::hold> wait_for_java(colock::lock lock)
{
    tutorial::stopwatch const waited;
    colock::hold held = co_await lock.acquire();
    expect(waited.ms() < 5000, "woken by the message: it would ask by itself after 10 s");
    std::puts("Java unlocks: C++ is in");
    co_return held;
}
// wait]

asio::awaitable<void> later(asio::awaitable<void> task)
{
    co_await tutorial::pause(100ms);
    co_await std::move(task);
}

// [layout
asio::awaitable<void> look(examples::raw_redis* java)
{
    auto const fields = co_await java->command("HKEYS", name);
    auto const depth = co_await java->command("HVALS", name);
    std::regex const uuid_and_number{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+"};
    bool const alike = std::regex_match(fields, uuid_and_number);
    std::printf("its field: %s, value %s\n", alike ? "a UUID and a number" : "?", depth.c_str());
}
// layout]

asio::awaitable<void> java_forces(colock::lock lock, examples::raw_redis* java)
{
    colock::hold held = co_await lock.acquire();
    co_await java_unlock(java);  // as forceUnlock() does
    auto const [failure] = co_await held.release(asio::as_tuple(asio::deferred));
    std::printf("Java forces it: %s\n", failure.message().c_str());
    expect(failure == colock::error::lost, "the release says so");
}

asio::awaitable<void> lesson(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.poll_cap = 10s;
    colock::client redis{co_await asio::this_coro::executor, settings};
    redis.run(asio::detached);
    auto java = co_await examples::raw_redis::connect(url);
    colock::lock const lock{redis, name};

    bool const processed = co_await process_order(lock);
    expect(processed, "nobody has it");
    co_await java_holds(lock, &java);
    colock::hold held = co_await (wait_for_java(lock) && later(java_unlock(&java)));
    co_await look(&java);

    auto listener = co_await examples::raw_redis::connect(url);
    co_await listener.command("SUBSCRIBE", channel);
    co_await held.release();
    auto const message = co_await listener.reply();
    std::printf("C++ releases, Java hears: %s\n", message.c_str());
    co_await java_forces(lock, &java);
    co_await redis.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
