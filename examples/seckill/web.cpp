// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "web.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace seckill {

using namespace asio::experimental::awaitable_operators;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

/// The result of the work, or nothing after this time; then the work is cancelled. The work must
/// not throw, because || waits for the first that succeeds. Boost 1.86 and newer have
/// asio::cancel_after.
template <class Result>
asio::awaitable<std::optional<Result>> within(
    std::chrono::seconds limit, asio::awaitable<Result> work
)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, limit};
    auto first = co_await (std::move(work) || timer.async_wait(asio::use_awaitable));
    if (auto* const result = std::get_if<0>(&first))
        co_return std::move(*result);
    co_return std::nullopt;
}

/// Ends when the client has hung up, or has waited for that long.
asio::awaitable<void> given_up(tcp::socket& client, std::chrono::seconds patience)
{
    asio::steady_timer limit{client.get_executor(), patience};
    co_await within(patience, client.async_wait(tcp::socket::wait_read, tuple));
    char byte = 0;
    boost::system::error_code ec;
    client.non_blocking(true);
    auto const n = client.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
    if (!ec && n != 0)  // its next request: it is still there
        co_await limit.async_wait(asio::deferred);
}

}  // namespace

web::web(asio::any_io_executor executor, std::uint16_t port, pages& what, time_limits limits)
    : pages_{what}
    , limits_{limits}
    , acceptor_{executor}
    , ended_{executor, asio::steady_timer::time_point::max()}
{
    tcp::endpoint const here{asio::ip::address_v4::loopback(), port};
    acceptor_.open(here.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    boost::system::error_code ec;
    acceptor_.bind(here, ec);
    if (ec)
        throw std::runtime_error{
            "can't listen on port " + std::to_string(port) + ": " + ec.message() +
            "; take another with --port"};
    acceptor_.listen();
}

asio::awaitable<void> web::run()
{
    accepting_ = true;
    std::exception_ptr failure;
    try {
        co_await accept();
    } catch (...) {
        failure = std::current_exception();
    }
    accepting_ = false;
    ended_.cancel();
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> web::accept()
{
    while (!stopping_) {
        auto [ec, socket] = co_await acceptor_.async_accept(tuple);
        if (stopping_)
            break;
        if (ec) {  // too many open files, say
            asio::steady_timer pause{acceptor_.get_executor(), std::chrono::milliseconds{50}};
            co_await pause.async_wait(asio::deferred);
            continue;
        }
        sessions_.push_back({std::move(socket)});
        asio::co_spawn(acceptor_.get_executor(), serve(std::prev(sessions_.end())), asio::detached);
    }
}

asio::awaitable<void> web::stop()
{
    stopping_ = true;
    acceptor_.close();
    for (auto& each : sessions_)
        if (each.is_idle)
            each.socket.cancel();
    while (accepting_ || !sessions_.empty())
        co_await ended_.async_wait(tuple);
}

asio::awaitable<void> web::serve(place at)
{
    try {
        co_await talk(*at);
    } catch (std::exception const&) {
        // The client has gone, and what it asked for with it.
    }
    sessions_.erase(at);
    ended_.cancel();
}

asio::awaitable<void> web::talk(session& with)
{
    boost::beast::flat_buffer buffer;
    for (bool more = true; more && !stopping_;) {
        request asked;
        bool const is_asked = co_await read(with, buffer, asked);
        if (!is_asked)
            co_return;
        response made = co_await answer_in_time(with, asked);
        more = asked.keep_alive() && !stopping_;
        made.keep_alive(more);
        made.prepare_payload();
        auto const sent =
            co_await within(limits_.write, http::async_write(with.socket, made, tuple));
        if (!sent || std::get<0>(*sent))
            co_return;
    }
}

asio::awaitable<bool> web::read(session& from, boost::beast::flat_buffer& buffer, request& into)
{
    from.is_idle = true;
    auto const got =
        co_await within(limits_.idle, http::async_read(from.socket, buffer, into, tuple));
    from.is_idle = false;
    co_return got && !std::get<0>(*got);
}

// [give_up
// The side that succeeds first cancels the other: an acquire that waits leaves the queue.
asio::awaitable<response> web::answer_in_time(session& to, request const& asked)
{
    auto first = co_await (answer(asked) || given_up(to.socket, limits_.request));
    if (auto* const made = std::get_if<response>(&first))
        co_return std::move(*made);
    co_return say(http::status::service_unavailable, "not in time; ask again what became of it");
}

// || waits for the first that succeeds: what fails is an answer, too.
asio::awaitable<response> web::answer(request const& asked)
{
    try {
        auto made = co_await pages_.answer(asked);
        co_return made;
    } catch (boost::system::system_error const& e) {
        co_return say(http::status::service_unavailable, e.code().message());
    }
}
// give_up]

}  // namespace seckill
