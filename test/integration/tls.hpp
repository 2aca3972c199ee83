// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/tls_files.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// A port of no server's.
inline std::uint16_t spare_port(server_kind kind) { return redis_server{kind, {}, false}.port(); }

/// Whether this server was built with TLS.
inline bool speaks_tls(server_kind kind)
{
    static std::map<server_kind, bool> known;
    auto const [at, is_new] = known.emplace(kind, true);
    if (is_new)
        try {
            tls_files const files;
            redis_server{kind, tls_lines(files, spare_port(kind))};
        } catch (std::exception const& e) {
            BOOST_TEST_MESSAGE(kind << " is skipped: " << e.what());
            BOOST_TEST(
                !nothing_is_left_out(), "CI=true, and " << kind << " speaks no TLS: " << e.what()
            );
            at->second = false;
        }
    return at->second;
}

inline std::vector<server_kind> tls_servers()
{
    auto found = installed_servers();
    std::erase_if(found, [](server_kind kind) { return !speaks_tls(kind); });
    return found;
}

/// With time for handshakes, many at once.
inline config patient(config where)
{
    auto c = quick(std::move(where));
    c.connect_timeout = 2s;
    return c;
}

struct tls_lab {
    explicit tls_lab(
        server_kind kind,
        client_certificates clients = client_certificates::unasked,
        std::vector<std::string> const& names = {"localhost", "127.0.0.1"}
    )
        : files{names}
        , port{spare_port(kind)}
        , server{kind, tls_lines(files, port, clients)}
        , at{server}
    {}

    config settings(std::string host = "localhost") const
    {
        config c;
        c.addresses = {address{.host = std::move(host), .port = port}};
        c.tls.enabled = true;
        c.tls.ca_file = files.ca;
        return patient(c);
    }

    tls_files files;
    std::uint16_t port;
    redis_server server;
    lab at;
};

/// Taken, waited for by another client until a message comes, and given back.
inline asio::awaitable<void> use(tls_lab& in, running_client& a, running_client& b)
{
    auto const name = unique_name("tls");
    hold first = co_await lock{a.client, name}.acquire();
    tasks all{in.at.context()};
    all.start([&]() -> asio::awaitable<void> {
        hold second = co_await lock{b.client, name}.acquire();
        co_await second.release();
    });
    bool const waits = co_await eventually([&] { return is_waiting(b.client, name); });
    BOOST_TEST(waits);
    co_await first.release();
    co_await all.join(2s);
    for (auto const& c : {&a, &b})
        BOOST_TEST(c->log->count("no connection") == 0U, c->log->all());
}

/// Each acquire fails at once, and the log has these.
inline asio::awaitable<void> refused_with(
    running_client& c, std::string line, std::string other = {}
)
{
    for (int i = 0; i != 2; ++i) {
        stopwatch const watch;
        auto const [ec, none] = co_await lock{c.client, "refused"}.acquire(tuple);
        BOOST_TEST(ec == error::tls_refused);
        BOOST_TEST(watch.ms() < 900);
    }
    for (auto const& each : {line, other})
        BOOST_TEST(c.log->count(each) > 0U, each << " is not in\n" << c.log->all());
}

/// After what was wrong has been mended, without a new client.
inline asio::awaitable<void> accepted(running_client& c)
{
    bool got = false;
    for (stopwatch const watch; !got && watch.ms() < 3'000;) {
        auto const [ec, held] = co_await lock{c.client, "mended"}.try_acquire_for(20ms, tuple);
        got = !ec && held;
    }
    BOOST_TEST(got, c.log->all());
}

}  // namespace colock::test
