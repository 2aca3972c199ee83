// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the nodes of a cluster may answer when they are asked for the map, or for a lock: nothing,
// a refusal, or that they are not the ones to ask.
#include "decide/names.hpp"
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/redis_cluster.hpp"
#include "support/scripted_server.hpp"
#include <colock/lock_watch.hpp>

#include <memory>
#include <set>
#include <variant>

namespace colock::test {

/// Counts what happens to the links of a client.
struct link_diary final : observer {
    void on_event(client_event const& what) noexcept override
    {
        if (auto const* const is_up = std::get_if<events::link_up>(&what))
            up.insert(is_up->link);
        else if (std::holds_alternative<events::link_down>(what))
            ++downs;
    }

    std::set<std::size_t> up;
    int downs = 0;
};

/// Two nodes that share all slots, and one that has none. All of them know the map.
struct scripted_cluster {
    static constexpr unsigned half = 8'192;

    scripted_cluster()
    {
        for (auto* each : {&low, &high, &spare})
            tell_map(*each);
    }

    void tell_map(scripted_server& node) const
    {
        node.serve({{0, half - 1, low.port()}, {half, 2 * half - 1, high.port()}});
    }
    static void forget_map(scripted_server& node) { node.serve({}); }

    config by(std::vector<scripted_server const*> const& seeds) const
    {
        config c;
        c.topology = topology::cluster;
        c.addresses.clear();
        for (auto const* each : seeds)
            c.addresses.push_back(each->where());
        return c;
    }

    static std::string name_at(bool is_high)
    {
        auto name = unique_name("map");
        while ((decide::slot_of(name) >= half) != is_high)
            name = unique_name("map");
        return name;
    }

    scripted_server low, high, spare;
};

/// Whether a lock there can be had and given back soon.
inline asio::awaitable<bool> serves(client& redis, std::string name)
{
    auto [ec, held] = co_await lock{redis, std::move(name)}.try_acquire_for(2s, tuple);
    BOOST_TEST(!ec, ec.message());
    if (!held)
        co_return false;
    co_await held->release(tuple);
    co_return true;
}

BOOST_AUTO_TEST_SUITE(cluster_maps)

/// What a node tells that is no map of the whole cluster: it has forgotten the others, or has just
/// joined and knows some of them.
using odd_map = void (*)(scripted_cluster&);

inline void forget(scripted_cluster& nodes) { scripted_cluster::forget_map(nodes.spare); }

inline void tell_a_part(scripted_cluster& nodes)
{
    for (auto* each : {&nodes.spare, &nodes.low, &nodes.high})
        each->serve({{scripted_cluster::half, 16'383, nodes.high.port()}});
}

inline void closes_no_connection(odd_map tell)
{
    scripted_cluster nodes;
    lab at{nodes.by({&nodes.spare, &nodes.low})};
    auto settings = at.settings();
    auto const seen = std::make_shared<link_diary>();
    settings.observer = seen;
    settings.lease = 10s;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(false)));
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(true)));
        hold held = co_await lock{redis.client, nodes.name_at(false)}.acquire();
        tell(nodes);
        auto const asked = [&] {
            return nodes.spare.count("CLUSTER") + nodes.low.count("CLUSTER") +
                nodes.high.count("CLUSTER");
        };
        auto const before = asked();
        nodes.high.cut();
        BOOST_TEST(co_await eventually([&] { return asked() > before; }));
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(true)));
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(false)));
        BOOST_TEST(bool{held});
        BOOST_TEST(seen->downs == 1, "links lost: " << seen->downs << "\n" << redis.log->all());
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(an_empty_map_closes_no_connection) { closes_no_connection(&forget); }

BOOST_AUTO_TEST_CASE(a_part_of_a_map_closes_no_connection) { closes_no_connection(&tell_a_part); }

BOOST_AUTO_TEST_CASE(the_only_seed_forgets_the_map)
{
    scripted_cluster nodes;
    lab at{nodes.by({&nodes.spare})};
    auto settings = at.settings();
    auto const seen = std::make_shared<link_diary>();
    settings.observer = seen;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(false)));
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(true)));
        nodes.forget_map(nodes.spare);
        for (int i = 0; i != 2; ++i) {
            auto const before = seen->downs;
            nodes.high.cut();
            BOOST_TEST(co_await eventually([&] { return seen->downs > before; }));
            BOOST_TEST(co_await serves(redis.client, nodes.name_at(true)), redis.log->all());
            BOOST_TEST(co_await serves(redis.client, nodes.name_at(false)), redis.log->all());
        }
    });
}

/// Only the watch uses its node, so no command link is open there. The node fails before the watch
/// listens or after that, and the first answers are from before the failover.
inline void a_watch_follows(bool has_listened, void (*fail)(scripted_server&))
{
    scripted_cluster nodes;
    lab at{nodes.by({&nodes.spare})};
    auto settings = at.settings();
    settings.lease =
        60s;  // so a connection attempt that is not answered takes longer than this test
    auto& redis = at.connect(settings);
    auto const asked = [&] { return nodes.spare.count("CLUSTER") + nodes.low.count("CLUSTER"); };
    at.run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await serves(redis.client, nodes.name_at(false)));
        if (!has_listened) {
            fail(nodes.high);
            co_await time_passes(500ms);  // after which nothing asks for the map any more
        }
        lock_watch const watch{lock{redis.client, nodes.name_at(true)}};
        if (has_listened) {
            auto const first = co_await watch.next();
            BOOST_TEST((first.what == lock_event::kind::live));
            fail(nodes.high);
        }
        auto const before = asked();
        BOOST_TEST(co_await eventually([&] { return asked() > before + 3; }));
        for (auto* each : {&nodes.spare, &nodes.low})
            each->serve({{0, 2 * scripted_cluster::half - 1, nodes.low.port()}});
        auto const next = co_await watch.next(asio::cancel_after(within(3s)));
        BOOST_TEST((next.what == lock_event::kind::live));
    });
}

