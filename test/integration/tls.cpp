// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
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
    bool const subscribed = co_await eventually([&] {
        return in.server.listeners("redisson_lock__channel:{" + name + "}") == 1;
    });
    BOOST_TEST(subscribed);
    co_await first.release();
    co_await all.join(2s);  // the poll cap is 5 s
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

// Over TLS to one server: who is trusted, who is not, and what is said about it.

BOOST_AUTO_TEST_SUITE(tls)

BOOST_AUTO_TEST_CASE(by_name_and_by_address)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        auto& a = in.at.connect(in.settings());
        auto& b = in.at.connect(in.settings("127.0.0.1"));
        auto by_url =
            patient(config::from_url("rediss://localhost:" + std::to_string(in.port) + "/2"));
        by_url.tls.ca_file = in.files.ca;
        auto& c = in.at.connect(by_url);
        in.at.run([&]() -> asio::awaitable<void> {
            co_await use(in, a, b);
            hold held = co_await lock{c.client, unique_name("url")}.acquire();
            BOOST_TEST(in.server.ask("CLIENT", "LIST").text.find("db=2") != std::string::npos);
            co_await held.release();
        });
    }
}

BOOST_AUTO_TEST_CASE(a_certificate_of_the_clients)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind, client_certificates::demanded};
        auto settings = in.settings();
        auto& without = in.at.connect(settings);
        settings.tls.certificate_file = in.files.client_certificate;
        settings.tls.private_key_file = in.files.client_key;
        auto& a = in.at.connect(settings);
        auto& b = in.at.connect(settings);
        // Signed by the right authority, for servers alone.
        settings.tls.certificate_file = in.files.server_certificate;
        settings.tls.private_key_file = in.files.server_key;
        auto& wrong = in.at.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            co_await use(in, a, b);
            co_await refused_with(
                without,
                "the server wants a certificate of the client's",
                "Remedy: tls.certificate_file and tls.private_key_file; trying again"
            );
            co_await refused_with(
                wrong, "the server refuses the certificate in tls.certificate_file"
            );
        });
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_authority)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        auto settings = in.settings();
        settings.tls.ca_file = in.files.other_ca;
        auto& other = in.at.connect(settings);
        settings.tls.ca_file.clear();
        auto& system = in.at.connect(settings);
        settings.tls.verify = false;
        auto& any = in.at.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            auto const where = "no connection to localhost:" + std::to_string(in.port) +
                ": the certificate is refused as that of \"localhost\": ";
            for (auto* const c : {&other, &system})
                co_await refused_with(
                    *c, where, "Remedy: the authority that has signed it in tls.ca_file"
                );
            co_await use(in, any, any);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_certificate_of_another_name)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind, client_certificates::unasked, {"redis.internal", "10.9.8.7"}};
        auto settings = in.settings();
        auto& by_name = in.at.connect(settings);
        settings.addresses.front().host = "127.0.0.1";
        auto& by_address = in.at.connect(settings);
        settings.tls.server_name = "redis.internal";
        auto& a = in.at.connect(settings);
        settings.tls.server_name = "10.9.8.7";
        auto& b = in.at.connect(settings);
        settings.tls.server_name.clear();
        settings.tls.verify = false;
        auto& any = in.at.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            co_await refused_with(by_name, "as that of \"localhost\": ", "ostname mismatch");
            co_await refused_with(by_address, "as that of \"127.0.0.1\": ", "IP address mismatch");
            co_await use(in, a, b);
            co_await use(in, a, any);
        });
    }
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_renewed)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        in.server.ask("CONFIG", "SET", "tls-cert-file", in.files.expired_certificate);
        auto& c = in.at.connect(in.settings());
        in.at.run([&]() -> asio::awaitable<void> {
            co_await refused_with(c, "certificate has expired", "as that of \"localhost\"");
            in.server.ask("CONFIG", "SET", "tls-cert-file", in.files.server_certificate);
            co_await accepted(c);
        });
    }
}

BOOST_AUTO_TEST_CASE(after_the_server_was_killed)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        auto settings = in.settings();
        settings.lease = 3s;
        auto& a = in.at.connect(settings);
        auto& b = in.at.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            co_await use(in, a, b);
            in.server.kill();
            bool const down = co_await eventually([&] { return a.client.stats().links_up == 0; });
            BOOST_TEST(down);
            in.server.start();
            co_await accepted(a);
            BOOST_TEST(a.client.stats().reconnects >= 1U);
            BOOST_TEST(a.log->count("refused as that of") == 0U);
        });
    }
}

