// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The default logger, where nobody reads what it writes.
#include "integration/suites.hpp"
#include "support/blocked_stderr.hpp"
#include "support/scripted_server.hpp"

#include <algorithm>
#include <array>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(default_log)

BOOST_DATA_TEST_CASE(a_pipe_that_nobody_reads_delays_no_renewal, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    blocked_stderr full;
    at.run([&]() -> asio::awaitable<void> {
        auto settings = server.by_socket();
        settings.lease = 1'500ms;  // a renewal fits between two lost connections
        BOOST_TEST_REQUIRE(bool{settings.log.sink});
        client mine{at.context().get_executor(), settings};
        mine.run(asio::detached);
        auto const held = co_await lock{mine, unique_name("log")}.acquire();
        auto const until = std::chrono::steady_clock::now() + 4s;
        while (std::chrono::steady_clock::now() < until) {
            server.ask("CLIENT", "KILL", "TYPE", "normal");  // a warning each time
            asio::steady_timer pause{at.context(), 250ms};
            co_await pause.async_wait(asio::deferred);
            BOOST_TEST_REQUIRE(bool{held});
        }
        co_await mine.close();
    });
    BOOST_TEST(full.read_until_end("\n").starts_with("colock warning: "));
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// Log lines show no password and no control character, whatever a server or a caller puts in.

constexpr std::array secrets{"us3r-Secret", "p4ss-Secret", "s3ntinel-User", "s3ntinel-Pass"};

config with_secrets(config where)
{
    where = quick(std::move(where));
    where.username = secrets[0];
    where.password = secrets[1];
    where.sentinel_username = secrets[2];
    where.sentinel_password = secrets[3];
    where.links = 1;
    return where;
}

/// As Redis 5 does: it does not know HELLO, and quotes what came with it.
std::optional<scripted_server::answer> quote_hello(scripted_server::command const& c)
{
    if (!c.is("HELLO"))
        return std::nullopt;
    std::string line = "ERR unknown command `HELLO`, with args beginning with: ";
    for (std::size_t i = 1; i != c.said.size(); ++i)
        line += '`' + c.said[i] + "`, ";
    return wire::failure(line);
}

/// The password is given all the same, so that the test is not passed by asking nothing.
void check_refusal_without_secrets(config const& where)
{
    lab at{where};
    auto& redis = at.connect(with_secrets(where));
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("secret")};
        auto const [ec, none] = co_await mine.acquire(asio::cancel_after(5s, tuple));
        BOOST_TEST((ec == error::server_refused), ec.message());
    });
    for (auto const* secret : secrets)
        BOOST_TEST(redis.log->count(secret) == 0U, secret << " in the log:\n" << redis.log->all());
    BOOST_TEST(redis.log->count("does not know HELLO") != 0U, redis.log->all());
    BOOST_TEST(redis.log->count("6.0") != 0U, redis.log->all());
}

/// Lines are shown on terminals and read one by one.
void check_no_control_character(log_lines const& log)
{
    std::size_t lines = 0;
    auto const all = log.all();
    for (unsigned char const byte : all)
        if (byte == '\n')
            ++lines;
        else
            BOOST_TEST((byte >= 0x20 && byte != 0x7f), "byte " << unsigned{byte} << " in a line");
    BOOST_TEST(lines == log.count(""), "a line is broken in two");
}

constexpr std::string_view nasty = "a\x1b[2Jb\nforged: all is well\x7f\r\tc";

/// Answers these commands with an error that has all that.
scripted_server::script refuse_nastily(std::string verb, std::string code)
{
    return [=](scripted_server::command const& c) -> std::optional<scripted_server::answer> {
        if (!c.is(verb))
            return std::nullopt;
        return '!' + wire::text(code + ' ' + std::string{nasty}).substr(1);  // may have line ends
    };
}

void check_refusal_without_control_characters(scripted_server const& server)
{
    lab at{server.by_port()};
    auto& redis = at.connect();
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("nasty")};
        auto const [ec, none] = co_await mine.acquire(asio::cancel_after(3s, tuple));
        BOOST_TEST((ec == error::server_refused), ec.message());
    });
    BOOST_TEST(redis.log->count("forged") != 0U, redis.log->all());
    check_no_control_character(*redis.log);
}

config by_sentinel(scripted_server const& sentinel)
{
    auto where = sentinel.by_port();
    where.topology = topology::sentinel;
    where.master_name = "main";
    return where;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(secrets_in_the_log)

BOOST_DATA_TEST_CASE(a_server_whose_hello_is_renamed, each_server(), kind)
{
    redis_server server{kind, {"rename-command HELLO \"\""}};
    check_refusal_without_secrets(server.by_port());
}

BOOST_AUTO_TEST_CASE(a_server_that_quotes_hello)
{
    scripted_server const server{quote_hello};
    check_refusal_without_secrets(server.by_port());
    BOOST_TEST(server.count("HELLO") > 0U);
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_quotes_hello)
{
    scripted_server const sentinel{quote_hello};
    check_refusal_without_secrets(by_sentinel(sentinel));
    BOOST_TEST(sentinel.count("HELLO") > 0U);
}

BOOST_AUTO_TEST_CASE(a_primary_that_quotes_hello)
{
    scripted_server const primary{quote_hello};
    scripted_server sentinel;
    sentinel.name(primary.port());
    check_refusal_without_secrets(by_sentinel(sentinel));
    BOOST_TEST(primary.count("HELLO") > 0U);
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_set_up_error)
{
    scripted_server const server{refuse_nastily("HELLO", "WRONGPASS")};
    check_refusal_without_control_characters(server);
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_script_error)
{
    scripted_server const server{refuse_nastily("EVALSHA", "ERR")};
    check_refusal_without_control_characters(server);
}

BOOST_DATA_TEST_CASE(control_characters_of_a_name, each_server(), kind)
{
    redis_server server{kind, {"user app on >pw ~* &* +@all"}};
    lab at{server};
    auto settings = at.settings();
    settings.username = "app";
    settings.password = "pw";
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name(nasty);
        hold held = co_await lock{redis.client, name}.acquire();
        server.ask("DEL", name);
        co_await held.lost();
        server.ask("ACL", "SETUSER", "app", "resetkeys", "~other*");
        auto const [ec, none] = co_await lock{redis.client, name}.acquire(tuple);
        BOOST_TEST((ec == error::server_refused), ec.message());
        BOOST_TEST(redis.log->count("forged") >= 2U, redis.log->all());
        check_no_control_character(*redis.log);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
