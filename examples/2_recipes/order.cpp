// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An order that is sent as often as it takes, to any node, and carried out once. In turn the node
// dies before it has charged, after that, and after it has stored the order.
//
//     order [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

/// Outlives every node, as the table does. Both know a request by the id of its sender, and do the
/// same thing once, however often they are asked.
struct payment_provider {
    std::map<std::string, int> charged;  // by request
    int asked = 0;

    void charge(std::string const& request, int amount)
    {
        ++asked;
        charged.emplace(request, amount);
    }
};

struct order_table {
    std::map<std::string, std::string> receipts;  // by request: a unique key

    std::optional<std::string> find(std::string const& request) const
    {
        auto const found = receipts.find(request);
        return found == receipts.end() ? std::nullopt : std::optional{found->second};
    }

    /// INSERT … ON CONFLICT DO NOTHING, then SELECT.
    std::string insert(std::string const& request, std::string receipt)
    {
        return receipts.emplace(request, std::move(receipt)).first->second;
    }
};

enum class step { none, received, charged, stored };

struct no_answer : std::runtime_error {
    no_answer() : std::runtime_error{"no answer"} {}
};

struct node {
    node(asio::any_io_executor executor, colock::config const& settings) : redis{executor, settings}
    {
        redis.run(asio::detached);
    }

    void reached(step now)
    {
        if (now == dies_at) {
            redis.stop();  // as if the power failed: nothing is released
            throw no_answer{};
        }
    }

    colock::client redis;
    step dies_at = step::none;
};

payment_provider provider;
order_table orders;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [place
asio::awaitable<std::string> place(node& self, std::string request, int amount)
{
    colock::lock const lock{self.redis, "order:" + request};
    co_return co_await colock::with_lock(lock, [&](colock::hold&) -> asio::awaitable<std::string> {
        self.reached(step::received);
        if (auto known = orders.find(request))
            co_return *known;  // a repeat gets the answer of the first time
        asio::steady_timer network{co_await asio::this_coro::executor, 20ms};
        co_await network.async_wait(asio::deferred);
        provider.charge(request, amount);
        self.reached(step::charged);
        auto receipt = orders.insert(request, "receipt " + std::to_string(orders.receipts.size()));
        self.reached(step::stored);
        co_return receipt;
    });
}
// place]

/// The sender: one id for the order, however often it is sent.
asio::awaitable<std::string> send(node& first, node& second, std::string request, int amount)
{
    try {
        co_return co_await place(first, request, amount);
    } catch (std::runtime_error const&) {
        // In any case, it may have happened or not.
    }
    co_return co_await place(second, request, amount);
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

void expect(std::string const& request, int asked)
{
    if (std::exchange(provider.asked, 0) != asked || provider.charged.at(request) != 10)
        throw std::logic_error{"charged twice, or not at all"};
}

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // how long an order waits for a node that has died with it

    node a{executor, settings};
    node b{executor, settings};
    auto [one, other] = co_await (place(a, "r0", 10) && place(b, "r0", 10));
    std::printf("sent to both: %s and %s\n", one.c_str(), other.c_str());
    expect("r0", 1);

    for (auto [dies_at, when, asked] :
         {std::tuple{step::received, "before it has charged", 1},
          std::tuple{step::charged, "after it has charged", 2},
          std::tuple{step::stored, "after it has stored the order", 1}}) {
        node dying{executor, settings};
        dying.dies_at = dies_at;
        std::string const request = "r" + std::to_string(orders.receipts.size());
        std::string const receipt = co_await send(dying, b, request, 10);
        std::printf("a node dies %s: %s, asked to charge %d\n", when, receipt.c_str(), asked);
        expect(request, asked);
    }
    co_await a.redis.close();
    co_await b.redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
