// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Over TLS to peers of other kinds: without TLS, no Redis, Sentinels, a cluster.
#include "integration/tls.hpp"

#include <boost/asio/ssl/error.hpp>

namespace colock::test {

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
                // Redis before 8 says nothing to a greeting of TLS; later ones answer in text.
                BOOST_TEST(
                    (why == error::unavailable || (c != &plain && why == error::tls_refused)),
                    why.message()
                );
            }
            BOOST_TEST(
                plain.log->count("; if the port is one for TLS: rediss://; trying") > 0U,
                plain.log->all()
            );
            BOOST_TEST(plain.log->count("anceled") == 0U, plain.log->all());
            BOOST_TEST(
                encrypted.log->count("if the port is one without TLS: redis://; trying") +
                        encrypted.log->count("or redis:// without TLS; trying") >
                    0U,
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
        settings.tls.server_name.clear();
        auto& unnamed = in.at.connect(settings);
        settings.addresses.front().server_name = "redis.internal";
        auto& by_address = in.at.connect(settings);
        settings.map_address = [](address named) {
            named.server_name = "redis.internal";
            return named;
        };
        auto& mapped = in.at.connect(settings);
        tasks all{in.at.context()};
        all.start([&] { return play_sentinel(sentinel.acceptor, in.files, in.port); });
        in.at.run([&]() -> asio::awaitable<void> {
            co_await accepted(a);
            co_await accepted(mapped);
            co_await refused_with(wrong, "as that of \"other.internal\": ", "ostname mismatch");
            co_await refused_with(unnamed, "as that of \"localhost\": ", "ostname mismatch");
            co_await refused_with(by_address, "as that of \"127.0.0.1\": IP address mismatch");
            sentinel.acceptor.close();
            co_await all.join(1s);
        });
    }
}

// The Sentinel by its name, the primary by the address that the Sentinel tells.
BOOST_AUTO_TEST_CASE(a_sentinel_and_its_primary_by_their_own_names)
{
    for (auto const kind : tls_servers()) {
        tls_lab in{kind};
        small_server sentinel{in.at.context()};
        auto settings = in.settings();
        settings.addresses = sentinel.settings().addresses;
        settings.topology = topology::sentinel;
        settings.master_name = "primary";
        auto& c = in.at.connect(settings);
        tasks all{in.at.context()};
        all.start([&] { return play_sentinel(sentinel.acceptor, in.files, in.port); });
        in.at.run([&]() -> asio::awaitable<void> {
            co_await accepted(c);
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
            settings.tls.server_name.clear();
            settings.map_address = [](address named) {
                named.server_name = "localhost";
                return named;
            };
            auto& mapped = at.connect(settings);
            at.run([&]() -> asio::awaitable<void> {
                bool const ready = co_await eventually([&] {
                    return node.ask("CLUSTER", "INFO").text.find("state:ok") != std::string::npos;
                });
                BOOST_TEST(ready);
                co_await accepted(one_for_all);
                co_await accepted(mapped);
                if (by_both)
                    co_await accepted(own);
                else
                    co_await refused_with(own, "as that of \"127.0.0.1\": IP address mismatch");
            });
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
