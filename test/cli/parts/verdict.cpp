// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Whether a failover can lose a lock: the table of docs/production.md, a case for each row.
#include "verdict.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace {

using namespace std::chrono_literals;
using colock::durability;
using colock::topology;
using failover_loss = failover_verdict::loss;
using row_state = failover_condition::state;

/// A primary and two replicas under three Sentinels, as they should be for a majority.
failover_facts good(durability profile = durability::majority)
{
    failover_facts f;
    f.profile = profile;
    f.replicas = 2;
    f.lease = 30s;
    f.topology = topology::sentinel;
    f.are_paused = true;
    f.sentinels = 3;
    f.quorum = 2;
    for (char const* place : {"a:1", "b:2", "c:3"})
        f.servers.push_back({place, "noeviction", true, 2, 5, 100, 0us});
    return f;
}

/// What spoils one row, and whether it is one that counts although all replicas have each lock.
struct spoiled {
    std::string_view row;
    bool is_for_all;
    row_state is;
    std::function<void(failover_facts&)> spoil;
};

std::vector<spoiled> const& rows()
{
    static std::vector<spoiled> const all{
        {"priority", false, row_state::violated, [](auto& f) { f.servers[2].priority = 10; }},
        {"priority", false, row_state::not_told, [](auto& f) { f.servers[1].priority = {}; }},
        {"paused", false, row_state::not_told, [](auto& f) { f.are_paused = false; }},
        {"min-replicas",
         false,
         row_state::violated,
         [](auto& f) { f.servers[0].min_replicas = 1; }},
        {"cut-off", true, row_state::violated, [](auto& f) { f.servers[1].min_replicas = 0; }},
        {"cut-off", true, row_state::not_told, [](auto& f) { f.servers[1].min_replicas = {}; }},
        {"lag", true, row_state::violated, [](auto& f) { f.servers[0].max_lag = 10; }},
        {"lag", true, row_state::violated, [](auto& f) { f.servers[0].max_lag = 0; }},
        {"lag", true, row_state::not_told, [](auto& f) { f.servers[2].max_lag = {}; }},
        {"sentinels", false, row_state::violated, [](auto& f) { f.sentinels = 2; }},
        {"sentinels", false, row_state::violated, [](auto& f) { f.quorum = 1; }},
        {"sentinels", false, row_state::not_told, [](auto& f) { f.quorum = {}; }},
        {"aof", true, row_state::violated, [](auto& f) { f.servers[2].has_aof = false; }},
        {"aof", true, row_state::not_told, [](auto& f) { f.servers[0].has_aof = {}; }},
        {"eviction",
         true,
         row_state::violated,
         [](auto& f) { f.servers[1].eviction = "allkeys-lru"; }},
        {"eviction", true, row_state::not_told, [](auto& f) { f.servers[1].eviction = {}; }},
        {"clocks", true, row_state::violated, [](auto& f) { f.servers[1].clock = 2s; }},
        {"clocks", true, row_state::violated, [](auto& f) { f.servers[1].clock = -152ms; }},
        {"clocks", true, row_state::not_told, [](auto& f) { f.servers[2].clock = {}; }},
        {"aof", true, row_state::not_told, [](auto& f) { f.servers.pop_back(); }}};
    return all;
}

failover_condition const& row_of(failover_verdict const& v, std::string_view name)
{
    auto const at = std::ranges::find(v.conditions, name, &failover_condition::name);
    BOOST_TEST_REQUIRE((at != v.conditions.end()), name);
    return *at;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failover_verdicts)

BOOST_AUTO_TEST_CASE(a_majority_stands_one_fault_and_all_stand_any)
{
    BOOST_TEST((judge_failover(good()).can_lose == failover_loss::not_by_one_fault));
    auto const on_disk = judge_failover(good(durability::disk));
    BOOST_TEST((on_disk.can_lose == failover_loss::not_by_one_fault));
    BOOST_TEST((judge_failover(good(durability::all)).can_lose == failover_loss::no));
    for (auto const& c : judge_failover(good()).conditions)
        BOOST_TEST((c.is == row_state::met), c.name << ": " << c.found);
}

