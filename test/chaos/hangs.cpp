// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Servers that hang, machines that are gone, names that do not resolve, and a server that is full,
// while processes work.
#include "chaos/ordeals.hpp"
#include "chaos/trials.hpp"
#include "support/places.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace colock::test {

/// A replica has each lock before it is granted, so the loss of a primary costs no exclusion.
inline constexpr contest_plan with_a_replica{.sync_replicas = 1};

/// Programs that start while this lives know a name that hangs for 12 s.
class hanging_name {
public:
    hanging_name()
    {
        ::setenv("LD_PRELOAD", beside_this_program("libcolock-host-names.so").c_str(), 1);
        ::setenv("COLOCK_HOST_NAMES", "hangs.test=12000", 1);
    }
    hanging_name(hanging_name const&) = delete;
    hanging_name& operator=(hanging_name const&) = delete;
    ~hanging_name()
    {
        ::unsetenv("LD_PRELOAD");
        ::unsetenv("COLOCK_HOST_NAMES");
    }

    static address where() { return {.host = "hangs.test", .port = 1}; }
};

/// No library can be loaded before the runtime of a sanitizer.
inline boost::test_tools::assertion_result names_can_be_given(boost::unit_test::test_unit_id)
{
    return COLOCK_SANITIZED == 0;
}

inline auto where_names_can_be_given()
{
    return boost::unit_test::precondition(names_can_be_given);
}

inline void finish(sentinel_ordeal& all, std::string const& title)
{
    all.finish(title);
    BOOST_TEST(all.board().count().overlaps == 0);
}

BOOST_AUTO_TEST_SUITE(hangs)

// The lease is short, so that the clients notice before the Sentinels do and try the same primary
// again. More Sentinels than there are must not make a try longer.
BOOST_DATA_TEST_CASE(a_primary_under_sentinels_stands_still, each_server(), kind)
{
    std::array<reserved_port, 5> const ports;
    std::vector<address> dead;
    for (auto const& port : ports)
        dead.push_back({.host = "127.0.0.1", .port = port});
    sentinel_ordeal all{kind, {.lease_ms = 4'000, .sync_replicas = 1}, dead};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.hang();
    finish(all, "SIGSTOP of the primary");
}

BOOST_DATA_TEST_CASE(the_machine_of_a_primary_is_gone, each_server(), kind)
{
    sentinel_ordeal all{kind, with_a_replica};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.power_off();
    finish(all, "the primary's machine without power");
}

BOOST_DATA_TEST_CASE(a_sentinel_is_gone_while_primaries_are_killed, each_server(), kind)
{
    reserved_port const port;
    black_hole const gone{"127.0.0.2", port};
    sentinel_ordeal all{kind, with_a_replica, {{.host = "127.0.0.2", .port = port}}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    finish(all, "SIGKILL of the primary, the first Sentinel gone");
}

BOOST_TEST_DECORATOR(*where_names_can_be_given())
BOOST_DATA_TEST_CASE(the_name_of_a_sentinel_hangs, each_server(), kind)
{
    hanging_name const name;
    sentinel_ordeal all{kind, with_a_replica, {name.where()}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    finish(all, "SIGKILL of the primary, the first Sentinel's name hangs");
}

BOOST_DATA_TEST_CASE(primaries_of_a_cluster_stand_still, each_server(), kind)
{
    cluster_ordeal all{kind};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.hang();
    all.finish("SIGSTOP of primaries");
    all.report_kills();
}

BOOST_DATA_TEST_CASE(machines_of_a_cluster_are_gone, each_server(), kind)
{
    reserved_port const port;
    black_hole const gone{"127.0.0.2", port};
    cluster_ordeal all{kind, {{.host = "127.0.0.2", .port = port}}};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.power_off();
    all.finish("machines without power, one of them the first seed");
    all.report_kills();
}

BOOST_TEST_DECORATOR(*where_names_can_be_given())
BOOST_DATA_TEST_CASE(the_name_of_a_seed_hangs, each_server(), kind)
{
    hanging_name const name;
    cluster_ordeal all{kind, {name.where()}};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill();
    all.finish("SIGKILL of primaries, the first seed's name hangs");
    all.report_kills();
}

// Connections are cut, and there is no room for new ones for a while.
BOOST_DATA_TEST_CASE(a_server_is_full, each_server(), kind)
{
    fault const full{
        .name = "server is full",
        .leaves = promise::exclusion,
        .begin =
            [](arena& at) {
                at.server().ask("CONFIG", "SET", "maxclients", "1");
                for (auto const* type : {"normal", "pubsub"})
                    at.server().ask("CLIENT", "KILL", "TYPE", type);
            },
        .end = [](arena& at) { at.server().ask("CONFIG", "SET", "maxclients", "1000"); },
        .least = 200,
        .most = 1'500};
    series all{full.name, {}, kind};
    for (int i = 0; i != 3 * chaos_trials(); ++i)
        all.undergo({full});
    auto const& found = all.finish();
    all.check_exclusion();
    BOOST_TEST(found.errors == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
