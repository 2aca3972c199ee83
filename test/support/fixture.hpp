// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/redis_server.hpp"
#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// For Boost.Test.
inline std::ostream& boost_test_print_type(std::ostream& to, error what)
{
    return to << make_error_code(what).message();
}

}  // namespace colock

namespace colock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Collects a client's log.
class log_lines {
public:
    logger sink();

    /// How many lines have this text in them.
    std::size_t count(std::string_view text) const;
    std::string all() const;

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

/// Measures a test's own waiting.
class stopwatch {
public:
    /// Milliseconds since it was made.
    std::int64_t ms() const
    {
        auto const passed = std::chrono::steady_clock::now() - begun_;
        return std::chrono::duration_cast<milliseconds>(passed).count();
    }

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

/// Waits until `is_so`, looking each millisecond; false if it wasn't within the limit.
asio::awaitable<bool> eventually(std::function<bool()> is_so, milliseconds limit = 5s);

/// A name that no other test uses.
std::string unique_name(std::string_view about);

/// Short times, so that a test of leases is over soon: a lease of 400 ms.
config quick(config where);

/// A client that runs, and how that ended.
struct running_client {
    running_client(asio::any_io_executor, config, std::shared_ptr<log_lines>);

    void run();

    std::shared_ptr<log_lines> log;
    std::shared_ptr<std::optional<error_code>> ended;
    colock::client client;
};

/// Where a test takes place: one thread, one server, clients that are closed at the end.
class lab {
public:
    explicit lab(redis_server&);
    ~lab();

    asio::io_context& context() noexcept { return *context_; }
    redis_server& server() noexcept { return server_; }

    /// A client that runs. By default on the server's socket, with short times.
    running_client& connect(config);
    running_client& connect() { return connect(quick(server_.by_socket())); }

    /// Runs `what`, a coroutine, for at most `limit`. Then closes all clients, which must succeed,
    /// and checks that no key and no client-side state is left.
    void run(std::function<asio::awaitable<void>()> what, milliseconds limit = 20s);

    /// Runs `what` and leaves all as it is: for the rest, see to the faults yourself.
    void run_only(std::function<asio::awaitable<void>()> what, milliseconds limit = 20s);

    /// Destroys the clients, and then the context with all that is pending in it.
    void destroy_context();

private:
    asio::awaitable<void> close_all();

    redis_server& server_;
    std::unique_ptr<asio::io_context> context_;
    std::list<running_client> clients_;
};

}  // namespace colock::test
