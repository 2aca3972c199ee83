// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "status.hpp"
#include "web/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <exception>
#include <iterator>
#include <optional>
#include <utility>

namespace cli::web {

using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

/// The result of the work, or nothing after this time; then the work is cancelled. The work does
/// not throw.
template <class Result>
asio::awaitable<std::optional<Result>> within(
    std::chrono::milliseconds limit, asio::awaitable<Result> work
)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, limit};
    auto first = co_await (std::move(work) || timer.async_wait(tuple));
    if (auto* const result = std::get_if<0>(&first))
        co_return std::move(*result);
    co_return std::nullopt;
}

/// Ends when the peer has hung up. It has nothing more to say.
asio::awaitable<void> hung_up(tcp::socket& from)
{
    char byte = 0;
    co_await from.async_read_some(asio::buffer(&byte, 1), tuple);
}

failure cannot_listen(tcp::endpoint const& at, error_code const& ec)
{
    auto const remedy = ec == asio::error::address_in_use || ec == asio::error::access_denied
        ? "take another port with --web, or 0 for a free one"
        : "--web-address is an address of this machine";
    return {status_no, "listen on " + url_of(at) + ": " + ec.message() + "; " + remedy};
}

}  // namespace

std::string url_of(tcp::endpoint const& at)
{
    auto const address = at.address().to_string();
    auto const host = at.address().is_v6() ? "[" + address + "]" : address;
    return "http://" + host + ":" + std::to_string(at.port()) + "/";
}

server::server(asio::any_io_executor executor, tcp::endpoint const& at, feed const& f, limits l)
    : feed_{f}
    , limits_{l}
    , acceptor_{executor}
    , ended_{executor, asio::steady_timer::time_point::max()}
{
    error_code ec;
    acceptor_.open(at.protocol(), ec);
    if (!ec)
        acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec)
        acceptor_.bind(at, ec);
    if (!ec)
        acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec)
        throw cannot_listen(at, ec);
}

asio::awaitable<void> server::run()
{
    accepts_ = true;
    while (!stops_) {
        auto [ec, socket] = co_await acceptor_.async_accept(tuple);
        if (stops_)
            break;
        if (!ec) {
            admit(std::move(socket));
            continue;
        }
        // There are too many open files, say.
        asio::steady_timer pause{acceptor_.get_executor(), std::chrono::milliseconds{50}};
        co_await pause.async_wait(asio::deferred);
    }
    accepts_ = false;
    ended_.cancel();
}

void server::admit(tcp::socket socket)
{
    if (connections_.size() >= limits_.connections) {
        error_code ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(
            asio::buffer("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), ignored
        );
        return;
    }
    connections_.push_back(std::move(socket));
    asio::co_spawn(acceptor_.get_executor(), serve(std::prev(connections_.end())), asio::detached);
}

asio::awaitable<void> server::stop()
{
    stops_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (auto& each : connections_)
        each.close(ignored);
    while (accepts_ || !connections_.empty())
        co_await ended_.async_wait(tuple);
}

asio::awaitable<void> server::serve(connections::iterator at)
{
    try {
        co_await talk(*at);
    } catch (std::exception const&) {
        // It costs this peer its connection, and nobody else theirs.
    }
    connections_.erase(at);
    ended_.cancel();
}

asio::awaitable<void> server::talk(tcp::socket& with)
{
    boost::beast::flat_buffer buffer;
    while (!stops_) {
        request asked;
        bool const is_asked = co_await read(with, buffer, asked);
        if (!is_asked)
            co_return;
        auto made = answer_to(asked);
        if (!made) {
            co_await stream(with);
            co_return;
        }
        made->keep_alive(asked.keep_alive());
        made->prepare_payload();
        auto const sent = co_await within(limits_.write, http::async_write(with, *made, tuple));
        if (!sent || std::get<0>(*sent) || !asked.keep_alive())
            co_return;
    }
}

/// False if there is no request that can be answered.
asio::awaitable<bool> server::read(
    tcp::socket& from, boost::beast::flat_buffer& buffer, request& into
)
{
    http::request_parser<http::empty_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(limits_.header));
    parser.body_limit(0);
    auto const got = co_await within(limits_.idle, http::async_read(from, buffer, parser, tuple));
    bool const is_whole = got && !std::get<0>(*got);
    if (is_whole)
        into = parser.release();
    co_return is_whole;
}

asio::awaitable<void> server::stream(tcp::socket& to)
{
    auto const head = head_of_stream();
    http::response_serializer<http::empty_body> serializer{head};
    auto const sent =
        co_await within(limits_.write, http::async_write_header(to, serializer, tuple));
    if (sent && !std::get<0>(*sent))
        co_await (send_all(to) || hung_up(to));
}

asio::awaitable<void> server::send_all(tcp::socket& to)
{
    feed::viewer me{feed_};
    bool goes_on = true;
    while (goes_on) {
        auto text = co_await me.next(limits_.quiet);
        // A line that begins with a colon is a remark, which browsers pass over.
        if (text && text->empty())
            *text = ": quiet\n\n";
        goes_on = text.has_value();
        if (text)
            goes_on = co_await write(to, std::move(*text));
    }
}

/// False if the peer has gone, or is too slow.
asio::awaitable<bool> server::write(tcp::socket& to, std::string text)
{
    auto const sent =
        co_await within(limits_.write, asio::async_write(to, asio::buffer(text), tuple));
    co_return sent && !std::get<0>(*sent);
}

}  // namespace cli::web
