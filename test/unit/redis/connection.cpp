// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What becomes of a connection, and of the replies that it is owed, when a write fails.
#include "redis/connection.hpp"
#include "unit/redis/link_rig.hpp"

#include <boost/asio/write.hpp>

#include <cerrno>
#include <cstddef>
#include <deque>
#include <dlfcn.h>
#include <vector>

namespace colock::test {

namespace {

/// What the next calls of `send` do: the number of bytes that they take at most, or the negative
/// errno they fail with. Only this thread's.
thread_local std::deque<std::ptrdiff_t> next_sends;

}  // namespace

extern "C" ssize_t send(int to, void const* bytes, std::size_t size, int flags)
{
    static auto const real = reinterpret_cast<decltype(&send)>(::dlsym(RTLD_NEXT, "send"));
    if (next_sends.empty())
        return real(to, bytes, size, flags);
    auto const what = next_sends.front();
    next_sends.pop_front();
    if (what >= 0)
        return real(to, bytes, std::min(size, static_cast<std::size_t>(what)), flags);
    errno = static_cast<int>(-what);
    return -1;
}

namespace {

struct replies_of_one final : resp::reply_handler {
    void on_reply(resp::message const& got) override { replies.emplace_back(got.first().text); }
    void on_lost(error_code why) override { lost = why; }

    std::vector<std::string> replies;
    error_code lost;
};

/// A connection that is open, and a server that says only what the test makes it say.
struct open_connection final : connection::listener {
    open_connection()
    {
        client->open(rig.where());
        server.emplace(rig.accept());
        BOOST_TEST_REQUIRE(client->is_open());
    }
    ~open_connection()
    {
        next_sends.clear();
        client->detach();
        rig.time.settle();
    }

    void on_open() override {}
    void on_closed(error_code why) override { closed = why; }

    void ask(std::string_view what, replies_of_one& who)
    {
        client->pipeline().out().push("ECHO", what);
        client->pipeline().expect(&who, clock::now());
        client->flush();
    }
    void answer(std::string_view bytes)
    {
        asio::write(*server, asio::buffer(bytes));
        rig.time.settle();
    }

    link_rig rig;
    std::shared_ptr<connection> client =
        std::make_shared<connection>(rig.shared, *this, nullptr, resp::limits{});
    std::optional<link_rig::local::socket> server;
    error_code closed;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(connections)

BOOST_AUTO_TEST_CASE(nothing_follows_what_could_not_be_written)
{
    open_connection at;
    replies_of_one first, second;
    next_sends = {-ENOBUFS};
    at.ask("first", first);
    at.ask("second", second);
    at.rig.time.settle();
    bool ended = false;
    BOOST_TEST(received(*at.server, ended) == "");
    BOOST_TEST(!at.closed);

    at.rig.advance(milliseconds{200});
    BOOST_TEST(at.closed.value() == ENOBUFS, at.closed.message());
    BOOST_TEST(first.lost == at.closed);
    BOOST_TEST(second.lost == at.closed);
    BOOST_TEST(received(*at.server, ended) == "");
    BOOST_TEST(ended);
}

// The system refuses at once, and Asio takes that for a connection.
BOOST_AUTO_TEST_CASE(a_unix_socket_whose_queue_is_full_is_told)
{
    struct waits_for_the_end final : connection::listener {
        void on_open() override { was_open = true; }
        void on_closed(error_code why) override { closed = why; }
        bool was_open = false;
        error_code closed;
    } told;
    link_rig rig;
    rig.acceptor.listen(0);
    std::vector<link_rig::local::socket> queue;
    for (error_code ec; !ec && queue.size() != 16;) {
        auto& next = queue.emplace_back(rig.context, link_rig::local{});
        next.native_non_blocking(true);
        auto const to = rig.acceptor.local_endpoint();
        if (::connect(next.native_handle(), to.data(), static_cast<socklen_t>(to.size())) != 0)
            ec = {errno, boost::system::system_category()};
    }
    auto const client = std::make_shared<connection>(rig.shared, told, nullptr, resp::limits{});
    client->open(rig.where());
    rig.time.settle();
    BOOST_TEST(!told.was_open);
    BOOST_TEST((told.closed == asio::error::try_again), told.closed.message());
}

BOOST_AUTO_TEST_CASE(an_announced_address_has_the_name_of_the_same_one_in_the_config)
{
    link_rig rig;
    rig.settings.addresses = {
        {.host = "10.0.0.1", .server_name = "one.example"},
        {.host = "10.0.0.2", .server_name = "two.example"}};
    auto const name_of = [&](address const& named) {
        return rig.shared.reached_at(named).server_name;
    };
    BOOST_TEST(name_of({"10.0.0.2"}) == "two.example");
    BOOST_TEST(name_of({"10.0.0.2", 6380}) == "");
    BOOST_TEST(name_of({"10.0.0.3"}) == "");
    rig.settings.map_address = [](address const&) {
        return address{.host = "10.0.0.1", .server_name = "mapped.example"};
    };
    BOOST_TEST(name_of({"10.0.0.2"}) == "mapped.example");
}

BOOST_AUTO_TEST_CASE(nothing_follows_half_a_command)
{
    open_connection at;
    replies_of_one first, second;
    next_sends = {10, -ENOBUFS};
    at.ask("first", first);
    at.ask("second", second);
    at.rig.time.settle();
    at.ask("third", second);
    at.rig.advance(milliseconds{200});
    BOOST_TEST(at.closed.value() == ENOBUFS, at.closed.message());
    BOOST_TEST(bool{first.lost});
    BOOST_TEST(bool{second.lost});
    bool ended = false;
    BOOST_TEST(received(*at.server, ended).size() == 10U);
    BOOST_TEST(ended);
}

// A server whose other words never cease.
BOOST_AUTO_TEST_CASE(a_failed_write_ends_it_although_the_server_talks)
{
    open_connection at;
    replies_of_one first;
    next_sends = {-ENOBUFS};
    at.ask("first", first);
    for (int i = 0; i != 20 && !at.closed; ++i) {
        at.answer(">2\r\n+message\r\n+more\r\n");
        at.rig.advance(milliseconds{10});
    }
    BOOST_TEST(at.closed.value() == ENOBUFS, at.closed.message());
}

BOOST_AUTO_TEST_CASE(the_last_words_are_heard_after_a_failed_write)
{
    open_connection at;
    replies_of_one first;
    next_sends = {-EPIPE};
    at.ask("first", first);
    at.answer("-ERR max number of clients reached\r\n");
    at.server.reset();
    at.rig.time.settle();
    BOOST_TEST_REQUIRE(first.replies.size() == 1U);
    BOOST_TEST(first.replies.front() == "ERR max number of clients reached");
    BOOST_TEST((at.closed == asio::error::eof), at.closed.message());
}

// The context is gone from then on: the socket is left to it.
BOOST_AUTO_TEST_CASE(a_second_detach_does_nothing)
{
    open_connection at;
    at.rig.context_gone = true;
    at.client->detach();
    at.client->detach();
    at.rig.time.settle();
    bool ended = false;
    received(*at.server, ended);
    BOOST_TEST(!ended);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
