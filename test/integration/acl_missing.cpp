// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A user with a permission less than docs/deployments.md gives.
#include "integration/acl.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(acl_missing)

struct lacking {
    char const* rule;
    char const* line;  ///< of the log
};

inline std::ostream& operator<<(std::ostream& to, lacking const& l) { return to << l.rule; }

constexpr lacking needed[]{
    {"-eval", "the server refuses EVAL: NOPERM"},
    {"-eval", "Remedy: ACL SETUSER app +eval"},
    {"-time", "Remedy: ACL SETUSER app +time"},
    {"-ping", "user app may not run PING. Remedy: ACL SETUSER app +ping"},
    {"-incrby", "+incrby"},
};

BOOST_DATA_TEST_CASE(
    refused_at_the_start, boost::unit_test::data::make(needed) * each_server(), lacks, kind
)
{
    bool const at_use = lacks.rule == std::string_view{"-incrby"};
    acl_lab in{kind, {lacks.rule}};
    auto& c = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        for (auto const* name : {"orders:1", "orders:2"})
            co_await refused(c, name);
        BOOST_TEST(c.log->count(lacks.line) > 0U, c.log->all());
        BOOST_TEST((c.client.stats().links_up == 0U) == !at_use);
        // Mended without a restart.
        in.allow({"+eval", "+time", "+ping", "+incrby"});
        bool got = false;
        for (stopwatch const watch; !got && watch.ms() < 3'000;) {
            auto const [ec, held] =
                co_await lock{c.client, "orders:1"}.try_acquire_for(20ms, tuple);
            got = !ec && held;
        }
        BOOST_TEST(got);
    });
}

BOOST_DATA_TEST_CASE(a_server_without_eval, each_server(), kind)
{
    redis_server server{kind, {"rename-command EVAL \"\""}};
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        co_await refused(c, "orders:1");
        BOOST_TEST(c.log->count("unknown command 'EVAL'") > 0U, c.log->all());
        BOOST_TEST(c.log->count("Remedy: no rename-command for EVAL") > 0U, c.log->all());
    });
}

BOOST_DATA_TEST_CASE(fencing_counters_refused, each_server(), kind)
{
    acl_lab in{kind, {"resetkeys", "~orders:*"}};
    auto& c = in.connect();
    auto without = in.settings();
    without.fencing = false;
    auto& d = in.connect(without);
    in.at.run([&]() -> asio::awaitable<void> {
        co_await refused(c, "orders:1");
        BOOST_TEST(
            c.log->count("may not touch the fencing counters. Remedy: ACL SETUSER app "
                         "~colock_fence:*, or config::fencing = false") > 0U,
            c.log->all()
        );
        hold held = co_await lock{d.client, "orders:1"}.acquire();
        co_await held.release();
    });
}

BOOST_DATA_TEST_CASE(time_is_for_fencing, each_server(), kind)
{
    acl_lab in{kind, {"-time", "-info", "-client|id", "-client|kill"}};
    auto without = in.settings();
    without.fencing = false;
    auto& c = in.connect(without);
    in.at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, "orders:1"}.acquire();
        co_await held.release();
        BOOST_TEST(c.log->count("ACL SETUSER app +time") == 1U, c.log->all());
    });
}

BOOST_DATA_TEST_CASE(no_look_at_old_connections, each_server(), kind)
{
    acl_lab in{kind, {"-info", "-client|id", "-client|kill"}};
    auto& c = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, "orders:1"}.acquire();
        in.server.ask("CLIENT", "KILL", "USER", "app");
        auto const until = held.valid_until();
        bool const again = co_await eventually([&] {
            return c.client.stats().reconnects == 1 && held.valid_until() > until;
        });
        BOOST_TEST(again);
        co_await held.release();
        BOOST_TEST(c.log->count("may not") + c.log->count("refuses") == 0U, c.log->all());
    });
}

BOOST_DATA_TEST_CASE(scripts_as_text, each_server(), kind)
{
    acl_lab in{kind, {"-evalsha"}};
    auto& c = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, "orders:1"}.acquire();
        co_await held.release();
        in.server.ask("CLIENT", "KILL", "USER", "app");
        hold again = co_await lock{c.client, "orders:1"}.acquire();
        co_await again.release();
        BOOST_TEST(c.log->count("sent as text") == 1U, c.log->all());
        BOOST_TEST(c.log->count("Remedy: ACL SETUSER app +evalsha") == 1U, c.log->all());
    });
}

BOOST_DATA_TEST_CASE(a_command_of_scripts_refused, each_server(), kind)
{
    acl_lab in{kind, {"-rpush", "-zadd"}};
    auto& c = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, "orders:1"}.acquire();
        co_await held.release();
        BOOST_TEST(
            c.log->count("may not run what some scripts call, and those will fail. Remedy: ACL "
                         "SETUSER app +rpush +zadd") == 1U,
            c.log->all()
        );
        fair_lock const fair{c.client, "orders:2"};
        hold first = co_await fair.acquire();
        auto const [ec, none] = co_await fair.try_acquire_for(1s, {.as = owner{}}, tuple);
        BOOST_TEST(ec == error::server_refused);
        BOOST_TEST(c.log->count("the server refuses script fair_acquire") == 1U, c.log->all());
        co_await first.release();
    });
}

BOOST_DATA_TEST_CASE(counting_refused, each_server(), kind)
{
    acl_lab in{kind};
    in.allow({"-pubsub"});
    auto& a = in.connect(in.settings());
    auto& b = in.connect(in.settings());
    in.at.run([&]() -> asio::awaitable<void> {
        co_await hand_over(in, lock{a.client, "orders:1"}, lock{b.client, "orders:1"}, b);
        for (auto const* log : {a.log.get(), b.log.get()}) {
            BOOST_TEST(log->count("may not count who listens") == 1U, log->all());
            BOOST_TEST(log->count("app +pubsub|numsub") == 1U, log->all());
        }
    });
}

BOOST_DATA_TEST_CASE(channels_refused, each_server(), kind)
{
    struct {
        std::vector<std::string> rules;
        char const* publish;
        char const* subscribe;
    } const cases[]{
        {{"resetchannels"}, "app +publish &redisson_*", "app +subscribe &redisson_*"},
        {{"-publish"}, "app +publish", nullptr},
        {{"-subscribe"}, nullptr, "app +subscribe"},
    };
    for (auto const& each : cases) {
        acl_lab in{kind};
        in.allow(each.rules);
        auto settings = in.settings();
        settings.poll_cap = 300ms;
        auto& a = in.connect(settings);
        auto& b = in.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            co_await hand_over(in, lock{a.client, "orders:1"}, lock{b.client, "orders:1"}, b);
            for (auto const* log : {a.log.get(), b.log.get()}) {
                BOOST_TEST(log->count("may not publish") == (each.publish ? 1U : 0U), log->all());
                BOOST_TEST(log->count("may not subscribe") == (each.subscribe ? 1U : 0U));
                for (auto const* rule : {each.publish, each.subscribe})
                    BOOST_TEST((!rule || log->count(rule) > 0U), log->all());
            }
        });
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
