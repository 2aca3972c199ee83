// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A connection over TLS: records in pieces and many at once, keys that change, its end.
#include "redis/connection.hpp"
#include "support/tls_peer.hpp"
#include "unit/redis/link_rig.hpp"

#include <boost/asio/write.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

tls_options trusting(tls_files const& files)
{
    tls_options o;
    o.enabled = true;
    o.ca_file = files.ca;
    return o;
}

struct heard final : resp::reply_handler {
    void on_reply(resp::message const& got) override { replies.emplace_back(got.first().text); }
    void on_lost(error_code why) override { lost = why; }

    std::vector<std::string> replies;
    error_code lost;
};

/// An open connection, and a server that says only what the test makes it say.
struct encrypted_connection final : connection::listener {
    encrypted_connection()
    {
        rig.shared.tls = std::make_shared<tls>(trusting(files));
        auto where = rig.where();
        where.server_name = "localhost";
        client->open(where);
        socket.emplace(rig.accept());
        for (int i = 0; i != 10 && !(client->is_open() && server.is_established()); ++i) {
            take_in();
            BOOST_TEST(!server.shake_hands());
            send_all();
        }
        BOOST_TEST_REQUIRE(client->is_open());
    }
    ~encrypted_connection()
    {
        client->detach();
        rig.time.settle();
    }

    void on_open() override {}
    void on_closed(error_code why) override { closed = why; }

    void ask(std::string_view what)
    {
        client->pipeline().out().push("ECHO", what);
        client->pipeline().expect(&who, clock::now());
        client->flush();
        rig.time.settle();
    }

    /// What the client has sent since, as the server reads it.
    std::string take_in()
    {
        server.receive(received(*socket, has_client_ended));
        return server.is_established() ? server.read() : std::string{};
    }
    void answer(std::string_view what)
    {
        server.write("$" + std::to_string(what.size()) + "\r\n" + std::string{what} + "\r\n");
    }
    void answer_pings(std::string_view sent)
    {
        constexpr std::string_view ping = "PING\r\n";
        for (auto at = sent.find(ping); at != sent.npos; at = sent.find(ping, at)) {
            at = sent.find('\n', at + ping.size()) + 1;
            answer(sent.substr(at, sent.find('\r', at) - at));
        }
    }
    void send(std::string_view bytes)
    {
        asio::write(*socket, asio::buffer(bytes));
        rig.time.settle();
    }
    void send_all() { send(server.take_output()); }

    tls_files const files;
    tls_peer server{files};
    link_rig rig;
    heard who;
    std::shared_ptr<connection> client =
        std::make_shared<connection>(rig.shared, *this, nullptr, resp::limits{});
    std::optional<link_rig::local::socket> socket;
    error_code closed;
    bool has_client_ended = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tls_sessions)

BOOST_AUTO_TEST_CASE(commands_go_out_and_replies_come_in)
{
    encrypted_connection at;
    at.ask("first");
    BOOST_TEST(at.take_in() == "*2\r\n$4\r\nECHO\r\n$5\r\nfirst\r\n");
    at.answer("first");
    at.send_all();
    BOOST_TEST((at.who.replies == std::vector<std::string>{"first"}));
}

BOOST_AUTO_TEST_CASE(a_record_may_come_in_pieces)
{
    encrypted_connection at;
    at.ask("first");
    at.ask("second");
    at.answer("first");
    at.answer("second");
    for (char const each : at.server.take_output())
        at.send({&each, 1});
    BOOST_TEST((at.who.replies == std::vector<std::string>{"first", "second"}));
    BOOST_TEST(!at.closed);
}

