// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// One client for all threads of a process.
//
//     10_threads [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

int sections = 0;  // no atomic, no mutex: the lock protects it

// [contender
asio::awaitable<bool> contend(colock::lock lock)
{
    auto held = co_await lock.try_acquire_for(10s);
    if (!held)
        co_return false;
    ++sections;
    co_await held->release();
    co_return true;
}
// contender]

// [pool
int hundred_contenders(colock::client& redis, asio::thread_pool& pool)
{
    std::vector<std::future<bool>> results;
    results.reserve(100);
    for (int i = 0; i < 100; ++i)
        results.push_back(asio::co_spawn(pool, contend({redis, "counter"}), asio::use_future));
    int in = 0;
    for (auto& result : results)
        in += result.get();
    return in;
}
// pool]

// The arguments of these coroutines outlive them: each is awaited where it is called.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [rush
using attempt = std::future<colock::if_acquired<colock::hold>>;

int thousand_in_a_rush(colock::client& redis)
{
    colock::lock const lock{redis, "seat"};
    std::vector<attempt> attempts;
    attempts.reserve(1000);
    for (int i = 0; i < 1000; ++i)
        attempts.push_back(lock.try_acquire_for(1s, asio::use_future));
    int in = 0;
    std::vector<colock::hold> kept;  // those that are in stay in
    for (auto& one : attempts)
        if (auto held = one.get()) {
            kept.push_back(std::move(*held));
            ++in;
        }
    return in;
}
// rush]

/// A has it, and B and C wait in other processes. A leaves, and they get in, one after the other.
asio::awaitable<int> three_contend(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    std::array<colock::client, 3> processes{
        colock::client{executor, colock::config::from_url(url)},
        colock::client{executor, colock::config::from_url(url)},
        colock::client{executor, colock::config::from_url(url)}};
    int inside = 0;
    int most = 0;
    auto const visit = [&](colock::client& process) -> asio::awaitable<void> {
        colock::hold held = co_await colock::lock{process, "contest"}.acquire();
        most = std::max(most, ++inside);
        co_await tutorial::pause(50ms);
        --inside;
        co_await held.release();
    };
    co_await (visit(processes[0]) && visit(processes[1]) && visit(processes[2]));
    for (auto& process : processes)
        co_await process.close();
    co_return most;
}

// [blocking
int threads_that_block(colock::client& redis)
{
    int count = 0;
    auto const count_one = [&] {
        colock::lock const lock{redis, "by threads"};
        colock::hold held = lock.acquire(asio::use_future).get();  // the thread waits
        ++count;
        held.release(asio::use_future).get();
    };
    std::vector<std::future<void>> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i)
        threads.push_back(std::async(std::launch::async, count_one));
    for (auto& thread : threads)
        thread.get();  // throws what the thread has thrown
    return count;
}
// blocking]

void a_thread_is_told(colock::client& redis)
{
    colock::lock const nameless{redis, ""};
    auto const take = [&] { auto const held = nameless.acquire(asio::use_future).get(); };
    std::future<void> thread = std::async(std::launch::async, take);
    try {
        thread.get();
    } catch (boost::system::system_error const& e) {
        std::printf("a thread that fails: %s\n", e.code().message().c_str());
        expect(e.code() == colock::error::invalid_argument, "a lock needs a name");
    }
}

int main(int argc, char** argv)
{
    // [main
    asio::thread_pool pool{4};
    colock::client redis{
        pool.get_executor(), colock::config::from_url(tutorial::server(argc, argv))};
    redis.run(asio::detached);
    // main]
    try {
        std::printf("100 contenders on 4 threads: %d were in\n", hundred_contenders(redis, pool));
        expect(sections == 100, "one at a time");
        int const in_a_rush = thousand_in_a_rush(redis);
        std::printf("1000 try for a second: %d is in\n", in_a_rush);
        expect(in_a_rush == 1, "nobody leaves");
        auto contest = three_contend(tutorial::server(argc, argv));
        auto strand = asio::make_strand(pool);  // because && cancels
        int const most = asio::co_spawn(strand, std::move(contest), asio::use_future).get();
        std::printf("three processes contend: at most %d at once\n", most);
        expect(most == 1, "one at a time");
        std::printf("8 threads that block: %d were in\n", threads_that_block(redis));
        a_thread_is_told(redis);
        redis.close(asio::use_future).get();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    pool.join();
    return 0;
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)
