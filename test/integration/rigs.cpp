// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What other tests take for granted of clusters, sentinels and TLS servers.
#include "integration/suites.hpp"
#include "support/redis_cluster.hpp"
#include "support/sentinel_group.hpp"
#include "support/tls_files.hpp"

namespace colock::test {

namespace {

/// The first word of an error, else nothing.
std::string code_of(reply const& answer)
{
    if (answer.what != reply::kind::error)
        return {};
    return answer.text.substr(0, answer.text.find(' '));
}

std::string moved_to(unsigned slot, redis_server const& there)
{
    return "MOVED " + std::to_string(slot) + " 127.0.0.1:" + std::to_string(there.port());
}

std::string ask_at(unsigned slot, redis_server const& there)
{
    return "ASK " + std::to_string(slot) + " 127.0.0.1:" + std::to_string(there.port());
}

/// A slot in the middle of its migration: the keys are {t}stays and {t}moved.
struct half_migrated {
    explicit half_migrated(server_kind kind) : cluster{kind, 3, 0}
    {
        source().ask("SET", "{t}stays", "1");
        source().ask("SET", "{t}moved", "1");
        cluster.begin_migration(slot, to);
        BOOST_REQUIRE(cluster.move_key("{t}moved", to));
    }

    redis_server& source() { return cluster.node(from); }
    redis_server& target() { return cluster.node(to); }

    /// A script that does nothing with these keys.
    template <class... Keys>
    reply eval_at_source(Keys const&... keys)
    {
        return source().ask("EVAL", "return 7", std::to_string(sizeof...(keys)), keys...);
    }

    template <class... Words>
    reply ask_target(Words const&... words)
    {
        BOOST_TEST(target().ask("ASKING").text == "OK");
        return target().ask(words...);
    }

