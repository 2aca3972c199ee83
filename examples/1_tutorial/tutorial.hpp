// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

/// The common parts of the tutorial's programs. Nothing in it is about locks.
namespace tutorial {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline std::string server(int argc, char** argv, int which = 1)
{
    return argc > which ? argv[which] : "redis://127.0.0.1:6379";
}

/// Runs a coroutine to its end. An exception goes to standard error, and the program fails.
inline int run(asio::awaitable<void> lesson)
{
    asio::io_context context;
    bool done = false;
    asio::co_spawn(context, std::move(lesson), [&](std::exception_ptr failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
            done = true;
        } catch (std::exception const& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        context.stop();
    });
    context.run();
    return done ? 0 : 1;
}

/// Stands for work.
inline asio::awaitable<void> pause(milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

/// A lesson that doesn't go as its page says fails.
inline void expect(bool as_told, char const* what)
{
    if (!as_told)
        throw std::logic_error{std::string{"not as told: "} + what};
}

/// The time since it was made.
class stopwatch {
public:
    long long ms() const
    {
        return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin_).count();
    }

private:
    steady_clock::time_point begin_ = steady_clock::now();
};

}  // namespace tutorial