// Else each of them would begin a turn of its own, and what they answer would not go on together.
BOOST_AUTO_TEST_CASE(all_records_that_have_come_are_read_in_one_turn)
{
    encrypted_connection at;
    constexpr std::size_t many = 300;
    for (std::size_t i = 0; i != many; ++i)
        at.ask("x");
    for (std::size_t i = 0; i != many; ++i)
        at.answer(std::to_string(i));
    asio::write(*at.socket, asio::buffer(at.server.take_output()));
    auto const before = at.rig.time.handlers();
    while (at.who.replies.empty() && at.rig.time.step()) {}
    BOOST_TEST(at.who.replies.size() == many);
    BOOST_TEST(at.rig.time.handlers() - before <= 3U);
}

BOOST_AUTO_TEST_CASE(more_than_is_read_at_once_comes_in_order)
{
    encrypted_connection at;
    std::string const large(300'000, 'x');
    for (int i = 0; i != 3; ++i)
        at.ask("x");
    for (char const end : {'a', 'b', 'c'})
        at.answer(large + end);
    auto const bytes = at.server.take_output();
    for (std::size_t from = 0; from < bytes.size(); from += 50'000)
        at.send(std::string_view{bytes}.substr(from, 50'000));
    BOOST_TEST_REQUIRE(at.who.replies.size() == 3U);
    BOOST_TEST((at.who.replies[2] == large + 'c'));
}

BOOST_AUTO_TEST_CASE(the_client_changes_its_key_when_it_is_asked)
{
    encrypted_connection at;
    at.server.update_keys();
    at.answer("unasked");  // else no record would carry the request
    at.ask("first");
    at.send_all();
    BOOST_TEST(at.take_in().ends_with("first\r\n"));
    BOOST_TEST((at.who.replies == std::vector<std::string>{"unasked"}));
    at.ask("second");
    BOOST_TEST(at.take_in().ends_with("second\r\n"));  // with the new key
    BOOST_TEST(!at.closed);
}

// Then it gives back what a large command and a crowd of answers needed, and nothing else.
BOOST_AUTO_TEST_CASE(it_goes_on_after_a_silence)
{
    encrypted_connection at;
    std::string const large(30'000, 'x');
    constexpr int many = 500;
    for (int i = 0; i != many; ++i) {
        at.client->pipeline().out().push("ECHO", "small");
        at.client->pipeline().expect(&at.who, clock::now());
    }
    at.ask(large);
    BOOST_TEST(at.take_in().ends_with(large + "\r\n"));
    for (int i = 0; i <= many; ++i)
        at.answer("small");
    at.send_all();
    BOOST_TEST_REQUIRE(at.who.replies.size() == many + 1U);
    BOOST_TEST(at.client->capacity() > 60'000U);
    at.rig.advance(100ms);
    BOOST_TEST(at.client->capacity() < 16'000U);
    at.rig.advance(2'400ms);
    at.answer_pings(at.take_in());
    at.send_all();
    at.ask("second");
    BOOST_TEST(at.take_in().ends_with("second\r\n"));
    at.answer("second");
    at.send_all();
    BOOST_TEST(at.who.replies.back() == "second");
    BOOST_TEST(!at.closed);
}

// What came before is no less true.
BOOST_AUTO_TEST_CASE(replies_before_the_end_count)
{
    for (bool const is_announced : {false, true}) {
        encrypted_connection at;
        at.ask("first");
        at.ask("second");
        at.take_in();  // a socket that is closed with unread bytes is reset
        at.answer("first");
        if (is_announced)
            at.server.say_goodbye();
        asio::write(*at.socket, asio::buffer(at.server.take_output()));
        at.socket.reset();
        at.rig.time.settle();
        BOOST_TEST((at.who.replies == std::vector<std::string>{"first"}));
        auto const why = is_announced ? error_code{asio::error::eof}
                                      : error_code{asio::ssl::error::stream_truncated};
        BOOST_TEST(at.closed == why, at.closed.message());
        BOOST_TEST(at.who.lost == why);
    }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_record_end_it)
{
    encrypted_connection at;
    at.ask("first");
    at.send("$5\r\nfirst\r\n");
    BOOST_TEST(bool{at.closed});
    BOOST_TEST((at.closed.category() == asio::error::get_ssl_category()));
    BOOST_TEST(at.who.replies.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
