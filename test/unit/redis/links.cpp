// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a client's connections make of answers that are none: at a server that says what it is told
// to say. Only what must not happen is waited for.
#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include "support/scripted_server.hpp"
#include "unit/harness.hpp"
#include <colock/lock_watch.hpp>
#include <colock/metrics.hpp>
#include <colock/read_write_lock.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock::test {

namespace data = boost::unit_test::data;

namespace {

constexpr std::string_view message_channel = "redisson_lock__channel:{k}";

struct connected {
    using command = scripted_server::command;
    using answer = std::optional<scripted_server::answer>;

    /// The client runs from then on.
    void connect(topology how = topology::single, std::string password = {})
    {
        auto settings = server.by_port();
        settings.password = std::move(password);
        settings.topology = how;
        connect_with(std::move(settings));
    }
    void connect_with(config settings)
    {
        settings.links = 1;
        settings.linger = linger;
        settings.log = {
            [this](log_level, std::string_view line) { log.emplace_back(line); },
            log_level::warning};
        redis.emplace(context.get_executor(), settings);
        redis->run(run.token());
    }
    /// By these addresses, of the same kind as the first.
    void connect_by(
        topology how, std::vector<scripted_server const*> const& servers, config settings = {}
    )
    {
        settings.topology = how;
        settings.master_name = "m";
        settings.addresses.clear();
        for (auto const* each : servers)
            settings.addresses.push_back(each->where());
        connect_with(std::move(settings));
    }
    bool says(std::string_view text) const
    {
        return std::ranges::any_of(log, [&](auto const& line) {
            return line.find(text) != std::string::npos;
        });
    }
    ~connected()
    {
        if (redis)
            redis->close([](error_code) {});
        redis.reset();
        context.run_for(10ms);
    }

    bool comes(std::function<bool()> const& is_so)
    {
        auto const end = std::chrono::steady_clock::now() + 5s;
        while (!is_so() && std::chrono::steady_clock::now() < end)
            context.run_one_for(2ms);
        return is_so();
    }
    bool stays(std::function<bool()> const& is_so)
    {
        auto const end = std::chrono::steady_clock::now() + 60ms;
        while (is_so() && std::chrono::steady_clock::now() < end)
            context.run_one_for(2ms);
        return is_so();
    }
    pending_hold acquire(std::string name)
    {
        pending_hold p;
        lock{*redis, std::move(name)}.acquire(p.token());
        return p;
    }
    bool has(pending_hold const& p)
    {
        return comes([&] { return p.is_done(); }) && p.succeeded();
    }

    static bool is_acquire(command const& c)
    {
        return c.is("EVALSHA") && is_sum_of_acquire(c.said[1]);
    }
    /// To an acquire: somebody else has each lock for a minute.
    static answer refuse(command const& c)
    {
        auto const keys = std::stoul(c.said.at(2));
        auto const no = {wire::number(60'000), wire::number(1), wire::number(7)};
        return wire::list(std::vector(keys / 2, wire::list(no)));
    }
    std::size_t acquires() const
    {
        auto const all = server.heard();
        return static_cast<std::size_t>(std::ranges::count_if(all, &is_acquire));
    }
    static std::string confirmation(std::string const& channel)
    {
        return wire::push({wire::text("subscribe"), wire::text(channel), wire::number(1)});
    }
    static std::string channel_of(std::string const& name) { return decide::lock_channel(name); }

    scripted_server server;
    asio::io_context context;
    milliseconds linger = config{}.linger;
    std::vector<std::string> log;
    pending<> run;
    std::optional<client> redis;
};

/// The redirection of a name, with this word.
std::string redirecting(std::string const& word, std::string const& name, std::uint16_t port)
{
    return wire::failure(
        word + " " + std::to_string(decide::slot_of(name)) + " 127.0.0.1:" + std::to_string(port)
    );
}

std::string const busy =
    wire::failure("BUSY Redis is busy running a script. You can only call SCRIPT KILL.");

bool is_kill(scripted_server::command const& c) { return c.is("CLIENT") && c.said[1] == "KILL"; }

BOOST_FIXTURE_TEST_SUITE(redis_links, connected)

BOOST_AUTO_TEST_CASE(a_script_that_the_server_has_forgotten_is_sent_again)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("known")));
    std::atomic<int> forgotten = 0;
    server.say([&](command const& c) -> answer {
        if (is_acquire(c) && forgotten++ == 0)
            return wire::failure("NOSCRIPT No matching script. Please use EVAL.");
        return std::nullopt;
    });
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(forgotten == 2);
}

BOOST_AUTO_TEST_CASE(a_forgotten_script_is_told_once_and_the_steps_go_together_again)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("known")));
    std::atomic<int> forgotten = 0;
    server.say([&](command const& c) -> answer {
        if (is_acquire(c) && forgotten++ < 3)
            return wire::failure("NOSCRIPT No matching script. Please use EVAL.");
        return std::nullopt;
    });
    auto const before = acquires();
    std::vector<pending_hold> all;
    for (int i = 0; i != 300; ++i)
        all.push_back(acquire("k" + std::to_string(i)));
    BOOST_TEST(comes([&] { return std::ranges::all_of(all, &pending_hold::is_done); }));
    BOOST_TEST(std::ranges::all_of(all, &pending_hold::succeeded));
    // Three calls that fail, and about as many that don't.
    BOOST_TEST(acquires() - before <= 10U);
}

