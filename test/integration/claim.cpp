// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock that travels from one client to another, on real servers, while others want it.
#include "integration/suites.hpp"

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
