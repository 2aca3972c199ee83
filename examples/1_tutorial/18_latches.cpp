// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A report waits until three shards are loaded, wherever that happens; and what it does when one of
// them never comes.
//
//     18_latches [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

int loaded_shards = 0;

// [shard
asio::awaitable<void> load_shard(colock::countdown_latch loaded, int shard)
{
    co_await tutorial::pause(shard * 10ms);
    ++loaded_shards;
    co_await loaded.count_down();  // after the work, never before it
}
// shard]

// [report
asio::awaitable<void> report(colock::countdown_latch loaded)
{
    co_await loaded.wait();
    std::printf("%d shards are loaded: the report begins\n", loaded_shards);
    expect(loaded_shards == 3, "all of them");
}
// report]

asio::awaitable<void> three_shards(colock::countdown_latch here, colock::countdown_latch there)
{
    // [set
    co_await here.try_set_count(3);  // before anybody counts or waits: what does not exist is open
    // set]
    co_await (report(there) && load_shard(here, 1) && load_shard(here, 2) && load_shard(here, 3));
}

// [missing
asio::awaitable<void> load_or_fail(colock::countdown_latch loaded, int shard)
{
    try {
        if (shard == 2)
            throw std::runtime_error{"shard 2 can't be read"};
        co_await load_shard(loaded, shard);
    } catch (std::runtime_error const& e) {
        std::puts(e.what());  // and nothing is counted: the report must not begin
    }
}

asio::awaitable<void> patient_report(colock::countdown_latch loaded)
{
    if (co_await loaded.wait_for(300ms))
        co_return;
    auto const missing = co_await loaded.count();
    std::printf("after 300 ms %d is missing: it is loaded here\n", static_cast<int>(missing));
    expect(missing == 1, "one shard");
    co_await load_shard(loaded, 2);
    co_await loaded.wait();
    std::puts("the report begins");
}
// missing]

asio::awaitable<void> one_is_missing(colock::countdown_latch here, colock::countdown_latch there)
{
    co_await here.try_set_count(3);
    co_await (
        patient_report(there) && load_or_fail(here, 1) && load_or_fail(here, 2) &&
        load_or_fail(here, 3)
    );
}

asio::awaitable<void> wait_is_cancelled(colock::countdown_latch loaded)
{
    co_await loaded.try_set_count(1);
    co_await (loaded.wait(asio::use_awaitable) || tutorial::pause(50ms));
    auto const left = co_await loaded.count();
    std::printf("a wait was cancelled: the count is still %d\n", static_cast<int>(left));
    expect(left == 1, "a waiter changes nothing");
    co_await loaded.count_down();
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, colock::config::from_url(url)};
    colock::client b{executor, colock::config::from_url(url)};
    a.run(asio::detached);
    b.run(asio::detached);

    co_await three_shards({a, "loaded:monday"}, {b, "loaded:monday"});
    co_await one_is_missing({a, "loaded:tuesday"}, {b, "loaded:tuesday"});
    co_await wait_is_cancelled({a, "loaded:wednesday"});

    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