BOOST_AUTO_TEST_CASE(files_that_can_not_be_used)
{
    tls_lab in{server_kind::redis};
    auto settings = in.settings();
    auto const later = in.files.ca + ".later";
    settings.tls.ca_file = later;
    auto& c = in.at.connect(settings);
    settings.tls.ca_file = in.files.ca;
    settings.tls.certificate_file = in.files.client_certificate;
    settings.tls.private_key_file = in.files.encrypted_key;
    auto& encrypted = in.at.connect(settings);
    in.at.run_only([&]() -> asio::awaitable<void> {
        for (auto* const each : {&c, &encrypted}) {
            co_await eventually([&] { return each->ended->has_value(); });
            BOOST_TEST(each->ended->value() == error::invalid_tls);
        }
        BOOST_TEST(c.log->count("tls.ca_file " + later + ": No such file or directory") == 1U);
        BOOST_TEST(encrypted.log->count(in.files.encrypted_key + ": it is encrypted") == 1U);
        std::filesystem::copy_file(in.files.ca, later);
        c.run();
        co_await accepted(c);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Over TLS to peers of other kinds: without TLS, no Redis, Sentinels, a cluster.

/// Listens on a port and says the same to all.
struct small_server {
    explicit small_server(asio::io_context& context)
        : acceptor{context, {asio::ip::address_v4::loopback(), 0}}
    {}

    config settings() const
    {
        config c;
        c.addresses = {address{.host = "localhost", .port = acceptor.local_endpoint().port()}};
        c.tls.enabled = true;
        return patient(c);
    }

    asio::ip::tcp::acceptor acceptor;
};

BOOST_AUTO_TEST_SUITE(tls_peers)

BOOST_AUTO_TEST_CASE(one_side_alone_speaks_tls)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        auto settings = in.settings();
        settings.connect_timeout = 300ms;
        settings.tls = {};
        auto& plain = in.at.connect(settings);
        settings = in.settings();
        settings.connect_timeout = 300ms;
        settings.addresses.front().port = in.server.port();
        auto& encrypted = in.at.connect(settings);
        in.at.run([&]() -> asio::awaitable<void> {
            for (auto* const c : {&plain, &encrypted}) {
                auto const [ec, none] =
                    co_await lock{c->client, "mixed"}.try_acquire_for(300ms, tuple);
                BOOST_TEST((ec || !none));
                auto const [why, unknown] = co_await lock{c->client, "mixed"}.is_locked(tuple);
                BOOST_TEST(
                    (c == &plain ? (why == asio::error::connection_reset || why == asio::error::eof)
                                 : why == asio::error::timed_out),
                    why.message()
                );
            }
            BOOST_TEST(
                plain.log->count("; if the port is one for TLS: rediss://; trying") > 0U,
                plain.log->all()
            );
            BOOST_TEST(plain.log->count("anceled") == 0U, plain.log->all());
            BOOST_TEST(
                encrypted.log->count("if the port is one without TLS: redis://; trying") > 0U,
                encrypted.log->all()
            );
        });
    }
}

BOOST_AUTO_TEST_CASE(a_server_of_something_else)
{
    lab at{shared_server(server_kind::redis)};
    small_server talks{at.context()};
    auto settings = talks.settings();
    settings.tls.verify = false;
    auto& c = at.connect(settings);
    tasks all{at.context()};
    all.start([&]() -> asio::awaitable<void> {
        for (;;) {
            auto [ec, client] = co_await talks.acceptor.async_accept(tuple);
            if (ec)
                co_return;
            co_await asio::async_write(client, asio::buffer("HTTP/1.1 400 Bad\r\n\r\n", 20), tuple);
        }
    });
    at.run([&]() -> asio::awaitable<void> {
        co_await refused_with(
            c, "the port does not speak TLS", "Remedy: the port for TLS, or redis://"
        );
        talks.acceptor.close();
        co_await all.join(1s);
    });
}

BOOST_AUTO_TEST_CASE(the_name_is_sent)
{
    tls_files const files;
    lab at{shared_server(server_kind::redis)};
    small_server listens{at.context()};
    auto settings = listens.settings();
    settings.tls.ca_file = files.ca;
    auto& a = at.connect(settings);
    settings.tls.server_name = "redis.internal";
    auto& b = at.connect(settings);
    std::map<std::string, int> names;
    tasks all{at.context()};
    all.start([&]() -> asio::awaitable<void> {
        asio::ssl::context with{asio::ssl::context::tls_server};
        with.use_certificate_chain_file(files.server_certificate);
        with.use_private_key_file(files.server_key, asio::ssl::context::pem);
        for (;;) {
            auto [ec, client] = co_await listens.acceptor.async_accept(tuple);
            if (ec)
                co_return;
            asio::ssl::stream<asio::ip::tcp::socket> stream{std::move(client), with};
            co_await stream.async_handshake(asio::ssl::stream_base::server, tuple);
            auto const* const name =
                ::SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
            ++names[name ? name : ""];
        }
    });
    at.run([&]() -> asio::awaitable<void> {
        auto const refusal = "as that of \"redis.internal\": ";
        bool const both = co_await eventually([&] {
            return names["localhost"] > 0 && b.log->count(refusal) > 0;
        });
        BOOST_TEST(both, b.log->all());
        BOOST_TEST(names["redis.internal"] > 0);
        BOOST_TEST(names.size() == 2U);
        BOOST_TEST(a.log->count("as that of") == 0U, a.log->all());
        listens.acceptor.close();
        co_await all.join(1s);
    });
}

/// Answers as a Sentinel would, over TLS: the primary is at this port of 127.0.0.1.
inline asio::awaitable<void> play_sentinel(
    asio::ip::tcp::acceptor& at, tls_files const& files, std::uint16_t port
)
{
    asio::ssl::context with{asio::ssl::context::tls_server};
    with.use_certificate_chain_file(files.server_certificate);
    with.use_private_key_file(files.server_key, asio::ssl::context::pem);
    auto const text = std::to_string(port);
    auto const says = "%0\r\n*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(text.size()) + "\r\n" +
        text + "\r\n*0\r\n";
    for (;;) {
        auto [ec, client] = co_await at.async_accept(tuple);
        if (ec)
            co_return;
        asio::ssl::stream<asio::ip::tcp::socket> stream{std::move(client), with};
        co_await stream.async_handshake(asio::ssl::stream_base::server, tuple);
        std::string asked(1'000, ' ');
        co_await stream.async_read_some(asio::buffer(asked), tuple);
        co_await asio::async_write(stream, asio::buffer(says), tuple);
        co_await stream.async_read_some(asio::buffer(asked), tuple);  // until the client goes
    }
}

BOOST_AUTO_TEST_CASE(sentinels_are_asked_over_tls)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind, client_certificates::unasked, {"redis.internal"}};
        small_server sentinel{in.at.context()};
        auto settings = in.settings();
        settings.addresses = sentinel.settings().addresses;
        settings.topology = topology::sentinel;
        settings.master_name = "primary";
        settings.tls.server_name = "redis.internal";
        auto& a = in.at.connect(settings);
        settings.tls.server_name = "other.internal";
        auto& wrong = in.at.connect(settings);
        tasks all{in.at.context()};
        all.start([&] { return play_sentinel(sentinel.acceptor, in.files, in.port); });
        in.at.run([&]() -> asio::awaitable<void> {
            co_await accepted(a);
            co_await refused_with(wrong, "as that of \"other.internal\": ", "ostname mismatch");
            sentinel.acceptor.close();
            co_await all.join(1s);
        });
    }
}

