// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// How fast the counters of fencing tokens rise: never past the server's clock, or the tokens after
// a lost counter would be below those before.
#include "integration/suites.hpp"
#include "support/from_environment.hpp"
#include <colock/spin_lock.hpp>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace colock::test {

namespace {

struct burden {
    std::string name;
    int waiters = 64;
    acquire_options options{};
    milliseconds max_tenure{10};
    bool spins = false;
    bool hears = true;  ///< it may subscribe
    int locks = 1;      ///< of one slot

    friend std::ostream& operator<<(std::ostream& to, burden const& b) { return to << b.name; }
};

std::vector<burden> burdens()
{
    return {
        {.name = "leases of their own", .options = {.lease = 1s}},
        {.name = "leases of their own, long tenures", .options = {.lease = 1s}, .max_tenure = 1s},
        {.name = "spin locks", .waiters = 8, .spins = true},
        {.name = "a refused SUBSCRIBE", .hears = false},
        {.name = "two locks of one slot", .waiters = 32, .locks = 2}};
}

/// Those who pass locks on to each other, until told to stop.
struct rush {
    template <class Lock>
    asio::awaitable<void> take_part(Lock mine, acquire_options options)
    {
        std::uint64_t last = 0;
        while (!ended) {
            auto one = co_await mine.acquire(options);
            BOOST_TEST(one.fencing_token() > last);
            last = one.fencing_token();
            ++holds;
            co_await one.release();
        }
    }

    bool ended = false;
    std::uint64_t holds = 0;
};

std::int64_t clock_of(redis_server& server)
{
    auto const time = server.ask("TIME").items;
    return std::stoll(time.at(0).text) * 1'000'000 + std::stoll(time.at(1).text);
}

asio::awaitable<std::uint64_t> token_of(lock const& any)
{
    hold const held = co_await any.acquire();
    co_return held.fencing_token();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(token_rates)

// COLOCK_TOKEN_SECONDS says for how long each burden lasts.
BOOST_DATA_TEST_CASE(after_a_lost_counter_the_next_token_is_higher, burdens(), load)
{
    redis_server server;
    if (!load.hears)
        server.ask("ACL", "SETUSER", "default", "-subscribe", "-ssubscribe");
    lab at{server};
    auto settings = at.settings();
    settings.max_tenure = load.max_tenure;
    auto& c = at.connect(settings);
    auto const lasts = std::chrono::seconds{from_environment("COLOCK_TOKEN_SECONDS", 1)};
    auto const test = [&]() -> asio::awaitable<void> {
        tasks all{at.context()};
        rush those;
        lock const any{c.client, "{hot}any"};
        auto const first = co_await token_of(any);
        for (int i = 0; i != load.waiters * load.locks; ++i)
            all.start([&, name = "{hot}" + std::to_string(i % load.locks)] {
                return load.spins ? those.take_part(spin_lock{c.client, name}, load.options)
                                  : those.take_part(lock{c.client, name}, load.options);
            });
        asio::steady_timer end{at.context(), lasts};
        co_await end.async_wait(asio::deferred);
        those.ended = true;
        co_await all.join(10s);
        auto const last = co_await token_of(any);
        auto const behind = clock_of(server) - static_cast<std::int64_t>(last);
        BOOST_TEST_MESSAGE(
            load << ": " << those.holds << " holds, " << last - first
                 << " tokens; behind the clock " << behind << " us"
        );
        BOOST_TEST(last - first <= 2 * those.holds + 1'000);
        server.ask("FLUSHALL");
        auto const next = co_await token_of(any);
        BOOST_TEST(next > last);
    };
    at.run(test, lasts + 20s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
