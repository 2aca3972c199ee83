// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The contexts of `tls`, in handshakes with a server of OpenSSL's.
#include "redis/tls_session.hpp"
#include "support/fixture.hpp"
#include "support/tls_peer.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace colock::test {

/// What both sides made of a handshake.
struct handshake {
    error_code client;
    error_code server;
    std::string sni;
    std::string complaint;  ///< the client's, about the certificate
};

/// A server with the certificate of the files, and a client with `from`'s context for this server.
inline handshake shake_hands(tls& from, tls_files const& files, address const& where)
{
    handshake got;
    tls_session client{from, where, got.complaint};
    got.client = client.refused();
    if (got.client)
        return got;
    tls_peer server{files};
    std::string bytes;
    while (!got.client && !got.server && !(client.is_established() && server.is_established())) {
        got.client = client.shake_hands();
        client.take_output(bytes);
        server.receive(bytes);
        got.server = server.shake_hands();
        client.receive(server.take_output());
    }
    got.sni = server.sni();
    return got;
}

inline tls_options trusting(std::string const& ca)
{
    tls_options o;
    o.enabled = true;
    o.ca_file = ca;
    return o;
}

BOOST_AUTO_TEST_SUITE(tls_contexts)

BOOST_AUTO_TEST_CASE(the_name_is_sent_and_checked)
{
    tls_files const files{{"a.example", "127.0.0.1", "::1"}};
    tls client{trusting(files.ca)};
    BOOST_REQUIRE(!client.load({}));
    for (int i = 0; i != 2; ++i) {
        auto const right = shake_hands(client, files, {"a.example"});
        BOOST_TEST(!right.client);
        BOOST_TEST(!right.server);
        BOOST_TEST(right.sni == "a.example");

        auto const wrong = shake_hands(client, files, {"b.example"});
        BOOST_TEST(wrong.sni == "b.example");
        auto const why = client.refusal(wrong.client, wrong.complaint, {"b.example"});
        BOOST_TEST(why.find("as that of \"b.example\": ") != why.npos, why);
        BOOST_TEST(why.find("ostname mismatch") != why.npos, why);
        BOOST_TEST(why.find("tls.server_name") != why.npos, why);

        for (auto const* address : {"127.0.0.1", "::1"}) {
            auto const by_address = shake_hands(client, files, {address});
            BOOST_TEST(!by_address.client);
            BOOST_TEST(by_address.sni.empty());
        }
        auto const elsewhere = shake_hands(client, files, {"127.0.0.2"});
        auto const whose = client.refusal(elsewhere.client, elsewhere.complaint, {"127.0.0.2"});
        BOOST_TEST(whose.find("IP address mismatch") != whose.npos, whose);
    }
}

// OpenSSL takes no such name, and then it would check none.
BOOST_AUTO_TEST_CASE(a_name_that_can_not_be_checked_is_refused)
{
    using namespace std::string_literals;
    tls_files const files{{"a.example"}};
    tls client{trusting(files.ca)};
    BOOST_REQUIRE(!client.load({}));
    for (auto const& host : {"b.example\0"s + ".a.example", std::string(300, 'b')}) {
        auto const got = shake_hands(client, files, {host});
        BOOST_TEST((got.client == error::tls_refused), got.client.message());
        auto const why = client.refusal(got.client, got.complaint, {host});
        BOOST_TEST(why.find("no certificate can be checked") != why.npos, why);
        BOOST_TEST(why.find("tls.server_name") != why.npos, why);
    }
}

BOOST_AUTO_TEST_CASE(one_name_for_all_hosts)
{
    tls_files const files{{"a.example"}};
    auto options = trusting(files.ca);
    options.server_name = "a.example";
    tls client{options};
    BOOST_REQUIRE(!client.load({}));
    for (auto const* host : {"10.0.0.1", "b.example", ""}) {
        auto const got = shake_hands(client, files, {host});
        BOOST_TEST(!got.client);
        BOOST_TEST(got.sni == "a.example");
    }
}

BOOST_AUTO_TEST_CASE(a_name_for_one_address_alone)
{
    tls_files const files{{"a.example"}};
    auto options = trusting(files.ca);
    for (auto const* for_all : {"", "b.example"}) {
        options.server_name = for_all;
        tls client{options};
        BOOST_REQUIRE(!client.load({}));
        auto const got =
            shake_hands(client, files, {.host = "10.0.0.1", .server_name = "a.example"});
        BOOST_TEST(!got.client);
        BOOST_TEST(got.sni == "a.example");
    }
}

BOOST_AUTO_TEST_CASE(unverified)
{
    tls_files const files{{"a.example"}};
    auto options = trusting({});
    options.verify = false;
    tls client{options};
    BOOST_REQUIRE(!client.load({}));
    BOOST_TEST(shake_hands(client, files, {"b.example"}).sni == "b.example");
    BOOST_TEST(!shake_hands(client, files, {"b.example"}).client);
    BOOST_TEST(!shake_hands(client, files, {""}).client);
}

BOOST_AUTO_TEST_CASE(an_unknown_authority)
{
    tls_files const files{{"a.example"}};
    tls client{trusting(files.other_ca)};
    BOOST_REQUIRE(!client.load({}));
    auto const got = shake_hands(client, files, {"a.example"});
    auto const why = client.refusal(got.client, got.complaint, {"a.example"});
    BOOST_TEST(
        why.find("Remedy: the authority that has signed it in tls.ca_file") != why.npos, why
    );
    BOOST_TEST(client.refusal(asio::error::eof, {}, {"a.example"}).empty());
}

