// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A file that takes no write with an older token than it has seen.
//
//     fenced_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;

struct file {
    std::uint64_t newest = 0;
    std::string text;

    bool write(std::uint64_t token, std::string what)
    {
        if (token < newest)
            return false;  // from somebody who has lost the lock and doesn't know yet
        newest = token;
        text = std::move(what);
        return true;
    }
};

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    file report;
    // [write
    colock::fenced_lock const lock{redis, "report"};
    colock::hold held = co_await lock.acquire();
    auto const token = held.fencing_token();  // Java's RFencedLock draws from the same counter
    report.write(token, "first");
    co_await held.release();
    // write]
    colock::hold next = co_await lock.acquire();
    report.write(next.fencing_token(), "second");
    if (report.write(token, "late") || report.text != "second")
        throw std::logic_error{"an old token was taken"};
    co_await next.release();
    std::printf("token %llu\n", static_cast<unsigned long long>(report.newest));
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
