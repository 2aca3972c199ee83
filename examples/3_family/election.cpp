// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two nodes stand for election; a third looks on. The leader resigns, and the other one leads.
//
//     election [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

std::vector<std::string> leaders;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [lead
/// Runs while this node leads, and is cancelled when it leads no more. When it returns, the node
/// resigns.
asio::awaitable<void> serve(std::string address, colock::leadership& mine)
{
    std::printf("%s leads\n", address.c_str());
    leaders.push_back(address);
    co_await mine.publish(address + ", ready");
    asio::steady_timer work{co_await asio::this_coro::executor, 1500ms};
    co_await work.async_wait(asio::deferred);
}

asio::awaitable<void> stand(colock::election office, std::string address)
{
    auto const term = [address](colock::leadership& mine) { return serve(address, mine); };
    co_await office.stand(address, term);
}
// lead]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [observe
/// Anybody may look on; a client sends its requests to the leader, for example.
asio::awaitable<void> look_on(colock::election office, int changes)
{
    auto seen = co_await office.current();
    while (changes-- != 0) {
        seen = co_await office.next(seen);
        std::printf("seen: %s\n", seen ? seen->words.c_str() : "nobody");
    }
}
// observe]

asio::awaitable<void> example(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.poll_cap = 100ms;  // how soon a change is seen
    colock::client redis{co_await asio::this_coro::executor, settings};
    redis.run(asio::detached);
    // [make
    colock::election const office{redis, "leader:shard-7", {.lease = 5s, .renew = true}};
    // make]
    co_await (stand(office, "10.0.0.1:80") && stand(office, "10.0.0.2:80") && look_on(office, 3));
    if (leaders.size() != 2)
        throw std::logic_error{"each leads once"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
