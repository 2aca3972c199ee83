// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A flash sale: many users, little stock, several servers. docs/seckill.md goes through it.
//
//     seckill --redis URL --port 8080 --stock 100        and as many more as you like
#include "pages.hpp"
#include "shop.hpp"
#include "store.hpp"
#include "web.hpp"
#include <colock/client.hpp>
#include <colock/metrics.hpp>
#include <colock/metrics/prometheus.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <prometheus/text_serializer.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace seckill {

struct options {
    std::string redis = "redis://127.0.0.1:6379";
    std::string name = "a";
    std::uint16_t port = 8080;
    int stock = 100;
    int paying = 5;
    int lease = 3'000;
    bool without_lock = false;
};

colock::config settings_of(options const& asked, std::shared_ptr<colock::metrics> counted)
{
    auto settings = colock::config::from_url(asked.redis);
    settings.client_name = "seckill-" + asked.name;
    settings.lease = std::chrono::milliseconds{asked.lease};
    settings.observer = std::move(counted);
    return settings;
}

// [metrics
/// The answer to GET /metrics.
std::function<std::string()> exposition(
    std::shared_ptr<colock::metrics> const& counted, colock::client const& redis
)
{
    counted->watch(redis);  // for what it is doing now: holds, waiters, connections
    return [shown = colock::prometheus_collector{"seckill", counted}] {
        return prometheus::TextSerializer{}.Serialize(shown.Collect());
    };
}
// metrics]

/// Begins the sale, which is also how we know that Redis is there.
asio::awaitable<void> begin(store& data, options const& asked)
{
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer limit{co_await asio::this_coro::executor, std::chrono::seconds{5}};
    auto const first = co_await (data.open(asked.stock) || limit.async_wait(asio::use_awaitable));
    if (first.index() != 0)
        throw std::runtime_error{
            "the shop's Redis did not answer within 5 s: is --redis right, and does it let us in?"};
}

asio::awaitable<void> sell(options asked)
{
    auto const executor = co_await asio::this_coro::executor;
    auto const counted = std::make_shared<colock::metrics>();
    auto const settings = settings_of(asked, counted);
    colock::client redis{executor, settings};
    redis.run(asio::detached);
    store data{executor, settings};
    co_await begin(data, asked);

    shop sale{
        redis,
        data,
        {.server = asked.name,
         .paying = std::chrono::milliseconds{asked.paying},
         .locking = !asked.without_lock}};
    pages shown{sale, exposition(counted, redis)};
    web site{executor, asked.port, shown};
    asio::signal_set signals{executor, SIGINT, SIGTERM};
    std::exception_ptr failure;
    asio::co_spawn(executor, site.run(), [&](std::exception_ptr thrown) {
        failure = std::move(thrown);
        signals.cancel();  // a site that accepts nobody any more ends as at a signal
    });
    std::printf("seckill %s: http://127.0.0.1:%u\n", asked.name.c_str(), unsigned{site.port()});
    std::fflush(stdout);

    co_await signals.async_wait(asio::as_tuple(asio::deferred));
    co_await site.stop();    // the answers that are under way
    co_await redis.close();  // what is held is released
    if (failure)
        std::rethrow_exception(failure);
    std::printf("seckill %s: closed\n", asked.name.c_str());
}

}  // namespace seckill

int main(int argc, char** argv)
{
    seckill::options asked;
    CLI::App app{"A flash sale: one order a user, and never more orders than stock."};
    app.add_option("--redis", asked.redis, "where the locks and the shop's data are");
    app.add_option("--name", asked.name, "what this server is called: letters and digits")
        ->check([](std::string const& name) {
            return std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c); })
                ? std::string{}
                : "--name takes letters and digits, not '" + name + "'";
        });
    app.add_option("--port", asked.port, "on 127.0.0.1; 0: one that is free");
    app.add_option("--stock", asked.stock, "of the sale, unless it has begun");
    app.add_option("--paying", asked.paying, "milliseconds that a payment takes");
    app.add_option("--lease", asked.lease, "milliseconds that a killed server's locks outlive it");
    app.add_flag(
        "--without-lock", asked.without_lock, "sell a user two, to see what the lock is for"
    );
    CLI11_PARSE(app, argc, argv);

    int status = 0;
    boost::asio::io_context context;
    boost::asio::co_spawn(context, seckill::sell(asked), [&](std::exception_ptr thrown) {
        if (!thrown)
            return;
        status = 1;
        context.stop();
        try {
            std::rethrow_exception(thrown);
        } catch (std::exception const& e) {
            std::fprintf(stderr, "seckill: %s\n", e.what());
        }
    });
    context.run();
    return status;
}
