// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Many who want one lock, in one client and in several.
#include "integration/suites.hpp"

#include <algorithm>
#include <array>

namespace colock::test {

/// Clients that want one lock all the time, until told to stop.
struct crowd {
    struct member {
        running_client* redis;
        int entered = 0;
        int turns = 0;  ///< in a row counts as one
    };

    crowd(lab& l, std::string of) : at{l}, name{std::move(of)}, all{l.context()} {}

    void add(running_client& redis, int hungry)
    {
        auto& m = members.emplace_back(member{&redis});
        for (int i = 0; i != hungry; ++i)
            all.start([this, &m]() -> asio::awaitable<void> { co_await want(m); });
    }

    asio::awaitable<void> want(member& m)  // NOLINT(*-avoid-reference-coroutine-parameters)
    {
        lock const mine{m.redis->client, name};
        while (!ended) {
            auto [ec, held] = co_await mine.acquire(tuple);
            if (ec) {
                BOOST_TEST(ec == error::closed);
                co_return;
            }
            BOOST_TEST(held.fencing_token() > last_token);
            last_token = held.fencing_token();
            ++m.entered;
            m.turns += std::exchange(last, &m) != &m;
            co_await critical.stay(1ms);
            auto const [failed] = co_await held.release(tuple);
            BOOST_TEST((!failed || failed == error::closed || failed == error::lost));
        }
    }

    lab& at;
    std::string name;
    tasks all;
    section critical;
    std::list<member> members;
    member* last = nullptr;
    std::uint64_t last_token = 0;
    bool ended = false;
};

BOOST_AUTO_TEST_SUITE(turns)

BOOST_DATA_TEST_CASE(between_clients_all_have_their_turn, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect(), &at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        crowd those{at, unique_name("four-clients")};
        for (auto* c : clients)
            those.add(*c, c == clients.front() ? 100 : 2);
        auto const fewest = [&] {
            return std::ranges::min(those.members, {}, [](auto const& m) { return m.turns; }).turns;
        };
        bool const fed = co_await eventually([&] { return fewest() >= 20; }, 15s);
        those.ended = true;
        co_await those.all.join(10s);
        BOOST_TEST(fed);
        for (auto const& m : those.members)
            BOOST_TEST(m.turns <= 5 * fewest());
    });
}

BOOST_DATA_TEST_CASE(who_polls_gets_in_too, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& hungry = at.connect();
    auto& other = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        crowd those{at, unique_name("poller")};
        those.add(hungry, 50);
        lock const polled{other.client, those.name};
        std::optional<hold> held;
        asio::steady_timer pause{at.context()};
        for (int i = 0; i != 2'000 && !held; ++i) {
            pause.expires_after(5ms);
            co_await pause.async_wait(asio::deferred);
            held = co_await polled.try_acquire();
        }
        BOOST_TEST(held.has_value());
        those.ended = true;
        held.reset();
        co_await those.all.join(5s);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
