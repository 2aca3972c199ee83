// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that travels from one client to another, on real servers, while others want it.
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace colock::test {

namespace {

/// Gives the lock away, and reads the claim from its text as another process does.
// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters)
asio::awaitable<claim> given(hold& held)
{
    auto const token = held.fencing_token();
    auto const made = co_await held.give();
    BOOST_TEST(!held);
    BOOST_TEST((made.token == token && made.valid_for > 0ms));
    auto const read = claim::parse(made.to_string());
    BOOST_TEST_REQUIRE((read && *read == made));
    co_return *read;
}

/// A client that wants the lock all the time.
struct rival {
    rival(lab& at, std::string of) : redis{at.connect()}, name{std::move(of)}, all{at.context()}
    {
        all.start([this]() -> asio::awaitable<void> {
            held = co_await lock{redis.client, name}.acquire();
        });
    }

    asio::awaitable<void> begins()
    {
        co_await eventually([this] { return is_waiting(redis.client, name); });
    }
    bool waits() const { return !held && redis.client.stats().waiters == 1; }
    asio::awaitable<void> gets_it() { co_await all.join(3s); }

    running_client& redis;
    std::string name;
    tasks all;
    hold held;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(claims)

BOOST_DATA_TEST_CASE(the_lock_moves_while_a_third_client_waits, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& giver = at.connect();
    auto& adopter = at.connect(brief(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("moves");
        auto held = co_await lock{giver.client, name}.acquire();
        rival third{at, name};
        co_await third.begins();
        co_await held.extend(5s);
        auto const what = co_await given(held);
        BOOST_TEST(exists(server, name));
        BOOST_TEST(third.waits());

        auto here = co_await adopter.client.adopt(what);
        BOOST_TEST(here.fencing_token() > what.token);
        BOOST_TEST(server.ask("PTTL", name).number <= brief_lease.count());  // the adopter's lease
        auto const until = here.valid_until() + brief_lease;
        co_await eventually([&] { return here.valid_until() > until; });  // renewed
        BOOST_TEST(third.waits());
        co_await here.release();
        co_await third.gets_it();
        BOOST_TEST(third.held.fencing_token() > here.fencing_token());
    });
}

BOOST_DATA_TEST_CASE(one_of_two_that_adopt_at_once_has_the_lock, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& giver = at.connect();
    std::array clients{&at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{giver.client, unique_name("once")};
        for (std::size_t round = 0; round != 50; ++round) {
            auto held = co_await mine.acquire({.lease = 10s});
            auto const what = co_await given(held);
            std::array<hold, 2> got;
            int refused = 0;
            tasks all{at.context()};
            for (std::size_t i = 0; i != 2; ++i)
                all.start([&, who = (round + i) % 2]() -> asio::awaitable<void> {
                    auto [ec, here] = co_await clients[who]->client.adopt(what, tuple);
                    BOOST_TEST((!ec || ec == error::claim_gone), ec.message());
                    refused += ec == error::claim_gone;
                    got[who] = std::move(here);
                });
            co_await all.join(5s);
            BOOST_TEST(refused == 1);
            BOOST_TEST_REQUIRE(bool{got[0]} != bool{got[1]});
            auto& one = got[0] ? got[0] : got[1];
            BOOST_TEST(one.fencing_token() > what.token);
            co_await one.release();
        }
    });
}

BOOST_DATA_TEST_CASE(two_hundred_moves_to_and_fro, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("to-and-fro");
        section critical;
        auto held = co_await lock{clients[0]->client, name}.acquire();
        rival third{at, name};
        co_await third.begins();
        std::size_t const moves = 200;
        for (std::size_t i = 1; i <= moves; ++i) {
            co_await critical.stay(0ms);
            auto const what = co_await given(held);
            held = co_await clients[i % 2]->client.adopt(what);
            BOOST_TEST_REQUIRE(held.fencing_token() > what.token);
            BOOST_TEST_REQUIRE(third.waits());
        }
        BOOST_TEST(critical.visits() == 200);
        co_await held.release();
        co_await third.gets_it();
        BOOST_TEST(third.held.fencing_token() > held.fencing_token());
    });
}

BOOST_DATA_TEST_CASE(a_claim_ends_with_its_lease, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& giver = at.connect(brief(at.settings()));
    auto& adopter = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("ends");
        auto held = co_await lock{giver.client, name}.acquire();
        rival third{at, name};
        co_await third.begins();
        stopwatch const watch;
        auto const what = co_await given(held);
        co_await third.gets_it();
        BOOST_TEST(watch.ms() >= what.valid_for.count());
        BOOST_TEST(third.held.fencing_token() > what.token);

        auto const [late, none] = co_await adopter.client.adopt(what, tuple);
        BOOST_TEST((late == error::claim_gone), late.message());
        BOOST_TEST(!none);
        BOOST_TEST(bool{third.held});
        co_await third.held.release();
        auto const [free, nothing] = co_await adopter.client.adopt(what, tuple);
        BOOST_TEST((free == error::claim_gone), free.message());
        BOOST_TEST(!nothing);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
