// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// No compiler may take a line with a mark. The mark has words of the message that has to say why.
// For check_traps.py.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace asio = boost::asio;

asio::awaitable<void> run_work(colock::lock lock, colock::semaphore partner)
{
    co_await colock::with_lock(lock, [](int) -> asio::awaitable<void> {
        co_return;
    });                                                                 // [argument]
    co_await colock::with_lock(lock, [](colock::hold&) { return 7; });  // [coroutine]
    co_await colock::with_permits(partner, 1, [](std::string) -> asio::awaitable<void> {
        co_return;
    });                                                                  // [argument]
    co_await colock::with_permits(partner, 1, [] {});                    // [coroutine]
    co_await colock::with_permits(partner, 1, asio::awaitable<void>{});  // [argument]
}
