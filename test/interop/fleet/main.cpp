// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The counterpart of java/Fleet.java: a process of its own, with a client and some tasks.
//
//     fleet URL KIND NAME TASKS SECTIONS STAY_US FILE MAX_TENURE_MS
//
// It prints how many sections its tasks had, and in how many turns: what is handed over inside the
// process is one turn. Of kind "read_write" every other task reads, and the others write.
#include "interop/mixed_fleet.hpp"
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

namespace {

namespace asio = boost::asio;
using colock::test::scoreboard;

struct fleet {
    scoreboard board;
    int sections;
    std::chrono::microseconds stay;
    int done = 0;
    int running = 0;
};

struct hand_over_counter final : colock::observer {
    void on_event(colock::client_event const& what) noexcept override
    {
        count += std::holds_alternative<colock::events::handed_over>(what);
    }
    int count = 0;
};

void enter(fleet& all, bool reading)
{
    all.board.enter(reading);
    auto const end = std::chrono::steady_clock::now() + all.stay;
    while (std::chrono::steady_clock::now() < end) {}
    ++all.done;
    all.board.leave(reading);
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

template <class Lock>
asio::awaitable<void> work(colock::client& redis, Lock lock, fleet& all, bool reading)
{
    while (all.board.get(scoreboard::sections) < all.sections) {
        colock::hold held = co_await lock.acquire();
        enter(all, reading);
        co_await held.release();
    }
    if (--all.running == 0)
        co_await redis.close();
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

void rethrow(std::exception_ptr thrown)
{
    if (thrown)
        std::rethrow_exception(thrown);
}

void start(
    asio::io_context& on,
    colock::client& redis,
    std::string const& kind,
    std::string const& name,
    fleet& all,
    int which
)
{
    if (kind == "lock")
        asio::co_spawn(on, work(redis, colock::lock{redis, name}, all, false), rethrow);
    else if (kind == "fair")
        asio::co_spawn(on, work(redis, colock::fair_lock{redis, name}, all, false), rethrow);
    else if (kind == "read_write" && which % 2 == 0)
        asio::co_spawn(
            on, work(redis, colock::read_write_lock{redis, name}.read(), all, true), rethrow
        );
    else if (kind == "read_write")
        asio::co_spawn(
            on, work(redis, colock::read_write_lock{redis, name}.write(), all, false), rethrow
        );
    else
        throw std::invalid_argument{"no such kind: " + kind};
}

int run(char const* const* words)
{
    fleet all{
        scoreboard{words[7]}, std::stoi(words[5]), std::chrono::microseconds{std::stoi(words[6])}};
    asio::io_context context{1};
    auto settings = colock::config::from_url(words[1]);
    settings.max_tenure = std::chrono::milliseconds{std::stoi(words[8])};
    auto const handed = std::make_shared<hand_over_counter>();
    settings.observer = handed;
    colock::client redis{context.get_executor(), settings};
    redis.run(asio::detached);
    all.running = std::stoi(words[4]);
    for (int i = 0; i != all.running; ++i)
        start(context, redis, words[2], words[3], all, i);

    all.board.add(scoreboard::arrived, 1);
    while (all.board.get(scoreboard::arrived) < all.board.get(scoreboard::expected))
        std::this_thread::yield();
    context.run();
    std::cout << all.done << ' ' << all.done - handed->count << std::endl;
    return 0;
}

}  // namespace

int main(int count, char** words)
{
    try {
        return count == 9 ? run(words) : 64;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
