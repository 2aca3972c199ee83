// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How fast the counters of fencing tokens rise: never further ahead of the server's clock than by a
// block, or the tokens after a lost counter would be below those before.
#include "decide/names.hpp"
#include "integration/suites.hpp"
#include "support/scripted_server.hpp"
#include "support/seed.hpp"
#include "support/virtual_time.hpp"
#include <colock/spin_lock.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
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
            load << ": " << those.holds << " holds; behind the clock " << behind << " us"
        );
        BOOST_TEST(behind > -4'096);
        asio::steady_timer margin{at.context(), 25ms};  // docs/guarantees.md
        co_await margin.async_wait(asio::deferred);
        server.ask("FLUSHALL");
        BOOST_TEST(co_await token_of(any) > last);
    };
    at.run(test, lasts + 20s);
}

BOOST_AUTO_TEST_SUITE_END()

// How often a server is asked that says no for a long time. The time of these tests is virtual: it
// moves on when neither the client nor a server has anything left to do.

/// A client in virtual time, and servers that have answered before time goes on.
struct paced_client {
    paced_client(config const& where, std::vector<scripted_server const*> with)
        : settings{where}
        , servers{std::move(with)}
    {
        settings.log = lines.sink();
        settings.links = 1;
        redis.emplace(context.get_executor(), settings);
        redis->run(asio::detached);
    }
    ~paced_client()
    {
        redis.reset();
        time.settle();
    }

    void pass(milliseconds how_long)
    {
        for (milliseconds passed{0}; passed < how_long; passed += 10ms) {
            auto const before = time.handlers();
            time.advance(10ms);
            if (time.handlers() != before)  // or nothing was sent
                settle();
        }
    }

    /// Until neither side has anything to do.
    void settle()
    {
        do {
            time.settle();
            for (auto const* each : servers)
                each->catch_up();
        } while (time.step());
    }

    /// False if it doesn't come true within this time.
    bool pass_until(milliseconds limit, std::function<bool()> const& is_so)
    {
        for (milliseconds passed{0}; passed < limit && !is_so(); passed += 10ms)
            pass(10ms);
        return is_so();
    }

    /// How many more there are after this time.
    std::size_t growth(milliseconds time_to_pass, std::function<std::size_t()> const& count)
    {
        auto const before = count();
        pass(time_to_pass);
        return count() - before;
    }

    config settings;
    std::vector<scripted_server const*> servers;
    log_lines lines;
    asio::io_context context{1};
    virtual_time time{context};
    std::optional<client> redis;
};

inline void start_acquire(paced_client& of, std::string name, bool& got)
{
    asio::co_spawn(
        of.context,
        [&of, name = std::move(name), &got]() -> asio::awaitable<void> {
            co_await lock{*of.redis, name}.acquire(tuple);
            got = true;
        },
        asio::detached
    );
}

inline config with_password(config where)
{
    where.password = "wrong";
    return where;
}

/// A client that waits for a lock, and a server that refuses its password.
struct refused_client {
    refused_client() { start_acquire(at, unique_name("pace"), refused); }

    static std::optional<scripted_server::answer> refuse(scripted_server::command const& c)
    {
        if (!c.is("HELLO"))
            return std::nullopt;
        return scripted_server::answer{wire::failure("WRONGPASS invalid username-password pair")};
    }

    /// How many commands have carried a password.
    std::size_t passwords() const
    {
        auto const heard = server.heard();
        return static_cast<std::size_t>(std::ranges::count_if(heard, [](auto const& c) {
            return std::ranges::find(c.said, "AUTH") != c.said.end();
        }));
    }

    scripted_server server{refuse};
    bool refused = false;
    paced_client at{with_password(server.by_port()), {&server}};
};

BOOST_AUTO_TEST_SUITE(paces)

BOOST_FIXTURE_TEST_CASE(a_refused_password_is_tried_ever_more_rarely, refused_client)
{
    auto const count = [&] { return passwords(); };
    auto const first = at.growth(10s, count);
    BOOST_TEST(first >= 2U);
    BOOST_TEST(first <= 10U);
    at.pass(50s);
    auto const late = at.growth(60s, count);
    BOOST_TEST(late >= 2U);
    BOOST_TEST(late <= 12U);
}

BOOST_FIXTURE_TEST_CASE(a_mended_password_is_found_without_a_restart, refused_client)
{
    at.pass(60s);
    BOOST_TEST(refused);
    server.say({});
    bool const is_up = at.pass_until(60s, [&] { return at.redis->stats().links_up == 1; });
    BOOST_TEST(is_up);
}

BOOST_AUTO_TEST_CASE(the_map_is_asked_for_once_a_second_while_a_node_is_down)
{
    scripted_server up, down;
    for (auto* each : {&up, &down})
        each->serve({{0, 8'191, up.port()}, {8'192, 16'383, down.port()}});
    auto where = up.by_port();
    where.topology = topology::cluster;
    paced_client at{where, {&up, &down}};
    auto name = unique_name("pace");
    while (decide::slot_of(name) < 8'192)
        name = unique_name("pace");
    down.listen(false);
    bool got = false;
    start_acquire(at, name, got);
    at.pass(10s);
    auto const asked = at.growth(20s, [&] { return up.count("CLUSTER"); });
    BOOST_TEST(asked <= 25U);
    BOOST_TEST(!got);
    down.listen(true);
    BOOST_TEST(at.pass_until(5s, [&] { return got; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