// Most Sentinels name another server, and one link has gone there. The old one does not notice: it
// is cut off from them, and not from this client.
BOOST_AUTO_TEST_CASE(all_links_follow_to_the_primary_that_most_sentinels_name)
{
    auto const refusing = [](command const& c) -> answer {
        return is_acquire(c) ? answer{refuse(c)} : std::nullopt;
    };
    scripted_server sentinel, another, next{refusing};
    sentinel.name(server.port());
    another.name(server.port());
    auto settings = sentinel.by_port();
    settings.addresses.push_back(another.where());
    settings.topology = topology::sentinel;
    settings.master_name = "m";
    settings.links = 1;
    settings.log = {[](log_level, std::string_view) {}, log_level::error};
    server.say(refusing);
    redis.emplace(context.get_executor(), settings);
    redis->run(run.token());
    auto const waiting = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return server.count("SUBSCRIBE") != 0; }));
    sentinel.name(next.port());
    another.name(next.port());
    server.say([refusing](command const& c) -> answer {
        auto said = refusing(c);
        if (said)
            said->is_last = true;
        return said;
    });
    auto const second = acquire("other");
    BOOST_TEST(comes([&] { return next.count("SUBSCRIBE") != 0; }));
    BOOST_TEST(comes([&] { return server.open_connections() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_redirection_is_followed)
{
    scripted_server other;
    for (auto* node : {&server, &other})
        node->serve({{0, 16'383, server.port()}});
    connect(topology::cluster);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    // The server's thread outlives the other one.
    server.say([port = other.port()](command const& c) -> answer {
        if (is_acquire(c))
            return wire::failure(
                "MOVED " + std::to_string(decide::slot_of("k")) +
                " 127.0.0.1:" + std::to_string(port)
            );
        return std::nullopt;
    });
    BOOST_TEST(has(acquire("k")));
    auto const there = other.heard();
    BOOST_TEST(std::ranges::any_of(there, &is_acquire));
}

// As while a slot moves, and its two nodes are told of it in the wrong order.
BOOST_DATA_TEST_CASE_F(
    connected,
    nodes_that_redirect_to_each_other_are_asked_with_pauses,
    data::make(std::vector<std::string>{"MOVED", "ASK"}),
    word
)
{
    scripted_server other;
    for (auto* node : {&server, &other})
        node->serve({{0, 16'383, server.port()}});
    connect(topology::cluster);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    auto const to = [&](std::uint16_t port) {
        return [words = redirecting(word, "{k}a", port)](command const& c) -> answer {
            return is_acquire(c) ? answer{words} : std::nullopt;
        };
    };
    server.say(to(other.port()));
    other.say(to(server.port()));
    auto const first = acquire("{k}a");
    BOOST_TEST(comes([&] { return acquires() > 1; }));
    auto const second = acquire("{k}b");
    stays([] { return true; });
    auto const there = other.heard();
    auto const asked =
        acquires() + static_cast<std::size_t>(std::ranges::count_if(there, &is_acquire));
    // The pauses are at least 3, 5, 10, 20 and 40 ms long, so in 60 ms five rounds begin, in each
    // of which both steps ask both nodes. Steps that wait for the link to the other node may be
    // routed back and ask once more. Without pauses some 200 are asked.
    BOOST_TEST(asked <= 2U * 5 * 4);
    BOOST_TEST(!first.is_done());
    BOOST_TEST(!second.is_done());
}

/// Or one that redirects to itself.
BOOST_DATA_TEST_CASE_F(
    connected,
    nodes_that_redirect_to_each_other_are_sent_few_renewals,
    data::make({false, true}),
    to_itself
)
{
    scripted_server other;
    for (auto* node : {&server, &other})
        node->serve({{0, 16'383, server.port()}});
    connect(topology::cluster);
    pending_hold p;
    lock{*redis, "{k}a"}.acquire({.lease = 300ms, .renew = true}, p.token());
    BOOST_TEST_REQUIRE(has(p));
    // The servers' threads outlive what this one has.
    auto const renewals = std::make_shared<std::atomic<std::size_t>>(0);
    auto const to = [renewals](std::uint16_t port) {
        return [renewals, words = redirecting("MOVED", "{k}a", port)](command const& c) -> answer {
            if (!c.is("EVALSHA") || c.said[1] != scripts::renew.sha1)
                return std::nullopt;
            ++*renewals;
            return words;
        };
    };
    server.say(to(to_itself ? server.port() : other.port()));
    other.say(to(server.port()));
    BOOST_TEST(comes([&] { return *renewals > 1; }));
    stays([] { return true; });
    // One each 5 to 10 ms, and one when the holder hears that the slot has moved. Without pauses
    // some hundred are sent.
    BOOST_TEST(*renewals <= 20U);
}

// The old primary hangs: one link is still connecting to it when the other has found the new one.
BOOST_AUTO_TEST_CASE(a_link_that_is_still_connecting_follows_the_others)
{
    scripted_server next;
    auto settings = server.by_port();
    settings.addresses.push_back(next.where());
    settings.topology = topology::replicated;
    settings.links = 1;
    settings.log = {[](log_level, std::string_view) {}, log_level::error};
    server.say([](command const& c) -> answer {
        return is_acquire(c) ? answer{refuse(c)} : std::nullopt;
    });
    redis.emplace(context.get_executor(), settings);
    redis->run(run.token());
    auto const waiting = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return server.count("SUBSCRIBE") != 0; }));
    // The second connection is refused; the others are taken, and hear nothing.
    server.say([refused = std::size_t{0}, is_second = false](command const& c) mutable -> answer {
        if (c.is("HELLO") && refused == 0 && std::exchange(is_second, true))
            refused = c.connection;
        scripted_server::answer words{""};
        if (c.connection == refused) {
            words.bytes = wire::failure("LOADING Redis is loading the dataset in memory");
            words.is_last = true;
        }
        return words;
    });
    server.cut();
    BOOST_TEST(comes([&] { return next.open_connections() == 2; }));
    BOOST_TEST(server.connections() == 4U);  // two before, and two after
    BOOST_TEST(has(waiting));
}

// The text without the secrets is for people.
BOOST_AUTO_TEST_CASE(a_redirection_of_a_subscription_may_contain_the_password)
{
    scripted_server other{
        [](command const& c) -> answer { return is_acquire(c) ? refuse(c) : std::nullopt; }};
    for (auto* node : {&server, &other})
        node->serve({{0, 16'383, server.port()}});
    server.say([port = other.port()](command const& c) -> answer {
        if (is_acquire(c))
            return refuse(c);
        if (c.is("SSUBSCRIBE"))
            return wire::failure(
                "MOVED " + std::to_string(decide::slot_of("k")) +
                " 127.0.0.1:" + std::to_string(port)
            );
        return std::nullopt;
    });
    connect(topology::cluster, std::to_string(other.port()));
    auto const got = acquire("k");
    BOOST_TEST(comes([&] { return other.count("SSUBSCRIBE") != 0; }));
    BOOST_TEST(!got.is_done());
}

BOOST_AUTO_TEST_CASE(one_key_that_is_refused_fails_no_other)
{
    connect();
    server.say([&](command const& c) -> answer {
        bool const has_bad = std::ranges::find(c.said, "bad") != c.said.end();
        if (is_acquire(c) && has_bad)
            return wire::failure("NOPERM No permissions to access a key");
        return std::nullopt;
    });
    BOOST_TEST_REQUIRE(has(acquire("first"))
    );  // the connection is up: what comes now goes together
    auto const bad = acquire("bad"), good = acquire("good");
    BOOST_TEST(has(good));
    BOOST_TEST(comes([&] { return bad.is_done(); }));
    BOOST_TEST((bad.ec() == error::server_refused));
}

BOOST_AUTO_TEST_CASE(what_comes_while_six_writes_have_no_answer_goes_together_with_the_next)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("before")));
    // The server's thread outlives this function.
    auto const unanswered = std::make_shared<std::vector<command>>();
    server.say([unanswered](command const& c) -> answer {
        if (unanswered->empty() && !is_acquire(c))
            return std::nullopt;
        unanswered->push_back(c);  // a server answers in order: nothing behind it, either
        return "";
    });
    auto const before = acquires();
    std::vector<pending_hold> all;
    for (std::size_t i = 0; i != 9; ++i) {
        all.push_back(acquire("k" + std::to_string(i)));
        auto const written = std::min<std::size_t>(i + 1, 6);
        BOOST_TEST_REQUIRE(comes([&] { return acquires() == before + written; }));
    }
    BOOST_TEST(stays([&] { return acquires() == before + 6; }));
    server.run([&] {
        auto const& first = unanswered->front();
        auto const granted = wire::list({wire::number(1)});
        server.send(first.connection, scripted_server::numbered(first, granted));
    });
    BOOST_TEST(has(all.front()));
    BOOST_TEST(comes([&] { return acquires() == before + 7; }));
    auto const heard = server.heard();
    auto const last = std::find_if(heard.rbegin(), heard.rend(), &is_acquire);
    BOOST_TEST(last->said.at(2) == "6");  // keys: three locks and their counters
}

BOOST_AUTO_TEST_CASE(what_may_still_run_is_ended_with_its_connection)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("before")));
    // The server's thread outlives this function.
    auto const swallowed = std::make_shared<std::atomic<std::size_t>>(0);
    // Nothing after the acquire is answered either, because a server answers in order: the client
    // asks by a PING where its answer is, and would give the connection up if that were answered.
    server.say([swallowed](command const& c) -> answer {
        if (is_acquire(c) && *swallowed == 0)
            *swallowed = c.connection;
        if (c.connection == *swallowed)
            return "";
        return std::nullopt;
    });
    auto const got = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return *swallowed != 0; }));
    server.cut();
    BOOST_TEST(has(got));
    auto const all = server.heard();
    auto const killed = std::ranges::find_if(all, [&](command const& c) {
        return c.is("CLIENT") && c.said.size() == 4 && c.said[1] == "KILL" &&
            c.said[3] == std::to_string(*swallowed);
    });
    BOOST_TEST_REQUIRE((killed != all.end()));
    // Before anything is asked on the new one.
    BOOST_TEST(std::ranges::any_of(killed, all.end(), &is_acquire));
    BOOST_TEST(std::ranges::none_of(all.begin(), killed, [&](command const& c) {
        return is_acquire(c) && c.connection == killed->connection;
    }));
}

// Its bytes may still be on their way there.
BOOST_AUTO_TEST_CASE(what_may_still_run_is_ended_where_the_link_comes_back)
{
    // The server's thread outlives this function.
    struct told {
        std::atomic<bool> is_other = false, swallows = false;
        std::atomic<std::size_t> old = 0;
    };
    auto const seen = std::make_shared<told>();
    server.say([seen](command const& c) -> answer {
        if (c.is("INFO"))
            return wire::text(
                std::string{"redis_mode:standalone\r\nrun_id:"} + (seen->is_other ? "y" : "x") +
                "\r\n"
            );
        if (is_acquire(c) && seen->swallows.exchange(false))
            seen->old = c.connection;
        if (c.connection == seen->old)
            return "";
        return std::nullopt;
    });
    connect();
    BOOST_TEST_REQUIRE(has(acquire("before")));
    seen->swallows = true;
    auto const got = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return seen->old != 0; }));
    seen->is_other = true;
    server.cut();
    BOOST_TEST_REQUIRE(has(got));
    seen->is_other = false;
    server.cut();
    BOOST_TEST_REQUIRE(has(acquire("again")));
    auto const all = server.heard();
    auto const killed = std::ranges::find_if(all, [&](command const& c) {
        return is_kill(c) && c.said[3] == std::to_string(seen->old);
    });
    BOOST_TEST_REQUIRE((killed != all.end()));
    BOOST_TEST(std::ranges::none_of(all.begin(), killed, [&](command const& c) {
        return is_acquire(c) && c.connection == killed->connection;
    }));
}

