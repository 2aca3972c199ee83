// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process that takes one lock and then, as the same owner, another one, until it is killed. It
// asks for the second one when somebody else has that.
//
//     taker URL LABEL FIRST SECOND
#include <colock/client.hpp>
#include <colock/lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace {

namespace asio = boost::asio;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): it outlives the context
asio::awaitable<void> take(colock::client& redis, std::string first, std::string second)
{
    colock::owner const who;
    colock::lock const one{redis, first}, other{redis, second};
    auto taking = one.acquire({.as = who}, asio::deferred);
    colock::hold const had = co_await std::move(taking);
    for (bool is_held = false; !is_held;) {
        asio::steady_timer pause{redis.get_executor(), std::chrono::milliseconds{10}};
        co_await pause.async_wait(asio::deferred);
        auto asking = other.is_locked(asio::deferred);
        is_held = co_await std::move(asking);
    }
    auto waiting = other.acquire({.as = who}, asio::deferred);
    colock::hold const got = co_await std::move(waiting);
}

}  // namespace

int main(int count, char** words)
{
    if (count != 5)
        return 64;
    try {
        asio::io_context context{1};
        auto settings = colock::config::from_url(words[1]);
        settings.label = words[2];
        colock::client redis{context.get_executor(), settings};
        asio::co_spawn(context, take(redis, words[3], words[4]), asio::detached);
        context.run();
        return 0;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
