// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process that takes and gives permits, one at a time each task, until there were so many
// operations, or it is killed:
//
//     permits URL semaphore|permit_semaphore NAME PERMITS TASKS FILE INDEX
//
// FILE is workers/permit_board.hpp's; INDEX is the process's own.
#include "workers/permit_board.hpp"
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace {

namespace asio = boost::asio;

struct worker {
    worker(char const* const* words)
        : name{words[3]}
        , permits{std::stoi(words[4])}
        , running{std::stoi(words[5])}
        , board{words[6]}
        , index{static_cast<unsigned>(std::stoi(words[7]))}
    {
        auto settings = colock::config::from_url(words[1]);
        settings.lease = std::chrono::seconds{1};
        redis.emplace(context.get_executor(), settings);
    }

    asio::awaitable<void> take_and_give(colock::semaphore from)
    {
        while (board.is_on()) {
            co_await from.acquire();
            board.took(index, permits);
            board.gives(index);
            co_await from.release();
            board.count(2);
        }
        co_await end();
    }

    asio::awaitable<void> take_and_give(colock::permit_semaphore from)
    {
        while (board.is_on()) {
            colock::permit held = co_await from.acquire();
            board.took(index, permits);
            board.gives(index);
            co_await held.release();
            board.count(2);
        }
        co_await end();
    }

    asio::awaitable<void> end()
    {
        if (--running == 0)
            co_await redis->close();
    }

    std::string name;
    int permits;
    int running;
    colock::test::permit_board board;
    unsigned index;
    asio::io_context context{1};
    std::optional<colock::client> redis;
};

void rethrow(std::exception_ptr thrown)
{
    if (thrown)
        std::rethrow_exception(thrown);
}

template <class Semaphore>
void start_all(worker& w)
{
    for (int i = w.running; i != 0; --i)
        asio::co_spawn(w.context, w.take_and_give(Semaphore{*w.redis, w.name}), rethrow);
}

}  // namespace

int main(int count, char** words)
{
    if (count != 8)
        return 64;
    try {
        worker w{words};
        w.redis->run(asio::detached);
        if (words[2] == std::string{"semaphore"})
            start_all<colock::semaphore>(w);
        else
            start_all<colock::permit_semaphore>(w);
        w.context.run();
        return 0;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