/// Two calls go out in one write, and somebody else has one of the two locks. Something goes wrong
/// with the reply to the first call.
void check_slip(std::string_view what, bool is_first_held)
{
    connected at;
    at.connect();
    BOOST_TEST_REQUIRE(at.has(at.acquire("before")));
    using command = connected::command;
    struct memory {
        bool has_slipped = false;
        std::string kept;
    };
    // The server's thread outlives this function.
    auto const far = std::make_shared<memory>();
    at.server.say([far, what](command const& c) -> connected::answer {
        if (!c.is("EVALSHA") || c.said.at(2) != "2")
            return std::nullopt;
        bool const is_held = c.said.at(3).starts_with("held");
        auto const own = is_held ? wire::list({wire::number(60'000)}) : wire::number(77);
        auto reply = scripted_server::numbered(c, wire::list({own}));
        if (!std::exchange(far->has_slipped, true))
            reply = what == "lost"  ? ""
                : what == "doubled" ? reply + reply
                                    : (far->kept = reply, "");
        else
            reply += std::exchange(far->kept, {});
        scripted_server::answer sent{reply};
        sent.is_raw = true;
        return sent;
    });
    auto const first = at.acquire(is_first_held ? "held-1" : "free-1");
    pending_hold second;
    read_write_lock{*at.redis, is_first_held ? "free-2" : "held-2"}.write().acquire(second.token());
    auto const& held = is_first_held ? first : second;
    auto const& free = is_first_held ? second : first;
    BOOST_TEST(at.has(free));
    BOOST_TEST(at.stays([&] { return !held.is_done(); }));
    BOOST_TEST(at.redis->stats().reconnects == 1U);
}

BOOST_AUTO_TEST_CASE(no_step_gets_the_reply_to_another_one)
{
    for (auto const* what : {"lost", "doubled", "swapped"})
        for (bool const is_first_held : {true, false})
            BOOST_TEST_CONTEXT(what << (is_first_held ? ", the first is held" : ""))
    check_slip(what, is_first_held);
}

// What it has sent may still run there, and what comes now would overtake it.
BOOST_AUTO_TEST_CASE(nothing_goes_on_while_a_busy_server_keeps_the_old_connection)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("before")));
    // The server's thread outlives this function.
    struct told {
        std::atomic<std::size_t> old = 0;
        std::atomic<int> refused = 0;
    };
    auto const seen = std::make_shared<told>();
    server.say([seen](command const& c) -> answer {
        if (is_acquire(c) && seen->old == 0)
            seen->old = c.connection;
        if (c.connection == seen->old)
            return "";
        return is_kill(c) && seen->refused++ < 2 ? answer{busy} : std::nullopt;
    });
    auto const got = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return seen->old != 0; }));
    server.cut();
    BOOST_TEST(has(got));
    auto all = server.heard();
    std::vector<command> kills;
    std::ranges::copy_if(all, std::back_inserter(kills), &is_kill);
    BOOST_TEST_REQUIRE(kills.size() == 3U);
    for (auto const& each : kills)
        BOOST_TEST(each.said.at(3) == std::to_string(seen->old));
    for (auto const& each : all)
        BOOST_TEST(
            (!is_acquire(each) || each.connection <= seen->old ||
             each.connection == kills.back().connection)
        );
}