    redis_cluster cluster;
    unsigned slot = cluster.slot_of("{t}stays");
    std::size_t from = cluster.primary_of(slot);
    std::size_t to = (from + 1) % 3;
};

void check_source(half_migrated& at)
{
    auto const there = ask_at(at.slot, at.target());
    BOOST_TEST(at.source().ask("GET", "{t}stays").text == "1");
    BOOST_TEST(at.source().ask("GET", "{t}moved").text == there);
    BOOST_TEST(at.source().ask("SET", "{t}new", "1").text == there);
    BOOST_TEST(at.eval_at_source("{t}stays").number == 7);
    BOOST_TEST(at.eval_at_source("{t}moved").text == there);
    BOOST_TEST(at.eval_at_source("{t}moved", "{t}new").text == there);
    BOOST_TEST(code_of(at.eval_at_source("{t}stays", "{t}moved")) == "TRYAGAIN");
    BOOST_TEST(code_of(at.eval_at_source("{t}stays", "{t}new")) == "TRYAGAIN");
    BOOST_TEST(code_of(at.source().ask("PUBLISH", "{t}channel", "x")).empty());
    BOOST_TEST(code_of(at.source().ask("SPUBLISH", "{t}channel", "x")).empty());
}

void check_target(half_migrated& at)
{
    auto const back = moved_to(at.slot, at.source());
    BOOST_TEST(at.target().ask("GET", "{t}moved").text == back);
    BOOST_TEST(at.ask_target("GET", "{t}moved").text == "1");
    BOOST_TEST(at.target().ask("GET", "{t}moved").text == back);  // it was for one command
    BOOST_TEST((at.ask_target("GET", "{t}stays").what == reply::kind::nil));
    BOOST_TEST(at.ask_target("EVAL", "return 7", "1", "{t}new").number == 7);
    BOOST_TEST(
        code_of(at.ask_target("EVAL", "return 7", "2", "{t}moved", "{t}stays")) == "TRYAGAIN"
    );
    BOOST_TEST(code_of(at.target().ask("SPUBLISH", "{t}channel", "x")) == "MOVED");
    auto const unknown = std::string(40, '0');
    BOOST_TEST(code_of(at.target().ask("EVALSHA", unknown, "1", "{t}moved")) == "MOVED");
    BOOST_TEST(code_of(at.ask_target("EVALSHA", unknown, "1", "{t}moved")) == "NOSCRIPT");
}

/// The servers look at declared keys before a script runs, and at others only when it touches them.
void check_undeclared_keys(half_migrated& at)
{
    std::string const script =
        "redis.call('SET', KEYS[1], 'written')"
        "return redis.call('GET', ARGV[1])";
    auto const refused = at.source().ask("EVAL", script, "1", "{t}stays", "{t}moved");
    BOOST_TEST(
        refused.text.find("ttempted to access a non local key in a cluster node") !=
            std::string::npos,
        refused.text
    );
    BOOST_TEST(at.source().ask("GET", "{t}stays").text == "written");
    // The target takes a key that it doesn't have yet for one that doesn't exist.
    auto const missed = at.ask_target("EVAL", script, "1", "{t}moved", "{t}stays");
    BOOST_TEST((missed.what == reply::kind::nil));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rigs)

BOOST_DATA_TEST_CASE(cluster_forms, each_server(), kind)
{
    stopwatch const watch;
    redis_cluster cluster{kind};
    BOOST_TEST_MESSAGE(kind << ": a cluster of 6 after " << watch.ms() << " ms");
    BOOST_TEST(cluster.size() == 6U);
    BOOST_TEST(cluster.addresses().at(5).port == cluster.node(5).port());
    BOOST_TEST(cluster.primary_of(0) == 0U);
    BOOST_TEST(cluster.primary_of(8'000) == 1U);
    BOOST_TEST(cluster.primary_of(16'383) == 2U);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST_REQUIRE(cluster.replicas_of(i).size() == 1U);
        BOOST_TEST(cluster.replicas_of(i).front() == i + 3);
    }
    auto const slot = cluster.slot_of("key");
    auto const owner = cluster.primary_of(slot);
    BOOST_TEST(cluster.node(owner).ask("SET", "key", "1").text == "OK");
    auto const there = moved_to(slot, cluster.node(owner));
    BOOST_TEST(cluster.node((owner + 1) % 3).ask("GET", "key").text == there);
    BOOST_TEST(cluster.node(owner + 3).ask("GET", "key").text == there);
}

BOOST_DATA_TEST_CASE(slot_moves_with_its_keys, each_server(), kind)
{
    redis_cluster cluster{kind};
    auto const slot = cluster.slot_of("{t}");
    auto const from = cluster.primary_of(slot);
    auto const to = (from + 1) % 3;
    for (int i = 0; i != 35; ++i)
        cluster.node(from).ask("SET", "{t}" + std::to_string(i), "1");
    std::vector<migration_step> steps;
    cluster.migrate(slot, to, [&](migration_step step) { steps.push_back(step); });

    BOOST_TEST(steps.size() == 3U);
    BOOST_TEST(cluster.primary_of(slot) == to);
    BOOST_TEST(cluster.node(to).ask("DBSIZE").number == 35);
    BOOST_TEST(cluster.node(from).ask("DBSIZE").number == 0);
    BOOST_TEST(cluster.node(to).ask("GET", "{t}34").text == "1");
    auto const there = moved_to(slot, cluster.node(to));
    BOOST_TEST(cluster.node(from).ask("GET", "{t}34").text == there);
    BOOST_TEST(cluster.node((from + 2) % 3).ask("GET", "{t}34").text == there);
}

BOOST_DATA_TEST_CASE(slot_in_the_middle_of_its_migration, each_server(), kind)
{
    half_migrated at{kind};
    check_source(at);
    check_target(at);
    check_undeclared_keys(at);
}

BOOST_DATA_TEST_CASE(cluster_fails_over, each_server(), kind)
{
    redis_cluster cluster{kind};
    auto const slot = cluster.slot_of("key");
    auto const first = cluster.primary_of(slot);
    auto& old = cluster.node(first);
    old.ask("SET", "key", "1");
    BOOST_TEST(old.ask("WAIT", "1", "2000").number == 1);

    stopwatch const watch;
    cluster.kill(first);
    auto const second = cluster.wait_for_failover(slot, first, 15s);
    BOOST_TEST_MESSAGE(kind << ": a cluster's failover after " << watch.ms() << " ms");
    BOOST_TEST(second == first + 3);
    BOOST_TEST(cluster.node(second).ask("GET", "key").text == "1");

    cluster.revive(first);
    BOOST_TEST(cluster.primary_of(slot) == second);
    BOOST_TEST_REQUIRE(cluster.replicas_of(second).size() == 1U);
    BOOST_TEST(cluster.replicas_of(second).front() == first);
    BOOST_TEST(old.ask("GET", "key").text == moved_to(slot, cluster.node(second)));
}

BOOST_DATA_TEST_CASE(sentinels_fail_over, each_server(), kind)
{
    stopwatch const formed;
    sentinel_group group{kind};
    BOOST_TEST_MESSAGE(kind << ": sentinels after " << formed.ms() << " ms");
    BOOST_TEST(group.addresses().size() == 3U);
    BOOST_TEST(group.current_primary() == 0U);
    group.server(0).ask("SET", "key", "1");
    BOOST_TEST(group.server(0).ask("WAIT", "2", "2000").number == 2);

    stopwatch const watch;
    auto const old = group.kill_primary();
    auto const now = group.wait_for_failover(old);
    BOOST_TEST_MESSAGE(kind << ": the sentinels' failover after " << watch.ms() << " ms");
    BOOST_TEST(old == 0U);
    BOOST_TEST(now != old);
    BOOST_TEST(group.server(now).ask("GET", "key").text == "1");
    BOOST_TEST(group.server(now).ask("SET", "key", "2").text == "OK");

    group.revive(old);
    BOOST_TEST(group.current_primary() == now);
    BOOST_TEST(group.server(old).ask("GET", "key").text == "2");
    BOOST_TEST(code_of(group.server(old).ask("SET", "key", "3")) == "READONLY");
}

BOOST_DATA_TEST_CASE(sentinels_with_passwords, each_server(), kind)
{
    sentinel_group group{
        kind,
        {"requirepass data", "masterauth data"},
        {"requirepass watch", "sentinel auth-pass " + sentinel_group::name() + " data"}};
    BOOST_TEST(group.current_primary() == 0U);
    group.pause_replica(1);
    BOOST_TEST(!group.server(1).is_running());
    group.server(1).resume();
    group.sentinel(2).kill();
    BOOST_TEST(group.current_primary() == 0U);
    group.revive_sentinel(2);
    BOOST_TEST(group.sentinel(2).ask("SENTINEL", "CKQUORUM", group.name()).text.starts_with("OK"));
}

BOOST_DATA_TEST_CASE(tls_server_and_its_names, each_server(), kind)
{
    tls_files const files{{"server.test", "127.0.0.1", "::1"}};
    reserved_port const port;
    redis_server server{kind, tls_lines(files, port)};
    for (auto const* name : {"server.test", "127.0.0.1", "::1"}) {
        auto const fine = tls_ping(files, port, files.ca, name, false);
        BOOST_TEST(fine.error == "");
        BOOST_TEST(fine.pong == "+PONG");
    }
    BOOST_TEST(tls_ping(files, port, files.ca, "server.test", true).pong == "+PONG");
    for (auto const* name : {"localhost", "127.0.0.2"})
        BOOST_TEST(tls_ping(files, port, files.ca, name, false).error.ends_with("mismatch"));
    auto const stranger = tls_ping(files, port, files.other_ca, "server.test", false);
    BOOST_TEST(stranger.error.find("certificate") != std::string::npos);
    BOOST_TEST(tls_ping(files, server.port(), files.ca, "server.test", false).error != "");
}

BOOST_DATA_TEST_CASE(tls_server_that_demands_certificates, each_server(), kind)
{
    tls_files const files;
    reserved_port const port;
    redis_server const server{kind, tls_lines(files, port, client_certificates::demanded)};
    BOOST_TEST(tls_ping(files, port, files.ca, "localhost", true).pong == "+PONG");
    auto const refused = tls_ping(files, port, files.ca, "localhost", false);
    BOOST_TEST(refused.error != "");
    BOOST_TEST(refused.pong == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
