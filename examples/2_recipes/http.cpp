// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An HTTP server that takes a lock for each request, and answers as docs/errors.md says. It asks
// itself, and ends by SIGTERM.
//
//     http [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

// The client outlives all sessions, because the context has nothing left to run before main ends.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> sell(std::string user, std::uint64_t /*token, for the shop's data*/)
{
    asio::steady_timer work{co_await asio::this_coro::executor, user == "/slow" ? 10s : 100ms};
    co_await work.async_wait(asio::deferred);
}

// [handler
http::status status_of(boost::system::error_code why)
{
    if (why == colock::error::closed || why == colock::condition::retryable)
        return http::status::service_unavailable;  // 503: this server ends, or Redis is away
    return http::status::internal_server_error;    // 500: lost, and what a person has to mend
}

/// One purchase of a user at a time. A second one waits for two seconds, and no longer.
asio::awaitable<http::status> buy(colock::client& redis, std::string user)
{
    colock::lock const lock{redis, "user:" + user};
    auto const work = [&](colock::hold& held) { return sell(user, held.fencing_token()); };
    try {
        bool const done = co_await colock::with_lock_for(lock, 2s, work);
        co_return done ? http::status::ok : http::status::too_many_requests;  // 429: busy
    } catch (boost::system::system_error const& e) {
        std::fprintf(stderr, "%s\n", e.what());  // names the lock
        co_return status_of(e.code());
    }
}
// handler]

asio::awaitable<void> serve(beast::tcp_stream stream, colock::client& redis)
{
    stream.expires_after(10s);
    beast::flat_buffer buffer;
    request asked;
    co_await http::async_read(stream, buffer, asked, asio::use_awaitable);
    response made{co_await buy(redis, std::string{asked.target()}), asked.version()};
    made.keep_alive(false);
    made.prepare_payload();
    co_await http::async_write(stream, made, asio::use_awaitable);
}

asio::awaitable<void> accept(tcp::acceptor& door, colock::client& redis)
{
    for (;;) {
        beast::tcp_stream stream{co_await door.async_accept(asio::use_awaitable)};
        asio::co_spawn(door.get_executor(), serve(std::move(stream), redis), asio::detached);
    }
}

// [server
void end_on_signal(asio::signal_set& signals, tcp::acceptor& door, colock::client& redis)
{
    signals.async_wait([&](boost::system::error_code, int) {
        door.close();                 // no more requests; those under way get their answers
        redis.close(asio::detached);  // ends waits and work with error::closed, releases all locks
    });
}
// server]

asio::awaitable<unsigned> ask(std::uint16_t port, std::string target)
{
    beast::tcp_stream stream{co_await asio::this_coro::executor};
    co_await stream.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
    request asked{http::verb::post, target, 11};
    asked.set(http::field::host, "localhost");
    asked.prepare_payload();
    co_await http::async_write(stream, asked, asio::use_awaitable);
    beast::flat_buffer buffer;
    response made;
    co_await http::async_read(stream, buffer, made, asio::use_awaitable);
    co_return made.result_int();
}

asio::awaitable<void> terminate()
{
    asio::steady_timer under_way{co_await asio::this_coro::executor, 300ms};
    co_await under_way.async_wait(asio::deferred);
    (void)std::raise(SIGTERM);
}

asio::awaitable<void> visit(std::uint16_t port, std::string url)
{
    auto const [first, second] = co_await (ask(port, "/ann") && ask(port, "/ann"));
    std::printf("ann asks twice at once: %u and %u\n", first, second);

    auto const executor = co_await asio::this_coro::executor;
    colock::client elsewhere{executor, colock::config::from_url(url)};
    colock::hold held = co_await colock::lock{elsewhere, "user:/bob"}.acquire();
    auto const busy = co_await ask(port, "/bob");
    std::printf("bob is served elsewhere: %u\n", busy);
    co_await held.release();
    co_await elsewhere.close();

    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("SET", "user:/eve", "is no lock");
    auto const wrong = co_await ask(port, "/eve");
    std::printf("eve's key holds something else: %u\n", wrong);

    colock::client nowhere{executor, colock::config::from_url("redis://127.0.0.1:1")};
    auto const away = co_await buy(nowhere, "/ann");
    std::printf("Redis is away: %u\n", static_cast<unsigned>(away));
    co_await nowhere.close();

    auto const ended = co_await (ask(port, "/slow") && terminate());
    std::printf("SIGTERM, with a request under way: %u\n", ended);
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

int main(int argc, char** argv)
try {
    std::string const url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    asio::io_context context;
    colock::client redis{context.get_executor(), colock::config::from_url(url)};
    tcp::acceptor door{context, {asio::ip::address_v4::loopback(), 0}};  // or a port of yours
    asio::signal_set signals{context, SIGINT, SIGTERM};
    end_on_signal(signals, door, redis);
    asio::co_spawn(context, accept(door, redis), asio::detached);
    std::exception_ptr failure;
    auto const port = door.local_endpoint().port();
    asio::co_spawn(context, visit(port, url), [&](std::exception_ptr thrown) { failure = thrown; });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    std::puts("the server has ended");
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
