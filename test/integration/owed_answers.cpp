// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a client sends while an answer is owed to it, and how it reads the answers to subscriptions.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/scripted_server.hpp"
#include <colock_scripts.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace colock::test {

/// A server that keeps its answers to EVALSHA, and to all that follows on the same connection.
class late_server {
public:
    late_server()
    {
        server.say([this](auto const& c) -> std::optional<scripted_server::answer> {
            if (!is_late || (c.connection != late_connection && !c.is("EVALSHA")))
                return std::nullopt;
            late_connection = c.connection;
            owed += usual.to(c.said, c.connection);
            return scripted_server::answer{""};
        });
    }

    /// All that is owed comes now.
    void catch_up()
    {
        server.run([this] {
            is_late = false;
            server.send(late_connection, std::exchange(owed, {}));
            late_connection = 0;
        });
    }

    /// On the connection that is late.
    std::size_t pings() const
    {
        auto const heard = server.heard();
        auto const number = late_connection.load();
        return static_cast<std::size_t>(std::ranges::count_if(heard, [&](auto const& c) {
            return c.connection == number && c.is("PING");
        }));
    }

    std::atomic<bool> is_late = false;
    std::atomic<std::size_t> late_connection = 0;
    std::string owed;
    usual_answers usual;
    scripted_server server;
};

/// To an acquire script: somebody else holds each of the locks for a minute.
inline scripted_server::answer refuse(scripted_server::command const& c)
{
    auto const keys = std::stoul(c.said.at(2));  // each lock comes with its counter
    return wire::list(std::vector(keys / 2, wire::list({wire::number(60'000)})));
}

inline bool is_acquire(scripted_server::command const& c)
{
    return c.is("EVALSHA") && is_sum_of_acquire(c.said[1]);
}

inline bool has_ping_with_argument(scripted_server const& to)
{
    auto const heard = to.heard();
    return std::ranges::any_of(heard, [](auto const& c) {
        return c.is("PING") && c.said.size() > 1;
    });
}

inline std::string channel_of(std::string const& name)
{
    return "redisson_lock__channel:{" + name + "}";
}

BOOST_AUTO_TEST_SUITE(owed_answers)

// A lost packet is sent again only when the kernel's timer of 200 ms or more ends, unless something
// is sent behind it: a PING.
BOOST_AUTO_TEST_CASE(a_silence_is_asked_about_once)
{
    late_server far;
    lab at{far.server.by_port()};
    auto settings = at.settings();
    settings.lease = 30s;
    settings.silence_timeout = 20s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 20; ++i) {  // it learns how long a round trip takes
            hold quick_one = co_await lock{redis.client, unique_name("prompt")}.acquire();
            co_await quick_one.release();
        }
        for (int i = 0; i != 2; ++i) {
            hold held;
            tasks waiting{at.context()};
            far.is_late = true;
            waiting.start([&]() -> asio::awaitable<void> {
                held = co_await lock{redis.client, unique_name("owed")}.acquire();
            });
            BOOST_TEST(co_await eventually([&] { return far.late_connection != 0; }));
            auto const before = far.pings();
            stopwatch const silence;
            bool const asked =
                co_await eventually([&] { return far.pings() > before; }, within(300ms));
            BOOST_TEST(asked, "no PING within " << silence.ms() << " ms of silence");
            co_await time_passes(300ms);
            BOOST_TEST(far.pings() - before <= 1U);
            far.catch_up();
            co_await waiting.join(5s);
            BOOST_TEST(bool{held});
            co_await held.release();
        }
        BOOST_TEST(redis.client.stats().reconnects == 0U);
    });
}

BOOST_AUTO_TEST_CASE(subscriptions_are_sent_as_they_are)
{
    scripted_server server{[](auto const& c) -> std::optional<scripted_server::answer> {
        if (is_acquire(c))
            return refuse(c);
        return std::nullopt;
    }};
    lab at{server.by_port()};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("plain");
        auto const none = co_await lock{redis.client, name}.try_acquire_for(200ms);
        BOOST_TEST(!none.has_value());
        co_await eventually([&] { return redis.client.stats().subscriptions == 0; });
        auto const channel = channel_of(name);
        BOOST_TEST(server.count("SUBSCRIBE", channel) == 1U);
        BOOST_TEST(co_await eventually([&] { return server.count("UNSUBSCRIBE", channel) == 1; }));
        BOOST_TEST(!has_ping_with_argument(server));
    });
}

