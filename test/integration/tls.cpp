// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Over TLS to one server: who is trusted, who is not, and what is said about it.
#include "integration/tls.hpp"

namespace colock::test {

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

}  // namespace colock::test