inline void refuse_all(scripted_server& node) { node.listen(false); }

inline void answer_nothing(scripted_server& node)
{
    node.say([](auto const&) { return scripted_server::answer{""}; });
    node.cut();
}

BOOST_AUTO_TEST_CASE(a_watch_follows_when_its_node_is_gone) { a_watch_follows(true, &refuse_all); }

BOOST_AUTO_TEST_CASE(a_watch_follows_when_its_node_answers_nothing)
{
    a_watch_follows(true, &answer_nothing);
}

BOOST_AUTO_TEST_CASE(a_watch_follows_when_its_node_was_never_there)
{
    a_watch_follows(false, &refuse_all);
}

BOOST_AUTO_TEST_CASE(no_node_has_a_map)
{
    scripted_cluster nodes;
    for (auto* each : {&nodes.low, &nodes.high, &nodes.spare})
        nodes.forget_map(*each);
    lab at{nodes.by({&nodes.spare, &nodes.low, &nodes.high})};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        hold held;
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            held = co_await lock{redis.client, nodes.name_at(true)}.acquire();
        });
        std::string_view const complaint = "no node knows of any slots";
        bool const said = co_await eventually([&] { return redis.log->count(complaint) != 0; });
        BOOST_TEST(said, "no line says so:\n" << redis.log->all());
        for (auto const* each : {&nodes.low, &nodes.high, &nodes.spare})
            BOOST_TEST(each->count("CLUSTER") > 0U);
        co_await time_passes(2s);
        BOOST_TEST(redis.log->count(complaint) == 1U, redis.log->all());
        BOOST_TEST(redis.log->count("no connection") <= 10U, redis.log->all());
        BOOST_TEST(!held);
        nodes.tell_map(nodes.low);
        co_await waiting.join(within(3s));
        BOOST_TEST(bool{held});
    });
}

/// Ways to refuse a client.
inline scripted_server::script refusing(std::string verb, std::string words, bool closes)
{
    return [=](scripted_server::command const& c) -> std::optional<scripted_server::answer> {
        if (!c.is(verb))
            return std::nullopt;
        scripted_server::answer what{wire::failure(words)};
        what.is_last = closes;
        return what;
    };
}

inline std::vector<std::pair<std::string, scripted_server::script>> refusals_of_seeds()
{
    return {
        {"password", refusing("HELLO", "WRONGPASS invalid username-password pair", false)},
        {"full", refusing("HELLO", "ERR max number of clients reached", true)},
        {"no rights", refusing("CLUSTER", "NOPERM no permissions to run 'cluster'", false)},
        {"no member",
         refusing("CLUSTER", "ERR This instance has cluster support disabled", false)}};
}

BOOST_AUTO_TEST_CASE(a_seed_that_refuses_is_passed_over)
{
    for (auto const& [what, script] : refusals_of_seeds()) {
        BOOST_TEST_CONTEXT("the first seed refuses: " << what)
        {
            scripted_cluster nodes;
            nodes.spare.say(script);
            lab at{nodes.by({&nodes.spare, &nodes.low})};
            auto& redis = at.connect();
            at.run([&]() -> asio::awaitable<void> {
                auto [ec, held] = co_await lock{redis.client, nodes.name_at(true)}.acquire(
                    asio::cancel_after(3s, tuple)
                );
                BOOST_TEST(!ec, ec.message());
                BOOST_TEST(bool{held});
                BOOST_TEST(nodes.spare.connections() > 0U);
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(seeds_that_all_refuse_are_a_refusal)
{
    scripted_cluster nodes;
    for (auto* each : {&nodes.spare, &nodes.low})
        each->say(refusing("HELLO", "WRONGPASS invalid username-password pair", false));
    lab at{nodes.by({&nodes.spare, &nodes.low})};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const [ec, none] =
            co_await lock{redis.client, nodes.name_at(true)}.acquire(asio::cancel_after(3s, tuple));
        BOOST_TEST((ec == error::server_refused), ec.message());
        BOOST_TEST(nodes.spare.connections() > 0U);
        BOOST_TEST(nodes.low.connections() > 0U);
    });
}

BOOST_DATA_TEST_CASE(links_of_a_node_have_different_numbers, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    lab at{cluster};
    auto settings = at.settings();
    auto const seen = std::make_shared<link_diary>();
    settings.observer = seen;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = "{" + unique_name("numbers") + "}";
        auto& server = cluster.node(cluster.primary_of(cluster.slot_of(name)));
        hold synced = co_await lock{redis.client, name}.acquire({.sync_replicas = 1});
        hold held = co_await lock{redis.client, name + "held"}.acquire();
        server.ask("HSET", name + "theirs", "11111111-2222-3333-4444-555555555555:1", "1");
        BOOST_TEST(is_refused(co_await lock{redis.client, name + "theirs"}.try_acquire_for(300ms)));
        server.ask("DEL", name + "theirs");
        // A command link, and the one for pub/sub.
        BOOST_TEST(redis.client.stats().links_up == 2U);
        BOOST_TEST(seen->up.size() == 2U, "numbers that came up: " << seen->up.size());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