BOOST_AUTO_TEST_CASE(files_that_can_not_be_used)
{
    tls_files const files;
    auto const missing = files.ca + ".missing", empty = files.ca + ".empty";
    std::ofstream{empty};
    auto const folder = std::filesystem::path{files.ca}.parent_path().string();
    auto const both = [&](std::string const& certificate, std::string const& key) {
        auto o = trusting(files.ca);
        o.certificate_file = certificate;
        o.private_key_file = key;
        return o;
    };
    struct {
        tls_options options;
        std::string line;
    } const cases[]{
        {trusting(missing), "config: tls.ca_file " + missing + ": No such file or directory"},
        {trusting(empty), "config: tls.ca_file " + empty + ": "},
        {trusting(folder), "config: tls.ca_file " + folder + ": "},
        {trusting(files.server_key), "config: tls.ca_file " + files.server_key + ": "},
        {both(missing, files.client_key), "tls.certificate_file " + missing + ": No such file"},
        {both(files.client_key, files.client_key), "tls.certificate_file " + files.client_key},
        {both(files.client_certificate, missing), "tls.private_key_file " + missing + ": No such"},
        {both(files.client_certificate, files.ca), "tls.private_key_file " + files.ca + ": "},
        {both(files.client_certificate, files.server_key), "key values mismatch"},
        {both(files.client_certificate, files.encrypted_key), "it is encrypted"},
    };
    for (auto const& each : cases) {
        log_lines log;
        tls client{each.options};
        BOOST_TEST(client.load(log.sink()) == error::invalid_tls);
        BOOST_TEST(client.load(log.sink()) == error::invalid_tls);
        BOOST_TEST(log.count(each.line) == 2U, each.line << "\n" << log.all());
        BOOST_TEST(log.count("unknown error") == 0U, log.all());
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_comes_later)
{
    tls_files const files;
    auto const later = files.ca + ".later";
    tls client{trusting(later)};
    BOOST_TEST(client.load({}) == error::invalid_tls);
    std::filesystem::copy_file(files.ca, later);
    BOOST_TEST(!client.load({}));
    std::filesystem::remove(later);
    BOOST_TEST(!client.load({}));  // what is loaded stays
}

/// Replaces a file in one step.
void replace_file(std::string const& from, std::string const& at)
{
    std::filesystem::copy_file(from, at + ".new");
    std::filesystem::rename(at + ".new", at);
}

BOOST_AUTO_TEST_CASE(a_file_that_changes)
{
    tls_files const files{{"a.example"}}, later{{"a.example"}};
    auto const ca = files.ca + ".current";
    replace_file(files.ca, ca);
    log_lines log;
    tls client{trusting(ca)};
    BOOST_REQUIRE(!client.load(log.sink()));
    auto const* const before = client.context();
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(client.context() == before);  // nothing has changed
    BOOST_TEST(!shake_hands(client, files, {"a.example"}).client);
    BOOST_TEST(static_cast<bool>(shake_hands(client, later, {"a.example"}).client));

    replace_file(later.ca, ca);
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(!shake_hands(client, later, {"a.example"}).client);
    BOOST_TEST(static_cast<bool>(shake_hands(client, files, {"a.example"}).client));

    // In place, as editors write.
    std::filesystem::copy_file(files.ca, ca, std::filesystem::copy_options::overwrite_existing);
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(!shake_hands(client, files, {"a.example"}).client);
    BOOST_TEST(log.all() == "");
}

BOOST_AUTO_TEST_CASE(a_file_that_changes_to_nonsense)
{
    tls_files const files{{"a.example"}};
    auto const ca = files.ca + ".current";
    replace_file(files.ca, ca);
    log_lines log;
    tls client{trusting(ca)};
    BOOST_REQUIRE(!client.load(log.sink()));
    std::ofstream{ca} << "half of a file";
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(!client.load(log.sink()));
        BOOST_TEST(!shake_hands(client, files, {"a.example"}).client);
    }
    BOOST_TEST(log.count("stays in use: tls.ca_file " + ca) == 1U, log.all());
    BOOST_TEST(log.count("Remedy: ") == 1U, log.all());
    replace_file(files.other_ca, ca);
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(static_cast<bool>(shake_hands(client, files, {"a.example"}).client));
}

// The certificate has come, and its key has not.
BOOST_AUTO_TEST_CASE(a_pair_of_files_that_changes)
{
    tls_files const files, later;
    auto options = trusting(files.ca);
    options.certificate_file = files.ca + ".crt";
    options.private_key_file = files.ca + ".key";
    replace_file(files.client_certificate, options.certificate_file);
    replace_file(files.client_key, options.private_key_file);
    log_lines log;
    tls client{options};
    BOOST_REQUIRE(!client.load(log.sink()));
    auto const* const before = client.context();
    replace_file(later.client_certificate, options.certificate_file);
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(client.context() == before);
    BOOST_TEST(log.count("key values mismatch") == 1U, log.all());
    replace_file(later.client_key, options.private_key_file);
    BOOST_TEST(!client.load(log.sink()));
    BOOST_TEST(client.context() != before);
    BOOST_TEST(log.count("stays in use") == 1U, log.all());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
