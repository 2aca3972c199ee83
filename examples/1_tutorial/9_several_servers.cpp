// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Several locks as one: two accounts, three servers that must all agree, most of three servers.
//
//     9_several_servers URL URL2 URL3        the second and the third are shut down in the end
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

std::map<std::string, int> accounts{{"account:1", 100}, {"account:2", 100}};

// [transfer
asio::awaitable<void> transfer(colock::lock from, colock::lock to, int amount)
{
    colock::multi_lock const both{from, to};
    colock::group_hold held = co_await both.acquire();  // whichever way round: no deadlock
    int const left = accounts[from.name()] - amount;
    co_await tutorial::pause(5ms);
    accounts[from.name()] = left;
    accounts[to.name()] += amount;
    co_await held.release();
}
// transfer]

asio::awaitable<void> transfers(colock::lock one, colock::lock two)
{
    co_await (
        transfer(one, two, 10) && transfer(two, one, 30) && transfer(one, two, 5) &&
        transfer(two, one, 25)
    );
    std::printf("accounts: %d and %d\n", accounts["account:1"], accounts["account:2"]);
    expect(accounts["account:1"] == 140 && accounts["account:2"] == 60, "no transfer is lost");
}

/// How many of the servers have the key.
asio::awaitable<int> servers_with(std::array<std::string, 3> urls, std::string key)
{
    int count = 0;
    for (auto const& url : urls) {
        auto server = co_await examples::raw_redis::connect(url);
        auto const there = co_await server.command("EXISTS", key);
        count += there == "1";
    }
    co_return count;
}

asio::awaitable<void> method2(colock::multi_lock lock, colock::owner me)
{
    auto held = co_await lock.try_acquire({.as = me});
    std::puts(held ? "2: in again, on all three" : "2: not in");
    if (held)
        co_await held->release();
}

asio::awaitable<void> method1(colock::multi_lock lock, std::array<std::string, 3> urls)
{
    colock::owner const me;
    auto held = co_await lock.try_acquire_for(1s, {.as = me});
    if (!held)
        co_return;
    int const locked = co_await servers_with(urls, "order");
    std::printf("1: in, locked on %d servers\n", locked);
    co_await method2(lock, me);
    co_await held->release();
    int const left = co_await servers_with(urls, "order");
    std::printf("1: out, locked on %d servers\n", left);
}

asio::awaitable<void> shut_down(std::string url)
{
    auto server = co_await examples::raw_redis::connect(url);
    try {
        co_await server.command("SHUTDOWN", "NOSAVE");
        expect(false, "no answer");
    } catch (boost::system::system_error const&) {
        // It closes the connection instead.
    }
}

/// One of the servers dies while the lock is held: nobody else gets in, and the holder is told.
asio::awaitable<void> one_dies(colock::multi_lock mine, colock::multi_lock other, std::string url)
{
    colock::group_hold held = co_await mine.acquire();
    co_await shut_down(url);
    auto const [failure, in] =
        co_await other.try_acquire_for(200ms, asio::as_tuple(asio::deferred));
    std::printf("a server is gone: somebody else is %s\n", in ? "in" : "kept out");
    expect(!in, "two servers remember the lock");
    co_await held.lost();
    std::puts("its holder is told");
    co_await held.release(asio::as_tuple(asio::deferred));  // on those that are left
}

asio::awaitable<void> lead(colock::red_lock leader, char const* when)
{
    auto [failure, held] = co_await leader.try_acquire(asio::as_tuple(asio::deferred));
    if (failure)
        std::printf("%s: %s\n", when, failure.message().c_str());
    else
        std::printf("%s: %s\n", when, held ? "leading" : "somebody else leads");
    if (held)
        co_await held->release();
}

/// With a short lease, so that the holder is told soon.
asio::awaitable<void> one_of_three_dies(
    std::function<colock::config(std::size_t)> settings,
    colock::multi_lock others,
    std::array<std::string, 3> urls
)
{
    auto const executor = co_await asio::this_coro::executor;
    std::deque<colock::client> process;
    for (std::size_t i = 0; i != 3; ++i) {
        auto here = settings(i);
        here.lease = 2s;
        process.emplace_back(executor, here);
    }
    colock::multi_lock const mine{
        colock::lock{process[0], "order"},
        colock::lock{process[1], "order"},
        colock::lock{process[2], "order"}};
    co_await one_dies(mine, others, urls[2]);
    co_await process[0].close();
    co_await process[1].close();
    process[2].stop();
}

asio::awaitable<void> lesson(std::array<std::string, 3> urls)
{
    auto const executor = co_await asio::this_coro::executor;
    auto const settings = [&](std::size_t which) {
        auto one = colock::config::from_url(urls.at(which));
        one.log = {};          // that two servers will be gone is meant
        one.vote_after = 0ms;  // and none of them comes back without its locks
        return one;
    };
    // [clients
    colock::client first{executor, settings(0)};
    colock::client second{executor, settings(1)};
    colock::client third{executor, settings(2)};
    // clients]
    first.run(asio::detached);
    second.run(asio::detached);
    third.run(asio::detached);

    colock::lock const account_1{first, "account:1"};
    colock::lock const account_2{first, "account:2"};
    co_await transfers(account_1, account_2);

    // [three
    colock::lock const one{first, "order"};
    colock::lock const two{second, "order"};
    colock::lock const three{third, "order"};
    colock::multi_lock const all{one, two, three};
    colock::red_lock const most{one, two, three};
    // three]
    co_await method1(all, urls);

    co_await lead(most, "three servers");
    co_await one_of_three_dies(settings, all, urls);
    co_await lead(most, "two of three");
    co_await shut_down(urls[1]);
    co_await lead(most, "one of three");

    third.stop();
    second.stop();
    co_await first.close();
}

int main(int argc, char** argv)
{
    using tutorial::server;
    return tutorial::run(lesson({server(argc, argv), server(argc, argv, 2), server(argc, argv, 3)})
    );
}
