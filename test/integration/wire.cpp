// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a client has in Redis is Redisson's, so that Java and C++ share a lock. The tests of the
// scripts have the rest of the protocol.
#include "integration/suites.hpp"

#include <algorithm>

namespace colock::test {

/// `<uuid>:<number>`, as Redisson's owners are.
inline bool is_owner(std::string const& field)
{
    auto const hex = [](char c) {
        return std::string_view{"0123456789abcdef"}.find(c) != std::string_view::npos;
    };
    if (field.size() < 38 || field[36] != ':')
        return false;
    for (std::size_t i = 0; i != 36; ++i)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? field[i] != '-' : !hex(field[i]))
            return false;
    return std::all_of(field.begin() + 37, field.end(), [](char c) {
        return c >= '0' && c <= '9';
    });
}

BOOST_AUTO_TEST_SUITE(wire)

BOOST_DATA_TEST_CASE(key_field_value_and_lease, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.lease = 20s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        owner const me;
        std::string first_field;
        for (auto const& name :
             {unique_name("plain"),
              "{tag}" + unique_name("tagged"),
              std::string("\0\r\n\xff *", 7)}) {
            lock const mine{c.client, name};
            hold held = co_await mine.acquire({.as = me});
            BOOST_TEST(server.ask("TYPE", name).text == "hash");
            auto const all = server.ask("HGETALL", name);
            BOOST_REQUIRE(all.items.size() == 2U);
            BOOST_TEST(is_owner(all.items[0].text), all.items[0].text);
            BOOST_TEST(all.items[1].text == "1");
            BOOST_TEST(all.items[0].text.substr(37) != first_field);  // each ownership has its own
            first_field = all.items[0].text.substr(37);
            auto const pttl = server.ask("PTTL", name).number;
            BOOST_TEST((pttl > 10'000 && pttl <= 20'000));
            // Re-entry counts up, and each release down.
            hold inner = co_await mine.acquire({.as = me});
            BOOST_TEST(server.ask("HVALS", name).items[0].text == "2");
            co_await inner.release();
            BOOST_TEST(server.ask("HVALS", name).items[0].text == "1");
            co_await held.release();
            BOOST_TEST(!exists(server, name));
        }
        // Beside the locks there are the fencing counters alone, which never expire.
        for (auto const& key : server.ask("KEYS", "*").items) {
            BOOST_TEST(key.text.rfind("colock_fence:{", 0) == 0U);
            BOOST_TEST(server.ask("PTTL", key.text).number == -1);
        }
    });
}

BOOST_DATA_TEST_CASE(tokens_rise_across_everything, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const of_a{a.client, unique_name("token")}, of_b{b.client, of_a.name()};
        std::uint64_t last = 0;
        auto const next = [&](hold& held, char const* after) {
            BOOST_TEST(held.fencing_token() > last, "after " << after);
            last = held.fencing_token();
        };
        hold held = co_await of_a.acquire();
        next(held, "nothing");
        co_await held.release();
        held = co_await of_b.acquire({.lease = 50ms});
        next(held, "a release");
        held = co_await of_a.acquire();
        next(held, "an expiry");
        co_await of_b.force_release();
        held = co_await of_b.acquire();
        next(held, "a force");
        server.ask("FLUSHALL");
        held = co_await of_a.acquire();
        next(held, "a flush");
        co_await held.release();
        held = co_await of_b.acquire();
        next(held, "a flush and a release");
        server.restart();
        held = co_await of_a.acquire();
        next(held, "a restart");
        co_await held.release();
        server.restart();
        held = co_await of_b.acquire();
        next(held, "another");
        // A replica that was behind takes over, with a counter of some time ago.
        auto const counter = server.ask("KEYS", "colock_fence:*").items.at(0).text;
        co_await held.release();
        server.restart();
        server.ask("SET", counter, std::to_string(last - 3));
        held = co_await of_a.acquire();
        next(held, "a failover");
        // The same under links that stay up. Any failover takes longer than this.
        co_await held.release();
        auto& late = at.connect();
        held = co_await lock{late.client, of_a.name()}.acquire();
        next(held, "a client that came later");
        co_await held.release();
        server.ask("SET", counter, std::to_string(last - 3));
        asio::steady_timer over{at.context(), 20ms};
        co_await over.async_wait(asio::deferred);
        held = co_await of_a.acquire();
        next(held, "a failover that no link notices");
        BOOST_TEST(last < (std::uint64_t{1} << 53));
    });
}

BOOST_AUTO_TEST_CASE(without_fencing_there_is_no_counter)
{
    auto& server = shared_server(server_kind::redis);
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.fencing = false;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, unique_name("unfenced")}.acquire();
        BOOST_TEST(held.fencing_token() == 0U);
        BOOST_TEST(server.ask("KEYS", "colock_fence:*").items.empty());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
