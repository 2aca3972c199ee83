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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
