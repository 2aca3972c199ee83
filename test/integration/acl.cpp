// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "integration/suites.hpp"
#include "support/places.hpp"

#include <fstream>
#include <initializer_list>
#include <sstream>

namespace colock::test {

inline constexpr auto secret = "se%cret/:@1";

/// The words behind ACL SETUSER on the page, but for the password.
inline std::vector<std::string> documented_rules()
{
    std::ifstream page{in_source_tree("docs/deployments.md")};
    std::string line, word;
    while (std::getline(page, line) && line != "```acl") {}
    std::vector<std::string> rules{std::string{">"} + secret};
    while (std::getline(page, line) && line != "```")
        for (std::istringstream words{line}; words >> word;)
            if (word != "user" && word != "app" && word.front() != '>')
                rules.push_back(word);
    BOOST_REQUIRE(rules.size() > 30U);
    return rules;
}

/// A server with the user, who may do what is documented, with these rules behind it.
class acl_lab {
public:
    explicit acl_lab(server_kind kind, std::initializer_list<char const*> changed = {})
        : server{kind}
        , at{server}
    {
        auto rules = documented_rules();
        rules.insert(rules.end(), changed.begin(), changed.end());
        allow(rules);
    }

    void allow(std::vector<std::string> const& rules)
    {
        redis_cli admin{server.unix_socket()};
        std::vector<std::string> words{"ACL", "SETUSER", "app"};
        words.insert(words.end(), rules.begin(), rules.end());
        BOOST_TEST(admin.command(words).text == "OK");
    }

    config settings() const
    {
        auto c = quick(server.by_socket());
        c.username = "app";
        c.password = secret;
        c.links = 1;
        return c;
    }

    running_client& connect(config const& with)
    {
        auto& made = at.connect(with);
        logs.push_back(made.log);
        return made;
    }
    running_client& connect() { return connect(settings()); }

    ~acl_lab()
    {
        for (auto const& log : logs)
            for (auto const* word : {secret, "cret"})
                BOOST_TEST(log->count(word) == 0U, "a password in: " << log->all());
    }

    redis_server server;
    lab at;
    std::vector<std::shared_ptr<log_lines>> logs;
};

/// Held at one client, waited for at another: the wait must be ended by a message.
template <class Lock>
asio::awaitable<void> hand_over(acl_lab& in, Lock of_a, Lock of_b, running_client& b)
{
    hold first = co_await of_a.acquire();
    tasks all{in.at.context()};
    all.start([&]() -> asio::awaitable<void> {
        hold second = co_await of_b.acquire();
        co_await second.release();
    });
    bool const waits = co_await eventually([&] { return b.client.stats().waiters == 1; });
    BOOST_TEST(waits);
    auto const until = first.valid_until();
    bool const renewed = co_await eventually([&] { return first.valid_until() > until; });
    BOOST_TEST(renewed);
    co_await first.release();
    co_await all.join(2s);  // the poll cap is 5 s
}

/// An acquire that fails at once with this.
inline asio::awaitable<void> refused(running_client& c, std::string name)
{
    stopwatch const watch;
    auto const [ec, none] = co_await lock{c.client, name}.acquire(tuple);
    BOOST_TEST(ec == error::server_refused);
    BOOST_TEST(watch.ms() < 500);
}

// Users with the permissions of docs/deployments.md, and how they log in.

BOOST_AUTO_TEST_SUITE(acl)

BOOST_DATA_TEST_CASE(documented_user_can_lock, each_server(), kind)
{
    acl_lab in{kind};
    auto& a = in.connect();
    auto& b = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        auto const hand = [&]<class Lock>(Lock const& of_a, Lock const& of_b) {
            return hand_over(in, of_a, of_b, b);
        };
        co_await hand(lock{a.client, "orders:1"}, lock{b.client, "orders:1"});
        co_await hand(fair_lock{a.client, "orders:2"}, fair_lock{b.client, "orders:2"});
        co_await hand(fenced_lock{a.client, "orders:3"}, fenced_lock{b.client, "orders:3"});
        co_await hand(spin_lock{a.client, "orders:4"}, spin_lock{b.client, "orders:4"});
        read_write_lock const of_a{a.client, "orders:5"}, of_b{b.client, "orders:5"};
        co_await hand(of_a.write(), of_b.write());
        hold reading = co_await of_a.read().acquire();
        hold too = co_await of_b.read().acquire();
        auto const until = reading.valid_until();
        co_await eventually([&] { return reading.valid_until() > until; });
        co_await reading.release();
        co_await too.release();
        for (auto const& c : {&a, &b})
            BOOST_TEST(c->log->count("may not") + c->log->count("refuses") == 0U, c->log->all());
        election const office{a.client, "orders:office"};
        leadership leads = co_await office.campaign("here");
        auto const seen = co_await election{b.client, office.name()}.current();
        BOOST_TEST((seen && seen->words == "here"));
        co_await leads.resign();
        in.server.ask("DEL", "colock_leader:{orders:office}");
        co_await lock{a.client, "orders:1"}.force_release();
        co_await fair_lock{a.client, "orders:2"}.force_release();
        co_await of_a.write().force_release();
        auto const [gone, none] = co_await lock{a.client, "other"}.acquire(tuple);
        BOOST_TEST(gone == error::server_refused);
        BOOST_TEST(a.log->count("its keys: other, colock_fence:{") == 1U);
    });
}

