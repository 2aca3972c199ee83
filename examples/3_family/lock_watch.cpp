// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A program that does not want the lock hears what happens to it; and a holder is asked to let go.
//
//     lock_watch [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

// [watch
asio::awaitable<void> wait_for_a_release(colock::lock deployment)
{
    colock::lock_watch const watch{deployment};
    for (;;) {
        colock::lock_event const event = co_await watch.next();
        if (event.what == colock::lock_event::kind::live)
            std::printf("watching\n");  // ask is_locked() now to know how things stand
        if (event.what == colock::lock_event::kind::released)
            co_return;
    }
}
// watch]

asio::awaitable<void> deploy(colock::lock deployment)
{
    // Again and again, because a release before the watch is live is not heard.
    for (int i = 0; i != 100; ++i) {
        colock::hold held = co_await deployment.acquire();
        co_await held.release();
        asio::steady_timer rest{co_await asio::this_coro::executor, std::chrono::milliseconds{20}};
        co_await rest.async_wait(asio::deferred);
    }
}

// The hold lives as long as the work.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> work_until_asked(colock::lock deployment)
{
    // A loss ends this, too: with_lock throws error::lost then.
    co_await colock::with_lock(deployment, [&deployment](colock::hold&) -> asio::awaitable<void> {
        colock::lock_watch const watch{deployment};
        for (;;) {
            colock::lock_event const event = co_await watch.next();  // beside it the work goes on
            if (event.what == colock::lock_event::kind::requested)
                break;
        }
        std::printf("asked to let go\n");
    });
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> take_over(colock::lock deployment)
{
    std::optional<colock::hold> held;
    while (!held) {  // the holder may not listen yet
        co_await colock::lock_watch::ask_to_release(deployment);
        held = co_await deployment.try_acquire_for(std::chrono::milliseconds{100});
    }
    std::printf("taken over\n");
    co_await held->release();
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    colock::lock const deployment{redis, "deployment"};
    co_await (wait_for_a_release(deployment) || deploy(deployment));
    std::printf("released\n");
    co_await (work_until_asked(deployment) && take_over(deployment));
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
