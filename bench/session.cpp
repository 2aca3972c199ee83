#include "session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace bench {

void with_client(
    colock::config const& c, std::function<asio::awaitable<void>(colock::client&)> const& work
)
{
    asio::io_context context{1};
    colock::client redis{context.get_executor(), c};
    redis.run(asio::detached);
    std::exception_ptr failure;
    asio::co_spawn(context, work(redis), [&](std::exception_ptr failed) {
        failure = failed;
        redis.close(asio::detached);
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
}

crew::crew(asio::any_io_executor const& executor)
    : executor_{executor}
    , done_{executor, steady::time_point::max()}
{}

void crew::add(asio::awaitable<void> work)
{
    ++running_;
    asio::co_spawn(executor_, std::move(work), [this](std::exception_ptr failed) {
        if (failed)
            failure_ = failed;
        if (--running_ == 0)
            done_.cancel();
    });
}

asio::awaitable<void> crew::join()
{
    if (running_ != 0)
        co_await done_.async_wait(asio::as_tuple(asio::deferred));
    if (failure_)
        std::rethrow_exception(failure_);
}

asio::awaitable<void> sleep_until(steady::time_point when)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, when};
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> sleep_for(steady::duration time) { return sleep_until(steady::now() + time); }

asio::awaitable<samples> ping_burst(colock::client const* redis, int count)
{
    samples found;
    for (int i = 0; i != count; ++i) {
        auto const start = steady::now();
        co_await redis->ping();
        found.add(steady::now() - start);
    }
    co_return found;
}

namespace {

/// What the workers of `hold_many` share.
struct errand {
    colock::client const* redis;
    std::string prefix;
    std::vector<colock::hold>* into;
    std::size_t next = 0;
    std::int64_t errors = 0;

    asio::awaitable<void> work()
    {
        while (next != into->size()) {
            auto const mine = next++;
            colock::lock const lock{*redis, prefix + ":" + std::to_string(mine)};
            auto [failed, held] = co_await lock.acquire(asio::as_tuple(asio::deferred));
            if (failed)
                ++errors;
            (*into)[mine] = std::move(held);
        }
    }
};

}  // namespace

asio::awaitable<std::int64_t> hold_many(
    colock::client const* redis, std::string prefix, int workers, std::vector<colock::hold>* into
)
{
    errand all{redis, std::move(prefix), into};
    crew workers_of_all{co_await asio::this_coro::executor};
    for (int i = 0; i != workers; ++i)
        workers_of_all.add(all.work());
    co_await workers_of_all.join();
    co_return all.errors;
}

}  // namespace bench
