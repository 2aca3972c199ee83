// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace colock::test {

/// A lab with a client and a counter of its own, which goes in the end: the semaphore, the permits
/// or the latch that a test is about.
template <class Counter>
class counter_lab : public lab {
public:
    explicit counter_lab(
        server_kind kind = server_kind::redis, std::function<void(config&)> const& change = {}
    )
        : lab{shared_server(kind)}
        , client{connect(changed(settings(), change)).client}
        , mine{client, unique_name("counter")}
    {}

    /// Runs `what`, a coroutine that is given the counter.
    template <class F>
    void run(F what, milliseconds limit = 20s)
    {
        lab::run(
            [&]() -> asio::awaitable<void> {
                co_await what(mine);
                server().ask("DEL", mine.name(), leases());
            },
            limit
        );
    }

    /// What Redis has under the counter's name.
    std::string stored() { return server().ask("GET", mine.name()).text; }

    /// Where Redis has the leases of permits.
    std::string leases() const { return "{" + mine.name() + "}:timeout"; }

    /// How many clients of this server wait for messages on a channel of this prefix.
    std::int64_t listeners(std::string const& prefix)
    {
        auto const channel = prefix + "{" + mine.name() + "}";
        return server().ask("PUBSUB", "NUMSUB", channel).items.at(1).number;
    }

    colock::client& client;
    Counter const mine;

private:
    static config changed(config c, std::function<void(config&)> const& change)
    {
        if (change)
            change(c);
        return c;
    }
};

/// Settings of a client behind a faulty network, which is patient.
inline auto through(proxy const& network, server_kind kind)
{
    return [&network, kind](config& c) {
        c = quick(shared_server(kind).by_port());
        c.addresses.front().port = network.port();
        c.lease = 5s;
        c.timeout = 10s;
    };
}

/// Two clients take what there is and give it back while their connections go, again and again. It
/// adds up in the end, and there are never more out than there are. `visit` is a coroutine: it
/// takes one of the counter, awaits its second argument, and gives it back.
template <class Counter, class Visit>
void check_that_it_adds_up(server_kind kind, Visit const& visit)
{
    constexpr int permits = 4, turns = 30, workers = 8;
    proxy network{shared_server(kind).port()};
    counter_lab<Counter> at{kind, through(network, kind)};
    auto settings = at.settings();
    through(network, kind)(settings);
    std::array const counters{at.mine, Counter{at.connect(settings).client, at.mine.name()}};
    int out = 0, most = 0, done = 0, cuts = 0;
    auto const stay = [&]() -> asio::awaitable<void> {
        most = std::max(most, ++out);
        asio::steady_timer pause{co_await asio::this_coro::executor, 500us};
        co_await pause.async_wait(asio::deferred);
        --out;
    };
    auto const work = [&](Counter const& of_one) -> asio::awaitable<void> {
        for (int i = 0; i != turns; ++i)
            co_await visit(of_one, stay);
        ++done;
    };
    at.run(
        [&](Counter const& mine) -> asio::awaitable<void> {
            co_await mine.try_set_permits(permits);
            tasks all{at.context()};
            for (std::size_t i = 0; i != workers; ++i)
                all.start([&, i]() { return work(counters[i % 2]); });
            while (done != workers) {
                asio::steady_timer pause{co_await asio::this_coro::executor, 30ms};
                co_await pause.async_wait(asio::deferred);
                network.cut();
                ++cuts;
            }
            co_await all.join(1s);
            BOOST_TEST_MESSAGE(cuts << " cuts");
            BOOST_TEST(most <= permits);
            BOOST_TEST(at.stored() == std::to_string(permits));
            BOOST_TEST(at.server().ask("ZCARD", at.leases()).number == 0);
        },
        60s
    );
}

}  // namespace colock::test
