// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Tests of code that uses locks: without a server, and with one of their own.
//
//     12_testing
#include "tutorial.hpp"
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colock::testing::private_server;
using colock::testing::scripted_client;
using tutorial::expect;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): they outlive it
// [code
using card = std::function<asio::awaitable<void>(std::string order)>;

/// Charges an order, once at a time.
asio::awaitable<std::string> pay(colock::client& redis, std::string order, card charge)
{
    colock::lock const lock{redis, "order:" + order};
    try {
        auto const work = [&](colock::hold&) { return charge(order); };
        co_await colock::with_lock(lock, work);
        co_return "charged";
    } catch (boost::system::system_error const& e) {
        if (e.code() != colock::error::lost)
            throw;
        co_return "interrupted";
    }
}

/// The same with a limit for the wait. It throws error::lost after a loss.
asio::awaitable<std::string> pay_soon(colock::client& redis, std::string order, card charge)
{
    colock::lock const lock{redis, "order:" + order};
    auto const work = [&](colock::hold&) { return charge(order); };
    bool const charged = co_await colock::with_lock_for(lock, 1min, work);
    co_return charged ? "charged" : "busy";
}
// code]

asio::awaitable<void> charge_nothing(std::string /*order*/) { co_return; }

// [free
void when_nobody_else_wants_it()
{
    scripted_client redis;
    auto const result = redis.run(pay(redis, "7", charge_nothing));
    std::printf("nobody else: %s\n", result.c_str());
    expect(redis.times_acquired("order:7") == 1, "locked once");
    expect(!redis.is_held("order:7"), "and given back");
}
// free]

// [busy
void when_somebody_has_it()
{
    scripted_client redis;
    redis.occupy("order:7");  // for good
    tutorial::stopwatch const time;
    auto const result = redis.run(pay_soon(redis, "7", charge_nothing));
    std::printf("somebody has it: %s, a minute later, in ~%lld ms\n", result.c_str(), time.ms());

    redis.occupy("order:8", 10s);  // and gives it back then
    auto const later = redis.run(pay_soon(redis, "8", charge_nothing));
    std::printf("for ten seconds: %s\n", later.c_str());
}
// busy]

// [lost
void when_the_lock_is_lost()
{
    scripted_client redis;
    card const charge = [&](std::string const& order) {
        redis.lose("order:" + order);  // deleted, forced, flushed …
        return tutorial::pause(1min);  // … while the card is charged
    };
    auto const result = redis.run(pay(redis, "7", charge));
    std::printf("lost in the middle: %s\n", result.c_str());
    expect(redis.held().empty(), "nothing is left");
}
// lost]

// [real
void with_a_server()
{
    private_server server;  // redis-server on a socket in a temporary folder
    asio::io_context context;
    colock::client redis{context.get_executor(), server.settings()};

    std::string result;
    std::exception_ptr failure;
    auto const end = [&](std::exception_ptr thrown, std::string got) {
        failure = std::move(thrown);
        result = std::move(got);
        redis.close(asio::detached);
    };
    asio::co_spawn(context, pay(redis, "7", charge_nothing), end);
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    std::printf("with a server: %s\n", result.c_str());
    expect(result == "charged", "it works");
}
// real]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

int main()
{
    try {
        when_nobody_else_wants_it();
        when_somebody_has_it();
        when_the_lock_is_lost();
        with_a_server();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