BOOST_AUTO_TEST_CASE(less_than_a_majority_can_always_be_lost)
{
    auto none = judge_failover(good(durability::none));
    BOOST_TEST((none.can_lose == failover_loss::yes));
    BOOST_TEST((row_of(none, "profile").is == row_state::violated));
    BOOST_TEST(row_of(none, "profile").found == "none: 0 of 2 replicas");
    auto many = good(durability::replica);
    // Of two replicas it is one.
    BOOST_TEST((judge_failover(many).can_lose == failover_loss::not_by_one_fault));
    many.replicas = 3;
    many.servers.push_back(many.servers.back());
    for (auto& each : many.servers)
        each.min_replicas = 3;
    BOOST_TEST((judge_failover(many).can_lose == failover_loss::yes));
    many.profile = durability::majority;
    BOOST_TEST((judge_failover(many).can_lose == failover_loss::not_by_one_fault));
}

BOOST_AUTO_TEST_CASE(each_row_alone_makes_a_majority_lose)
{
    for (auto const& each : rows()) {
        auto facts = good();
        each.spoil(facts);
        auto const said = judge_failover(facts);
        BOOST_TEST((said.can_lose == failover_loss::yes), each.row);
        auto const& row = row_of(said, each.row);
        BOOST_TEST((row.is == each.is), each.row << ": " << row.found);
        BOOST_TEST(!row.found.empty());
        BOOST_TEST(row.is_for_all == each.is_for_all, each.row);
    }
}

BOOST_AUTO_TEST_CASE(with_all_of_them_only_some_rows_count)
{
    for (auto const& each : rows()) {
        auto facts = good(durability::all);
        each.spoil(facts);
        bool const is_no = judge_failover(facts).can_lose == failover_loss::no;
        BOOST_TEST(is_no != each.is_for_all, each.row);
    }
}

BOOST_AUTO_TEST_CASE(without_replicas_nothing_fails_over)
{
    auto alone = good(durability::none);
    alone.replicas = 0;
    alone.servers.resize(1);
    auto const said = judge_failover(alone);
    BOOST_TEST((said.can_lose == failover_loss::no));
    BOOST_TEST(!said.can_fail_over);
}

BOOST_AUTO_TEST_CASE(one_replica_is_a_majority_and_all)
{
    auto pair = good();
    pair.replicas = 1;
    pair.servers.pop_back();
    for (auto& each : pair.servers)
        each.min_replicas = 1;
    BOOST_TEST((judge_failover(pair).can_lose == failover_loss::no));
    pair.are_paused = false;
    BOOST_TEST((judge_failover(pair).can_lose == failover_loss::no));
}

BOOST_AUTO_TEST_CASE(a_cluster_has_no_priorities_and_no_sentinels)
{
    auto facts = good();
    facts.topology = topology::cluster;
    facts.sentinels = {};
    facts.servers[1].priority = 7;
    BOOST_TEST((judge_failover(facts).can_lose == failover_loss::not_by_one_fault));
}

BOOST_AUTO_TEST_CASE(short_leases_want_shorter_lags_and_closer_clocks)
{
    auto facts = good();
    facts.lease = 10s;
    BOOST_TEST((row_of(judge_failover(facts), "lag").is == row_state::violated));
    for (auto& each : facts.servers)
        each.max_lag = 3;
    BOOST_TEST((row_of(judge_failover(facts), "lag").is == row_state::met));
    facts.servers[1].clock = 51ms;
    BOOST_TEST((row_of(judge_failover(facts), "clocks").is == row_state::met));
    facts.servers[2].clock = -1ms;
    BOOST_TEST((row_of(judge_failover(facts), "clocks").is == row_state::violated));
    BOOST_TEST(row_of(judge_failover(facts), "clocks").found == "52 ms apart");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cli
