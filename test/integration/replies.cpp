// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A server, or whoever answers in its place, that sends more than anybody can hold.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/scripted_server.hpp"
#include <colock_scripts.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock::test {

struct endless_reply {
    char const* name;
    std::string begin;
    std::string then;
    std::size_t most;  ///< what may be sent until the client has ended the connection
};

inline std::ostream& operator<<(std::ostream& to, endless_reply const& what)
{
    return to << what.name;
}

/// Far less than what is streamed in vain, far more than a socket's buffers hold.
constexpr std::size_t modest = std::size_t{96} << 20, in_vain = std::size_t{160} << 20;

inline std::vector<endless_reply> endless_replies()
{
    std::string const text(1 << 20, 'x');
    std::string numbers;
    while (numbers.size() < 1 << 20)
        numbers += ":1\r\n";
    std::string nested;
    while (nested.size() < 1 << 20)
        nested += "*1\r\n";
    // A length that is absurd is seen at once: no more is taken than what is under way already.
    constexpr std::size_t at_once = std::size_t{32} << 20;
    return {
        {"a bulk string of 2^63 - 1 bytes", "$9223372036854775807\r\n", text, at_once},
        {"a bulk string of 2^64 bytes", "$18446744073709551616\r\n", text, at_once},
        {"a bulk string of 100 GB", "$100000000000\r\n", text, at_once},
        {"a list of 2^63 - 1 values", "*9223372036854775807\r\n", numbers, at_once},
        {"a list of 10^9 values", "*1000000000\r\n", numbers, modest},
        {"lists in lists without end", "*1\r\n", nested, modest},
        {"a simple string without end", "+", text, modest},
        {"a number without end", ":", std::string(1 << 20, '1'), modest}};
}

/// The most memory that this process has had since this was asked last, in MiB.
inline std::size_t take_peak_memory()
{
    std::size_t kilobytes = 0;
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            kilobytes = std::stoul(line.substr(6));
    std::ofstream{"/proc/self/clear_refs"} << "5";
    return kilobytes >> 10;
}

/// Whether the client ends the connection, and what was sent by then.
inline void check_end(endless_reply const& what, std::string const& verb)
{
    scripted_server server{[&](auto const& c) -> std::optional<scripted_server::answer> {
        if (!c.is(verb))
            return std::nullopt;
        return scripted_server::answer{what.begin, what.then, in_vain};
    }};
    lab at{server.by_port()};
    auto settings = at.settings();
    // So that not time ends it.
    settings.lease = 60s;
    settings.connect_timeout = 60s;
    settings.silence_timeout = 60s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    take_peak_memory();
    auto const before = take_peak_memory();
    at.run_only([&]() -> asio::awaitable<void> {
        auto const [ec, none] =
            co_await lock{redis.client, unique_name("endless")}.try_acquire_for(300ms, tuple);
        BOOST_TEST(!none.has_value());
        bool const ended = co_await eventually([&] {
            return server.connections() > 1 || server.open_connections() == 0;
        });
        BOOST_TEST(ended, "the connection stands");
        BOOST_TEST(server.flooded() / server.connections() < what.most);
        BOOST_TEST(take_peak_memory() < before + within(400U));
    });
}

BOOST_AUTO_TEST_SUITE(endless)

BOOST_DATA_TEST_CASE(before_auth, boost::unit_test::data::make(endless_replies()), what)
{
    check_end(what, "HELLO");
}

BOOST_DATA_TEST_CASE(after_auth, boost::unit_test::data::make(endless_replies()), what)
{
    check_end(what, "EVALSHA");
}

BOOST_AUTO_TEST_SUITE_END()

// What a client sends while an answer is owed to it, and how it reads the answers to subscriptions.

/// A server that keeps its answers to EVALSHA, and to all that follows on the same connection.
class late_server {
public:
    late_server()
    {
        server.say([this](auto const& c) -> std::optional<scripted_server::answer> {
            if (!is_late || (c.connection != late_connection && !c.is("EVALSHA")))
                return std::nullopt;
            late_connection = c.connection;
            owed += scripted_server::numbered(c, usual.to(c.said, c.connection));
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

/// To an acquire script: a client that knows no wait list holds each of the locks for a minute, and
/// this one is the first there.
inline scripted_server::answer refuse(scripted_server::command const& c)
{
    auto const keys = std::stoul(c.said.at(2));  // each lock comes with its counter
    auto const no = {wire::number(60'000), wire::number(1), wire::number(7)};
    return wire::list(std::vector(keys / 2, wire::list(no)));
}

inline bool is_acquire(scripted_server::command const& c)
{
    return c.is("EVALSHA") && is_sum_of_acquire(c.said[1]);
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
    void on_event(client_event const& what) noexcept override
    {
        if (auto const* const failed = std::get_if<events::subscription_failed>(&what))
            refused.emplace_back(failed->channel);
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
