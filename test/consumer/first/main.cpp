// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The program of the README.
// [first
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

// One order is charged by one task at a time, whichever process it reaches.
asio::awaitable<void> pay(colock::client& redis, std::string order)
{
    colock::lock lock{redis, "order:" + order};  // a name; sends nothing
    auto charge = [&](colock::hold& held) -> asio::awaitable<void> {
        std::cout << "charged order " << order << " with token " << held.fencing_token() << '\n';
        co_return;
    };
    co_await colock::with_lock(lock, charge);  // waits its turn; releases on every way out
}

int main(int argc, char** argv)
try {
    asio::io_context context;
    auto const url = argc > 1 ? argv[1] : "redis://localhost";
    colock::client redis{context.get_executor(), colock::config::from_url(url)};  // one a process
    std::exception_ptr failure;
    asio::co_spawn(context, pay(redis, "42"), [&](std::exception_ptr thrown) {
        failure = thrown;
        redis.close(asio::detached);  // releases what is held, and lets run() end
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
// first]