// The seed by its name, the node by the address that it has told: each is checked by its own.
BOOST_AUTO_TEST_CASE(each_node_of_a_cluster_by_its_own_name)
{
    for (auto const kind : tls_servers())
        for (bool const by_both : {true, false}) {
            tls_files const files{
                by_both ? std::vector<std::string>{"localhost", "127.0.0.1"}
                        : std::vector<std::string>{"localhost"}};
            auto const port = spare_port(kind);
            auto lines = tls_lines(files, port);
            lines.insert(
                lines.end(),
                {"cluster-enabled yes", "tls-cluster yes", "cluster-announce-ip 127.0.0.1"}
            );
            redis_server node{kind, lines};
            node.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
            lab at{node};
            config settings;
            settings.addresses = {address{.host = "localhost", .port = port}};
            settings.topology = topology::cluster;
            settings.tls.enabled = true;
            settings.tls.ca_file = files.ca;
            settings = patient(settings);
            auto& own = at.connect(settings);
            settings.tls.server_name = "localhost";
            auto& one_for_all = at.connect(settings);
            at.run([&]() -> asio::awaitable<void> {
                bool const ready = co_await eventually([&] {
                    return node.ask("CLUSTER", "INFO").text.find("state:ok") != std::string::npos;
                });
                BOOST_TEST(ready);
                co_await accepted(one_for_all);
                if (by_both)
                    co_await accepted(own);
                else
                    co_await refused_with(own, "as that of \"127.0.0.1\": IP address mismatch");
            });
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
