// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Who holds a lock and runs is told of its loss before the server lets anybody else have it.
#include "chaos/trials.hpp"
#include "support/redis_server.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <stop_token>

namespace colock::test {

namespace {

constexpr int holds = 100;

/// Asks the server, at the moment of the notice and past the broken network, how long the key
/// has yet to live there.
class notice {
public:
    notice(colock::hold held, std::string name, redis_cli& server)
        : held_{std::move(held)}
        , told_{held_.stop_token(), [this, name = std::move(name), &server] {
                    left_ = server("PTTL", name).number;
                }}
    {}

    bool is_told() const noexcept { return left_ != none; }
    std::int64_t left() const noexcept { return left_; }
    colock::hold& held() noexcept { return held_; }

private:
    static constexpr auto none = std::numeric_limits<std::int64_t>::min();

    colock::hold held_;
    std::int64_t left_ = none;
    std::stop_callback<std::function<void()>> told_;
};

struct network_fault {
    char const* name;
    std::function<void(proxy&)> begin;
};

std::vector<network_fault> const ways_to_be_cut_off{
    {"black hole towards the server", [](proxy& p) { p.hold_back_all(proxy::way::to_server); }},
    {"black hole towards the client", [](proxy& p) { p.hold_back_all(proxy::way::to_client); }},
    {"black hole both ways", [](proxy& p) { p.hold_back_all(proxy::way::both); }},
    {"cut, and no new connection",
     [](proxy& p) {
         p.serve(false);
         p.cut();
     }},
    {"answers later than the lease", [](proxy& p) { p.delay(2'500ms); }}};

/// Each kind of lock in turn.
asio::awaitable<hold> acquire(colock::client const& where, std::string const& name, int which)
{
    read_write_lock const both{where, name};
    switch (which % 5) {
    case 0: co_return co_await fair_lock{where, name}.acquire();
    case 1: co_return co_await spin_lock{where, name}.acquire();
    case 2: co_return co_await both.read().acquire();
    case 3: co_return co_await both.write().acquire();
    default: co_return co_await lock{where, name}.acquire();
    }
}

void heal(proxy& p)
{
    p.serve(true);
    p.delay(0ms);
    p.cut();
    p.let_through();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(notices)

BOOST_AUTO_TEST_CASE(come_before_the_server_lets_go)
{
    redis_server server;
    proxy network{server.port()};
    redis_cli direct{server.unix_socket()};
    lab at{server};
    auto settings = server.by_port();
    settings.addresses.front().port = network.port();
    settings.lease = 2s;
    auto& redis = at.connect(settings);
    random_numbers dice;
    std::cout << "seed " << dice.seed() << std::endl;
    std::int64_t count = 0, late = 0, least = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round != (chaos_trials() == 1 ? 1 : 4); ++round)
        for (auto const& each : ways_to_be_cut_off)
            at.run_only([&]() -> asio::awaitable<void> {
                std::list<notice> all;
                for (int i = 0; i != holds; ++i) {
                    auto const name = unique_name("notice");
                    hold held = co_await acquire(redis.client, name, i);
                    all.emplace_back(std::move(held), name, direct);
                }
                // Renewals come each third of the lease: any moment between two of them.
                co_await time_passes(milliseconds{dice.below(1'400)});
                each.begin(network);
                bool const told = co_await eventually(
                    [&] { return std::ranges::all_of(all, &notice::is_told); }, 5s
                );
                BOOST_TEST(told, each.name);
                for (auto& one : all) {
                    ++count;
                    late += one.left() > 0 ? 0 : 1;
                    least = std::min(least, one.left());
                }
                heal(network);
                for (auto& one : all)
                    co_await one.held().release(tuple);
            });
    std::cout << "notices in network faults: " << count << " holds at lease 2 s, told after the "
              << "server had let go " << late << ", the least that it had yet to live there "
              << least << " ms" << std::endl;
    BOOST_TEST(late == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