// A connection that keeps a channel that nobody wants would keep it for ever.
BOOST_AUTO_TEST_CASE(a_link_that_may_not_unsubscribe_now_is_made_anew)
{
    linger = 10ms;
    server.say([](command const& c) -> answer {
        return is_acquire(c)      ? answer{refuse(c)}
            : c.is("UNSUBSCRIBE") ? answer{busy}
                                  : std::nullopt;
    });
    connect();
    auto waiting = acquire("k");
    auto const asked = [&] { return server.count("SUBSCRIBE", message_channel); };
    BOOST_TEST_REQUIRE(comes([&] { return asked() == 1; }));
    auto const before = server.connections();
    waiting.cancel();
    BOOST_TEST(comes([&] { return server.connections() == before + 1; }));
    BOOST_TEST(server.count("UNSUBSCRIBE") == 1U);
    BOOST_TEST(asked() == 1U);
}

BOOST_DATA_TEST_CASE_F(
    connected,
    a_link_for_messages_waits_for_a_server_that_is_not_ready,
    data::make(std::vector<std::string>{"LOADING", "OOM"}),
    word
)
{
    auto const refused = std::make_shared<std::atomic<std::size_t>>(0);
    server.say([refused, word](command const& c) -> answer {
        if (is_acquire(c))
            return refuse(c);
        // That of the probe has no number.
        if (!c.is("PING") || c.said.size() != 1 || *refused != 0)
            return std::nullopt;
        *refused = c.connection;
        return wire::failure(word + " not now");
    });
    connect();
    auto const waiting = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return server.count("SUBSCRIBE", message_channel) == 1; }));
    auto const all = server.heard();
    auto const asked =
        std::ranges::find_if(all, [](command const& c) { return c.is("SUBSCRIBE"); })->connection;
    // Without memory a server still lets clients subscribe.
    BOOST_TEST((asked == *refused) == (word == "OOM"));
}

