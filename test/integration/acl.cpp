// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Users with the permissions of docs/deployments.md, and how they log in.
#include "integration/acl.hpp"

namespace colock::test {

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
        BOOST_TEST(co_await eventually([&] { return b.client.stats().waiters == 3; }));
        auto const until = lent.valid_until();
        co_await eventually([&] { return lent.valid_until() > until; });
        co_await gives.release();
        co_await lent.release();
        co_await counts.count_down();
        co_await all.join(2s);
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

}  // namespace colock::test