BOOST_DATA_TEST_CASE(documented_user_can_count, each_server(), kind)
{
    acl_lab in{kind};
    auto& a = in.connect();
    auto& b = in.connect();
    in.at.run([&]() -> asio::awaitable<void> {
        semaphore const gives{a.client, "orders:semaphore"}, takes{b.client, gives.name()};
        permit_semaphore const lends{a.client, "orders:permits"}, owes{b.client, lends.name()};
        countdown_latch const counts{a.client, "orders:latch"}, opens{b.client, counts.name()};
        co_await gives.try_set_permits(1);
        co_await gives.acquire();
        co_await lends.try_set_permits(1);
        permit lent = co_await lends.acquire();
        co_await counts.try_set_count(1);
        tasks all{in.at.context()};
        all.start([&]() -> asio::awaitable<void> { co_await takes.acquire(); });
        all.start([&]() -> asio::awaitable<void> {
            permit mine = co_await owes.acquire();
            co_await mine.release();
        });
        all.start([&]() -> asio::awaitable<void> { co_await opens.wait(); });
        bool const wait = co_await eventually([&] { return b.client.stats().waiters == 3; });
        BOOST_TEST(wait);
        auto const until = lent.valid_until();
        co_await eventually([&] { return lent.valid_until() > until; });
        co_await gives.release();
        co_await lent.release();
        co_await counts.count_down();
        co_await all.join(2s);  // the poll cap is 5 s
        co_await gives.release(2);
        BOOST_TEST(co_await gives.drain() == 2);
        BOOST_TEST(co_await lends.available() == 1);
        for (auto const& c : {&a, &b})
            BOOST_TEST(c->log->count("may not") + c->log->count("refuses") == 0U, c->log->all());
        in.server.ask("FLUSHALL");
    });
}

BOOST_DATA_TEST_CASE(a_prefix_keeps_tenants_apart, each_server(), kind)
{
    acl_lab in{kind, {"resetkeys", "~shop:*", "resetchannels", "&shop:*"}};
    auto settings = in.settings();
    settings.key_prefix = "shop:";
    auto& a = in.connect(settings);
    auto& b = in.connect(settings);
    settings.key_prefix = "bank:";
    auto& other = in.connect(settings);
    in.at.run_only([&]() -> asio::awaitable<void> {
        co_await hand_over(in, lock{a.client, "1"}, lock{b.client, "1"}, b);
        co_await hand_over(in, fair_lock{a.client, "2"}, fair_lock{b.client, "2"}, b);
        co_await hand_over(in, fenced_lock{a.client, "3"}, fenced_lock{b.client, "3"}, b);
        semaphore const counts{a.client, "4"};
        co_await counts.release(2);
        BOOST_TEST(co_await counts.drain() == 2);
        for (auto const& c : {&a, &b})
            BOOST_TEST(c->log->count("may not") + c->log->count("refuses") == 0U, c->log->all());
        co_await refused(other, "1");
        BOOST_TEST(other.log->count("SETUSER app ~bank:colock_fence:*") > 0U, other.log->all());
    });
}

BOOST_DATA_TEST_CASE(by_url_with_encoded_user, each_server(), kind)
{
    acl_lab in{kind};
    auto const encoded = "se%25cret%2F%3A%401";
    in.server.ask(
        "ACL", "SETUSER", "a@p/p:1", "on", std::string{">"} + secret, "~*", "&*", "+@all"
    );
    for (auto const& url :
         {std::string{"redis://a%40p%2Fp%3A1:"} + encoded +
              "@127.0.0.1:" + std::to_string(in.server.port()) + "/3",
          std::string{"unix://a%40p%2Fp%3A1:"} + encoded + "@" + in.server.unix_socket() +
              "?db=3"}) {
        auto settings = quick(config::from_url(url));
        settings.client_name = "billing-7";
        auto& c = in.connect(settings);
        in.at.run_only([&]() -> asio::awaitable<void> {
            hold held = co_await lock{c.client, "orders:1"}.acquire();
            auto const list = in.server.ask("CLIENT", "LIST").text;
            for (auto const* part : {"name=billing-7", "user=a@p/p:1", "db=3"})
                BOOST_TEST(list.find(part) != list.npos, list);
            redis_cli other{in.server.unix_socket()};
            BOOST_TEST(other("EXISTS", "orders:1").number == 0);
            other("SELECT", "3");
            BOOST_TEST(other("EXISTS", "orders:1").number == 1);
            co_await held.release();
            BOOST_TEST(c.log->count("billing") + c.log->count("refuses") == 0U);
        });
    }
}

BOOST_DATA_TEST_CASE(a_password_alone, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    redis_cli admin{server.unix_socket()};  // logged in before there was a password
    admin("CONFIG", "SET", "requirepass", "only-a-password");
    auto settings = quick(server.by_socket());
    settings.password = "only-a-password";
    auto& c = at.connect(settings);
    settings.password.clear();
    auto& without = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, "orders:1"}.acquire();
        co_await held.release();
        co_await refused(without, "orders:1");
        BOOST_TEST(without.log->count("NOAUTH") > 0U, without.log->all());
        BOOST_TEST(c.log->count("only-a-password") == 0U);
    });
}

BOOST_DATA_TEST_CASE(a_database_refused, each_server(), kind)
{
    acl_lab in{kind, {"-select"}};
    auto settings = in.settings();
    settings.database = 2;
    auto& denied = in.connect(settings);
    settings.database = 99;
    settings.username.clear();
    settings.password.clear();
    auto& absent = in.connect(settings);
    in.at.run([&]() -> asio::awaitable<void> {
        co_await refused(denied, "orders:1");
        BOOST_TEST(denied.log->count("Remedy: ACL SETUSER app +select") > 0U, denied.log->all());
        co_await refused(absent, "orders:1");
        BOOST_TEST(absent.log->count("DB index is out of range") > 0U, absent.log->all());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// A user with a permission less than docs/deployments.md gives.

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
            BOOST_TEST(log->count("may not count who waits") == 1U, log->all());
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