BOOST_AUTO_TEST_CASE(a_slot_that_nobody_serves_is_asked_for_again)
{
    server.serve({{0, 16'383, server.port()}});
    connect(topology::cluster);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    auto const refused = std::make_shared<std::atomic<int>>(0);
    server.say([refused](command const& c) -> answer {
        if (is_acquire(c) && (*refused)++ < 3)
            return wire::failure("CLUSTERDOWN Hash slot not served");
        return std::nullopt;
    });
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(*refused == 4);
}

// A reader has the channel of its lock alone.
BOOST_AUTO_TEST_CASE(only_its_own_confirmation_confirms_a_channel)
{
    auto const asks = [](command const& c) {
        return c.is("EVALSHA") && c.said[1] == scripts::read_acquire.sha1;
    };
    std::atomic<std::size_t> push = 0;
    server.say([&](command const& c) -> answer {
        if (asks(c))
            return wire::list({wire::list({wire::number(60'000)})});
        if (!c.is("SUBSCRIBE"))
            return std::nullopt;
        push = c.connection;
        return confirmation("another");
    });
    auto const asked = [&] { return std::ranges::count_if(server.heard(), asks); };
    connect();
    pending_hold got;
    read_write_lock{*redis, "k"}.read().acquire(got.token());
    BOOST_TEST_REQUIRE(comes([&] { return push != 0; }));
    BOOST_TEST(stays([&] { return asked() == 1; }));
    server.send(push, confirmation("redisson_rwlock:{k}"));
    BOOST_TEST(comes([&] { return asked() == 2; }));
    BOOST_TEST(!got.is_done());
}

// ---- Sentinels ---------------------------------------------------------------------------------

// They say nothing against the primary that they have named before.
BOOST_AUTO_TEST_CASE(sentinels_that_are_all_down_keep_nobody_from_the_primary)
{
    scripted_server sentinel, another;
    for (auto* each : {&sentinel, &another})
        each->name(server.port());
    connect_by(topology::sentinel, {&sentinel, &another});
    BOOST_TEST_REQUIRE(has(acquire("before")));
    for (auto* each : {&sentinel, &another})
        each->listen(false);
    server.cut();
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(says("no Sentinel answers"));
}

// One that answers knows better than the last time.
BOOST_AUTO_TEST_CASE(a_sentinel_that_knows_of_no_primary_is_believed)
{
    scripted_server sentinel;
    sentinel.name(server.port());
    connect_by(topology::sentinel, {&sentinel});
    BOOST_TEST_REQUIRE(has(acquire("before")));
    sentinel.say([](command const& c) -> answer {
        return c.is("SENTINEL") ? answer{"_\r\n"} : std::nullopt;
    });
    server.cut();
    auto const got = acquire("k");
    BOOST_TEST(comes([&] { return got.is_done(); }));
    BOOST_TEST((got.ec() == error::server_refused));
}

BOOST_AUTO_TEST_CASE(the_address_that_sentinels_name_is_told_if_it_cannot_be_reached)
{
    scripted_server sentinel;
    sentinel.name(server.port());
    server.listen(false);
    connect_by(topology::sentinel, {&sentinel});
    auto const got = acquire("k");
    BOOST_TEST(comes([&] {
        return says("the primary of m at 127.0.0.1:" + std::to_string(server.port()));
    }));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_no_sentinel_is_of_another_kind_than_the_url)
{
    connect_by(topology::sentinel, {&server});
    auto const got = acquire("k");
    BOOST_TEST(comes([&] { return got.is_done(); }));
    BOOST_TEST((got.ec() == error::wrong_topology));
}

// ---- Clusters ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(seeds_that_never_answer_hold_up_nobody)
{
    auto const silence = [](command const&) -> answer { return ""; };
    scripted_server first{silence}, second{silence};
    server.serve({{0, 16'383, server.port()}});
    connect_by(topology::cluster, {&first, &second, &server});
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(comes([&] { return first.open_connections() + second.open_connections() == 0; }));
    BOOST_TEST(server.count("CLUSTER") == 1U);
}

// The node that is asked for maps hangs when another one has failed over.
BOOST_AUTO_TEST_CASE(a_node_that_hangs_holds_up_no_map)
{
    scripted_server other, next;
    for (auto* node : {&server, &other, &next})
        node->serve({{0, 16'383, other.port()}});
    config patient;
    patient.connect_timeout = patient.silence_timeout = 20s;
    connect_by(topology::cluster, {&server, &other, &next}, patient);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([](command const&) -> answer { return ""; });
    next.serve({{0, 16'383, next.port()}});
    other.listen(false);
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(next.count("EVALSHA") != 0U);
}

BOOST_AUTO_TEST_CASE(a_cluster_whose_nodes_say_standalone_is_used)
{
    server.serve({{0, 16'383, server.port()}});
    server.say([](command const& c) -> answer {
        return c.is("INFO") ? answer{wire::text("redis_mode:standalone\r\nrun_id:a\r\n")}
                            : std::nullopt;
    });
    connect(topology::cluster);
    BOOST_TEST(has(acquire("k")));
}

// Nodes that have left a cluster come back at other addresses, again and again.
BOOST_AUTO_TEST_CASE(the_links_of_a_node_without_slots_are_forgotten)
{
    struct link_epochs final : observer {
        void on_event(client_event const& what) noexcept override
        {
            if (auto const* const is_up = std::get_if<events::link_up>(&what))
                of[is_up->link] = is_up->epoch;
        }
        std::map<std::size_t, std::uint64_t> of;
    };
    scripted_server other;
    auto const serve_by = [&](scripted_server& owner) {
        auto& left = &owner == &server ? other : server;
        for (auto* node : {&server, &other})
            node->serve({{0, 16'383, owner.port()}});
        owner.say({});
        left.say([port = owner.port()](command const& c) -> answer {
            return is_acquire(c) ? answer{redirecting("MOVED", "k", port)} : std::nullopt;
        });
    };
    config settings;
    auto const epochs = std::make_shared<link_epochs>();
    settings.observer = epochs;
    serve_by(other);
    connect_by(topology::cluster, {&server}, settings);
    BOOST_TEST_REQUIRE(has(acquire("k")));
    serve_by(server);
    BOOST_TEST_REQUIRE(has(acquire("k")));
    BOOST_TEST_REQUIRE(comes([&] { return other.open_connections() == 0; }));
    auto const maps = server.count("CLUSTER");
    server.say([is_first = true](command const& c) mutable -> answer {
        return is_acquire(c) && std::exchange(is_first, false)
            ? answer{wire::failure("CLUSTERDOWN The cluster is down")}
            : std::nullopt;
    });
    BOOST_TEST_REQUIRE(has(acquire("k")));
    BOOST_TEST_REQUIRE(comes([&] { return server.count("CLUSTER") > maps; }));
    serve_by(other);
    BOOST_TEST_REQUIRE(has(acquire("k")));
    BOOST_TEST(epochs->of.at(0) == 1U);  // at the node that came first
}

// ---- What is refused for the moment ------------------------------------------------------------

/// What a single try ends with, in a moment.
std::pair<error_code, std::string> try_once(connected& at)
{
    pending_try p;
    diagnostics said;
    lock{*at.redis, "k"}.try_acquire(with_diagnostics(said, p.token()));
    BOOST_TEST_REQUIRE(at.comes([&] { return p.is_done(); }));
    std::string const about = "try_acquire k";
    BOOST_TEST_REQUIRE(said.text().starts_with(about));
    auto words = said.text().substr(about.size());
    return {p.ec(), words.substr(words.find(": ") + 2)};
}

config impatient()
{
    config settings;
    settings.timeout = 100ms;
    return settings;
}

BOOST_DATA_TEST_CASE_F(
    connected,
    a_try_that_is_refused_for_the_moment_says_why,
    data::make(std::vector<std::string>{
        "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down",
        "CLUSTERDOWN Hash slot not served"}),
    words
)
{
    server.serve({{0, 16'383, server.port()}});
    connect_by(topology::cluster, {&server}, impatient());
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([words](command const& c) -> answer {
        return is_acquire(c) ? answer{wire::failure(words)} : std::nullopt;
    });
    auto const [ec, said] = try_once(*this);
    BOOST_TEST((ec == error::unavailable));
    BOOST_TEST(said.ends_with(std::to_string(server.port()) + " refuses for the moment: " + words));
    BOOST_TEST(log.size() == 1U);
    BOOST_TEST(says("the server refuses acquire for the moment: " + words + "; trying again"));
    server.say({});
    BOOST_TEST(has(acquire("after")));
}

BOOST_AUTO_TEST_CASE(a_try_at_a_server_that_is_not_ready_says_why)
{
    for (auto const* verb : {"HELLO", "INFO"}) {
        connected at;
        at.server.say([verb = std::string{verb}](command const& c) -> answer {
            return c.is(verb) ? answer{wire::failure("LOADING the dataset")} : std::nullopt;
        });
        at.connect_by(topology::single, {&at.server}, impatient());
        auto const [ec, said] = try_once(at);
        BOOST_TEST((ec == error::unavailable));
        BOOST_TEST(said.starts_with("no connection to 127.0.0.1:"));
        BOOST_TEST(said.ends_with(": LOADING the dataset"));
        BOOST_TEST(at.says(said + "; trying again"));
    }
}

BOOST_AUTO_TEST_CASE(a_user_who_may_run_no_script_is_told_the_remedy)
{
    server.say([](command const& c) -> answer {
        auto const words = "NOPERM User default has no permissions to run the 'eval' command";
        return c.is("EVAL") ? answer{wire::failure(words)} : std::nullopt;
    });
    connect_by(topology::single, {&server}, impatient());
    auto const [ec, said] = try_once(*this);
    BOOST_TEST((ec == error::server_refused));
    BOOST_TEST(said.find("the server refuses EVAL: NOPERM") != said.npos);
    BOOST_TEST(said.find("Remedy: ACL SETUSER default +eval") != said.npos, said);
}

BOOST_AUTO_TEST_CASE(a_slot_that_no_node_serves_is_told)
{
    auto const slot = decide::slot_of("k");
    server.serve({{0, slot - 1, server.port()}, {slot + 1, 16'383, server.port()}});
    connect_by(topology::cluster, {&server}, impatient());
    BOOST_TEST_REQUIRE(has(acquire("before")));
    auto const [ec, said] = try_once(*this);
    BOOST_TEST((ec == error::unavailable));
    BOOST_TEST(said == "no node of the cluster serves the slot of the name");
    BOOST_TEST(log.size() == 1U);
    BOOST_TEST(says("serves the slot of the name: " + std::to_string(slot)));
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_refuses_nothing)
{
    connect_by(topology::single, {&server}, impatient());
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([](command const&) -> answer { return ""; });
    auto const said = try_once(*this).second;
    BOOST_TEST(said == make_error_code(error::unavailable).message());
}

BOOST_AUTO_TEST_CASE(words_for_the_moment_have_no_secret_and_steer_no_terminal)
{
    auto settings = impatient();
    settings.password = "s3cret";
    connect_by(topology::single, {&server}, settings);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([](command const& c) -> answer {
        return is_acquire(c) ? answer{wire::failure("BUSY s3cret \x1b[2J")} : std::nullopt;
    });
    auto const said = try_once(*this).second;
    BOOST_TEST(said.ends_with(": BUSY *** \\x1b[2J"));
    BOOST_TEST(says(": BUSY *** \\x1b[2J"));
}

// ---- The connection of the subscriptions -------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_subscription_that_is_confirmed_by_a_reply_is_told)
{
    server.say([](command const& c) -> answer {
        return is_acquire(c) ? answer{refuse(c)}
            : c.is("SUBSCRIBE")
            ? answer{wire::list({wire::text("subscribe"), wire::text(c.said[1]), wire::number(1)})}
            : std::nullopt;
    });
    config settings;
    auto const counted = std::make_shared<metrics>();
    settings.observer = counted;
    connect_by(topology::single, {&server}, settings);
    auto const waiting = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return server.count("SUBSCRIBE", message_channel) >= 5; }));
    BOOST_TEST(log.size() < 4U);  // one, if it does not take longer than a second
    BOOST_TEST(says("(messages): lost: SUBSCRIBE is not confirmed by a push of RESP3"));
    BOOST_TEST(redis->stats().reconnects >= 4U);
    auto const seen = counted->snapshot();
    BOOST_TEST(seen.reconnects >= 4U);
    BOOST_TEST(seen.links_lost >= 4U);
}

BOOST_AUTO_TEST_CASE(a_single_server_that_redirects_is_told)
{
    connect();
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([](command const& c) -> answer {
        return is_acquire(c) ? answer{redirecting("MOVED", "k", 7)} : std::nullopt;
    });
    auto const got = acquire("k");
    BOOST_TEST(comes([&] { return got.is_done(); }));
    BOOST_TEST((got.ec() == error::wrong_topology));
    BOOST_TEST(says("Remedy: redis+cluster://"));
}

// ---- Addresses of another network --------------------------------------------------------------

struct behind_nat : connected {
    void connect_behind(topology how, scripted_server const& first)
    {
        auto settings = first.by_port();
        settings.topology = how;
        settings.master_name = "m";
        settings.map_address = [to = server.port(), other = other.port()](address named) {
            named.port = named.port == 1 ? to : named.port == 2 ? other : named.port;
            return named;
        };
        connect_with(std::move(settings));
    }
    scripted_server other;
};

BOOST_FIXTURE_TEST_CASE(a_cluster_behind_nat_is_used, behind_nat)
{
    server.serve({{0, 16'383, 1}});
    other.serve({{0, 16'383, 2}});
    connect_behind(topology::cluster, server);
    BOOST_TEST_REQUIRE(has(acquire("before")));
    server.say([](command const& c) -> answer {
        return is_acquire(c) ? answer{redirecting("MOVED", "k", 2)} : std::nullopt;
    });
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(other.count("EVALSHA") != 0U);
}

BOOST_FIXTURE_TEST_CASE(a_primary_that_sentinels_name_behind_nat_is_used, behind_nat)
{
    other.name(1);
    connect_behind(topology::sentinel, other);
    BOOST_TEST(has(acquire("k")));
    BOOST_TEST(server.count("EVALSHA") != 0U);
}

// ---- Messages in both kinds --------------------------------------------------------------------

struct in_both_kinds : connected {
    in_both_kinds()
    {
        server.serve({{0, 16'383, server.port()}});
        auto settings = server.by_port();
        settings.topology = topology::cluster;
        settings.publish = publishing::both;
        connect_with(std::move(settings));
        watch.emplace(lock{*redis, "k"});
        BOOST_TEST_REQUIRE((next() == lock_event::kind::live));
        auto const all = server.heard();
        channel = std::ranges::find_if(all, [](command const& c) {
                      return c.is("SUBSCRIBE");
                  })->connection;
    }
    lock_event::kind next()
    {
        pending<lock_event> p;
        watch->next(p.token());
        BOOST_TEST_REQUIRE(comes([&] { return p.is_done(); }));
        return p.value().what;
    }
    void publish(std::string_view kind)
    {
        server.send(
            channel, wire::push({wire::text(kind), wire::text(channel_of("k")), wire::text("0")})
        );
    }
    std::optional<lock_watch> watch;
    std::size_t channel = 0;  ///< the connection that hears messages
};

// The server ends the sharded half alone, and would bring each message by the plain one for ever.
BOOST_FIXTURE_TEST_CASE(a_slot_that_moves_ends_the_plain_subscription_too, in_both_kinds)
{
    server.send(
        channel,
        wire::push({wire::text("sunsubscribe"), wire::text(channel_of("k")), wire::number(0)})
    );
    BOOST_TEST(comes([&] { return server.count("SSUBSCRIBE") == 3; }));  // two channels, and again
    auto const all = server.heard();
    auto const left =
        std::ranges::find_if(all, [](command const& c) { return c.is("UNSUBSCRIBE"); });
    BOOST_TEST_REQUIRE((left != all.end()));
    BOOST_TEST(std::any_of(left, all.end(), [](command const& c) { return c.is("SUBSCRIBE"); }));
}

// As the node of a slot that has moved while its channel was being subscribed.
BOOST_FIXTURE_TEST_CASE(a_refused_sharded_half_ends_the_plain_one, in_both_kinds)
{
    server.say([](command const& c) -> answer {
        if (c.is("SSUBSCRIBE"))
            return wire::failure("NOPERM no permissions to access one of the channels");
        return std::nullopt;
    });
    auto const before = server.count("UNSUBSCRIBE");
    lock_watch other{lock{*redis, "other"}};
    pending<lock_event> heard;
    other.next(heard.token());
    BOOST_TEST(comes([&] { return server.count("UNSUBSCRIBE") > before; }));
}

// The second one may be of another release, by a client that publishes in one way alone.
BOOST_FIXTURE_TEST_CASE(a_watch_hears_the_messages_of_both_kinds, in_both_kinds)
{
    for (auto const* kind : {"message", "smessage", "smessage"}) {
        publish(kind);
        BOOST_TEST((next() == lock_event::kind::released));
    }
}

// The old node goes on to bring what it hears of the other nodes.
BOOST_AUTO_TEST_CASE(a_message_counts_on_the_link_of_its_channel_alone)
{
    scripted_server other{[](command const& c) -> answer {
        return is_acquire(c) ? answer{refuse(c)} : std::nullopt;
    }};
    for (auto* node : {&server, &other})
        node->serve({{0, 16'383, server.port()}});
    server.say(
        [words = redirecting("MOVED", "k", other.port()),
         asked = 0](command const& c) mutable -> answer {
            if (!is_acquire(c))
                return std::nullopt;
            return ++asked < 3 ? answer{refuse(c)} : answer{words};
        }
    );
    auto const hears_at = [](scripted_server const& node) {
        auto const all = node.heard();
        auto const at =
            std::ranges::find_if(all, [](command const& c) { return c.is("SSUBSCRIBE"); });
        return at == all.end() ? std::size_t{0} : at->connection;
    };
    connect(topology::cluster);
    auto const waits = acquire("k");
    BOOST_TEST_REQUIRE(comes([&] { return acquires() == 2U; }));
    auto const old = hears_at(server);
    auto const message = [&] {
        return wire::push({wire::text("smessage"), wire::text(channel_of("k")), wire::text("0")});
    };
    server.send(old, message());
    auto const asked = [&] {
        auto const all = other.heard();
        return std::ranges::count_if(all, &is_acquire);
    };
    BOOST_TEST_REQUIRE(comes([&] { return hears_at(other) != 0; }));
    stays([] { return true; });  // it asks when it is subscribed there
    auto const before = asked();
    server.send(old, message());
    BOOST_TEST(stays([&] { return asked() == before; }));
    other.send(hears_at(other), message());
    BOOST_TEST(comes([&] { return asked() > before; }));
}

// A hold that outlives a run of the client is told of its loss at once when it runs again.
BOOST_AUTO_TEST_CASE(what_is_listened_to_is_subscribed_when_the_client_runs_again)
{
    auto settings = server.by_port();
    settings.instant_notice = true;
    connect_with(std::move(settings));
    auto const held = acquire("k");
    BOOST_TEST_REQUIRE(has(held));
    auto const asked = [&] { return server.count("SUBSCRIBE", "__keyspace@0__:k"); };
    BOOST_TEST_REQUIRE(comes([&] { return asked() == 1; }));
    run.cancel();
    BOOST_TEST_REQUIRE(comes([&] { return run.is_done() && server.open_connections() == 0; }));
    run = {};
    redis->run(run.token());
    BOOST_TEST(comes([&] { return asked() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_let_us_in_is_said)
{
    server.say([](command const& c) -> answer {
        if (c.is("HELLO"))
            return wire::failure("WRONGPASS invalid username-password pair or user is disabled.");
        return std::nullopt;
    });
    connect();
    auto const got = acquire("k");
    BOOST_TEST(comes([&] { return got.is_done(); }));
    BOOST_TEST((got.ec() == error::server_refused));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
