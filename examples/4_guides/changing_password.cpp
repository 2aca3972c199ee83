// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A password that is rotated while the client holds a lock.
//
//     changing_password [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Stands for an identity service: it gives the user "app" a password for a short time.
class identity_service {
public:
    explicit identity_service(examples::raw_redis admin) : admin_{std::move(admin)} {}

    /// A new password; those before are refused from now on.
    asio::awaitable<void> rotate()
    {
        password_ = "token-" + std::to_string(++issued_);
        co_await admin_.command(
            "ACL", "SETUSER", "app", "on", "resetpass", ">" + password_, "~*", "&*", "+@all"
        );
        std::printf("password %d is the only one\n", issued_);
    }

    /// How a token is fetched: with time, and without blocking a thread.
    asio::awaitable<std::pair<std::string, std::chrono::milliseconds>> token()
    {
        asio::steady_timer network{co_await asio::this_coro::executor, 5ms};
        co_await network.async_wait(asio::deferred);
        co_return std::pair{password_, 1s};
    }

    asio::awaitable<void> forget() { co_await admin_.command("ACL", "DELUSER", "app"); }

private:
    examples::raw_redis admin_;
    std::string password_;
    int issued_ = 0;
};

// The service outlives the client, and co_spawn keeps the lambda.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// NOLINTBEGIN(cppcoreguidelines-avoid-capturing-lambda-coroutines)
// NOLINTBEGIN(performance-unnecessary-value-param)
// [provider
/// Asks the service for each connection, and again before its token expires.
colock::credentials_provider provider_of(identity_service& service, asio::any_io_executor executor)
{
    return [&service, executor](colock::credentials_request, colock::credentials_handler done) {
        auto fetch = [&service]() -> asio::awaitable<colock::credentials> {
            auto const [token, valid_for] = co_await service.token();
            co_return colock::credentials{"app", token, valid_for};
        };
        asio::co_spawn(
            executor,
            std::move(fetch),
            [done](std::exception_ptr failed, colock::credentials got) {
                if (failed)
                    done(boost::asio::error::try_again, {});
                else
                    done({}, std::move(got));
            }
        );
    };
}
// provider]
// NOLINTEND(performance-unnecessary-value-param)
// NOLINTEND(cppcoreguidelines-avoid-capturing-lambda-coroutines)
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    identity_service service{co_await examples::raw_redis::connect(url)};
    co_await service.rotate();
    {
        auto settings = colock::config::from_url(url);
        settings.credentials = provider_of(service, executor);
        colock::client redis{executor, settings};

        colock::hold held = co_await colock::lock{redis, "nightly"}.acquire();
        asio::steady_timer timer{executor};
        for (int i = 0; i != 2; ++i) {
            co_await service.rotate();
            timer.expires_after(1200ms);  // longer than the first password is valid
            co_await timer.async_wait(asio::deferred);
            std::printf("held: %s\n", held ? "yes" : "no");
        }
        co_await held.release();
        std::printf("reconnects: %llu\n", 0ULL + redis.stats().reconnects);
        co_await redis.close();
    }
    co_await service.forget();
}

int main(int argc, char** argv) { return run(example, argc, argv); }
