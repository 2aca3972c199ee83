// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

/// Runs a coroutine to its end; 0, or 1 after it has thrown.
inline int run(boost::asio::awaitable<void> example)
{
    boost::asio::io_context context;
    bool done = false;
    boost::asio::co_spawn(context, std::move(example), [&](std::exception_ptr failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
            done = true;
        } catch (std::exception const& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
    });
    context.run();
    return done ? 0 : 1;
}

/// Runs the coroutine of an example on the server named first, else on the one next door.
inline int run(boost::asio::awaitable<void> (*example)(std::string url), int argc, char** argv)
{
    return run(example(argc > 1 ? argv[1] : "redis://127.0.0.1:6379"));
}
