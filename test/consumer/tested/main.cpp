// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A test of one's own, on the installed colock::testing: no server, no framework. And what a
// library has to get right that has Asio inside: there is one of each error category.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colock::testing::scripted_client;

namespace {

void check(bool is_so, char const* what)
{
    if (!is_so) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}

asio::awaitable<bool> busy(colock::client& redis)
{
    auto const held = co_await colock::lock{redis, "k"}.try_acquire_for(1min);
    co_return !held;
}

/// A server that hangs up on everybody, as soon as it has heard something: bytes that nobody has
/// read would make a reset of it.
asio::awaitable<void> hang_up(std::string path)
{
    using unix_socket = asio::local::stream_protocol;
    unix_socket::acceptor door{co_await asio::this_coro::executor, unix_socket::endpoint{path}};
    while (true) {
        auto caller = co_await door.async_accept(asio::deferred);
        char heard[16'384];
        co_await caller.async_read_some(asio::buffer(heard), asio::deferred);
    }
}

colock::error_code reason(std::string const& path)
{
    asio::io_context context;
    asio::co_spawn(context, hang_up(path), [](std::exception_ptr) {});
    auto settings = scripted_client::quiet();
    settings.addresses = {{.unix_socket = path}};
    settings.timeout = 200ms;
    colock::client redis{context.get_executor(), settings};
    redis.run([](colock::error_code) {});
    colock::error_code why;
    colock::lock{redis, "k"}.try_acquire([&](colock::error_code ec, std::optional<colock::hold>) {
        why = ec;
        context.stop();
    });
    context.run();
    return why;
}

}  // namespace

int main()
{
    scripted_client redis;
    check(!redis.run(busy(redis)), "a lock that nobody has is taken");
    redis.occupy("k");
    check(redis.run(busy(redis)), "a lock that somebody has is not");
    check(redis.held().empty(), "all is given back");

    auto const path = "/tmp/colock-consumer-" + std::to_string(::getpid());
    auto const why = reason(path);
    ::unlink(path.c_str());
    std::printf("hung up: %s\n", why.message().c_str());
    check(why == asio::error::eof, "the end of a connection is asio::error::eof here as there");
}
