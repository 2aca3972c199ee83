// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Passwords that change while locks are held and waited for.
#include "integration/suites.hpp"
#include "support/redis_cluster.hpp"

#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Issues the passwords of the user "app", which expire soon. The servers accept the newest and the
/// one before it, because a client may be about to use that.
class issuer {
public:
    static constexpr milliseconds validity{800};

    explicit issuer(std::vector<redis_server*> servers) : servers_{std::move(servers)} { rotate(); }

    void rotate()
    {
        auto const last = ">" + password_;
        password_ = "password-" + std::to_string(++number_);
        for (auto* const server : servers_) {
            auto const answer = server->ask(
                "ACL",
                "SETUSER",
                "app",
                "on",
                "resetpass",
                last,
                ">" + password_,
                "~*",
                "&*",
                "+@all"
            );
            BOOST_TEST(answer.text == "OK");
        }
    }

    credentials_provider provider()
    {
        return [this](credentials_request const&, credentials_handler const& done) {
            ++asked;
            done({}, {"app", password_, validity});
        };
    }

    int asked = 0;

private:
    std::vector<redis_server*> servers_;
    std::string password_ = "password-0";
    int number_ = 0;
};

/// Held at one client through three rotations, then given to another, which has waited meanwhile.
asio::awaitable<void> outlive_rotations(
    lab& at, issuer& from, running_client& one, running_client& other, std::string name
)
{
    hold first = co_await lock{one.client, name}.acquire();
    tasks all{at.context()};
    all.start([&]() -> asio::awaitable<void> {
        hold second = co_await lock{other.client, name}.acquire();
        co_await second.release();
    });
    BOOST_TEST(co_await eventually([&] { return other.client.stats().waiters == 1; }));
    for (int i = 0; i != 3; ++i) {
        from.rotate();
        auto const before = from.asked;
        BOOST_TEST(co_await eventually([&] { return from.asked >= before + 4; }, 3s));
    }
    BOOST_TEST(bool{first});
    co_await first.release();
    co_await all.join(2s);
    for (auto* const c : {&one, &other}) {
        BOOST_TEST(c->client.stats().reconnects == 0U);
        BOOST_TEST(c->log->count("refuses") == 0U, c->log->all());
    }
}

config changing(config where, issuer& from)
{
    auto c = quick(std::move(where));
    c.credentials = from.provider();
    return c;
}

BOOST_AUTO_TEST_SUITE(credentials_that_change)

BOOST_DATA_TEST_CASE(a_hold_and_a_wait_outlive_them, each_server(), kind)
{
    redis_server server{kind};
    issuer from{{&server}};
    lab at{server};
    auto& a = at.connect(changing(server.by_socket(), from));
    auto& b = at.connect(changing(server.by_socket(), from));
    at.run([&]() -> asio::awaitable<void> {
        co_await outlive_rotations(at, from, a, b, "orders:1");
        // Each connection that goes comes again with a password that is accepted.
        from.rotate();
        from.rotate();
        hold held = co_await lock{a.client, "orders:2"}.acquire();
        server.ask("CLIENT", "KILL", "USER", "app");
        BOOST_TEST(co_await eventually([&] { return a.client.stats().reconnects != 0; }));
        co_await held.release();
        BOOST_TEST(a.log->count("password-") + b.log->count("password-") == 0U);
    });
}

BOOST_DATA_TEST_CASE(in_a_cluster_too, each_server(), kind)
{
    redis_cluster cluster{kind, 3, 0};
    issuer from{cluster.primaries()};
    lab at{cluster};
    auto& a = at.connect(changing(cluster.by_cluster(), from));
    auto& b = at.connect(changing(cluster.by_cluster(), from));
    at.run(
        [&]() -> asio::awaitable<void> {
            co_await outlive_rotations(at, from, a, b, "orders:1");
            co_await outlive_rotations(at, from, a, b, "orders:2");
        },
        20s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