inline bool is_subscriber(scripted_server const& of, std::size_t number, std::string const& verb)
{
    auto const heard = of.heard();
    return std::ranges::any_of(heard, [&](auto const& c) {
        return c.connection == number && c.is(verb);
    });
}

/// What subscribers of that kind are told of a release.
inline std::string message(std::string const& verb, std::string const& channel)
{
    auto const* const kind = verb == "SSUBSCRIBE" ? "smessage" : "message";
    return wire::push({wire::text(kind), wire::text(channel), wire::text("0")});
}

/// Which channels were refused.
struct refusal_diary final : observer {
    void subscription_failed(std::string_view channel, error_code const&) noexcept override
    {
        refused.emplace_back(channel);
    }
    std::vector<std::string> refused;
};

/// A server whose locks are all held, and that refuses one channel.
struct picky_server {
    picky_server(
        topology kind, std::string const& verb_of_subscribers, std::string const& to_refuse
    )
        : verb{verb_of_subscribers}
        , refused{to_refuse}
        , where{server.by_port()}
    {
        where.topology = kind;
        if (kind == topology::cluster)
            server.serve({{0, 16'383, server.port()}});
        server.say([this](auto const& c) -> std::optional<scripted_server::answer> {
            if (c.is(verb) && c.said[1] == channel_of(refused))
                return scripted_server::answer{wire::failure("NOPERM No permissions")};
            if (is_acquire(c) && !is_free)
                return refuse(c);
            return std::nullopt;
        });
    }

    bool has_heard_of(std::vector<std::string> const& names) const
    {
        return std::ranges::all_of(names, [&](auto const& name) {
            return server.count(verb, channel_of(name)) != 0;
        });
    }

    void publish(std::string const& name)
    {
        for (std::size_t each = 1; each <= server.connections(); ++each)
            if (is_subscriber(server, each, verb))
                server.send(each, message(verb, channel_of(name)));
    }

    std::string const verb, refused;
    std::atomic<bool> is_free = false;
    scripted_server server;
    config where;
};

/// Three waiters at once; the channel of the one in the middle is refused, and then the locks of
/// the others are given back.
inline void check_one_refused_of_three(topology kind, std::string const& verb)
{
    std::vector<std::string> const names{
        unique_name("first"), unique_name("refused"), unique_name("last")};
    picky_server far{kind, verb, names[1]};
    auto const seen = std::make_shared<refusal_diary>();
    lab at{far.where};
    auto settings = at.settings();
    settings.observer = seen;
    settings.poll_cap = 2s;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        int got = 0;
        tasks waiting{at.context()};
        for (auto const& name : names)
            waiting.start([&, name]() -> asio::awaitable<void> {
                hold held = co_await lock{redis.client, name}.acquire();
                ++got;
                co_await held.release(tuple);
            });
        BOOST_TEST(co_await eventually([&] { return far.has_heard_of(names); }));
        BOOST_TEST(co_await eventually([&] { return !seen->refused.empty(); }));
        BOOST_TEST_REQUIRE(seen->refused.size() == 1U);
        BOOST_TEST(seen->refused.front() == channel_of(names[1]));
        far.is_free = true;
        far.publish(names[0]);
        far.publish(names[2]);
        BOOST_TEST(co_await eventually([&] { return got >= 2; }, within(1s)));
        co_await waiting.join(5s);  // the one that hears nothing asks after the poll cap
        BOOST_TEST(!has_ping_with_argument(far.server));
    });
}

BOOST_AUTO_TEST_CASE(each_subscription_is_judged_by_its_own_answer)
{
    check_one_refused_of_three(topology::single, "SUBSCRIBE");
}

BOOST_AUTO_TEST_CASE(each_sharded_subscription_is_judged_by_its_own_answer)
{
    check_one_refused_of_three(topology::cluster, "SSUBSCRIBE");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
