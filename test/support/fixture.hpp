// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/redis_server.hpp"
#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/observer.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock {

/// For Boost.Test.
inline std::ostream& boost_test_print_type(std::ostream& to, error what)
{
    return to << make_error_code(what).message();
}

}  // namespace colock

namespace colock::test {

class redis_cluster;
class sentinel_group;

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

/// Waits until `is_so`, looking each millisecond. It is a failure of the test if it wasn't within
/// the limit; then this is false.
asio::awaitable<bool> eventually(
    std::function<bool()> is_so,
    milliseconds limit = 5s,
    std::source_location from = std::source_location::current()
);

/// The same where the test is content with either.
asio::awaitable<bool> ever(std::function<bool()> is_so, milliseconds limit);

/// Lets others run for so long.
asio::awaitable<void> time_passes(milliseconds how_long);

/// A name that no other test uses.
std::string unique_name(std::string_view about);

/// Short times, but a lease of 10 s, which no machine is too busy for, and a poll cap of 30 s: what
/// a message should bring does not come by polling before the test is over.
config quick(config where);

/// The same with a lease that ends, or is renewed, while the test looks on.
config brief(config where);
inline constexpr milliseconds brief_lease{400};

/// The client has an acquire of this name that waits, and hears when it is worth asking again. Call
/// it where the client runs.
bool is_waiting(client const&, std::string const& name);

/// The channel by which the client hears that it is its turn for this name.
std::string mailbox_of(client const&, std::string const& name);

/// A client that runs, and how that ended.
struct running_client {
    running_client(asio::any_io_executor, config, std::shared_ptr<log_lines>);

    void run();

    std::shared_ptr<log_lines> log;
    std::shared_ptr<std::optional<error_code>> ended;
    colock::client client;
};

/// Where a test takes place: one thread, one server or several that belong together, clients that
/// are closed at the end.
class lab {
public:
    explicit lab(redis_server&);
    explicit lab(redis_cluster&);
    explicit lab(sentinel_group&);
    /// Servers that have no keys to look at, and may not even exist.
    explicit lab(config where);
    ~lab();

    asio::io_context& context() noexcept { return *context_; }
    redis_server& server() noexcept { return *server_; }

    /// No key is left but counters, on none of the servers; then all is deleted.
    void check_no_key_is_left();

    /// A client that runs. By default on the server's socket, with short times.
    running_client& connect(config);
    running_client& connect() { return connect(settings()); }

    /// Of a client here, with short times.
    config settings() const { return quick(where_); }

    /// Runs `what`, a coroutine, for at most `limit`. Then closes all clients, which must succeed,
    /// and checks that no key and no client-side state is left.
    void run(std::function<asio::awaitable<void>()> what, milliseconds limit = 20s);

    /// Runs `what` and leaves all as it is: for the rest, see to the faults yourself.
    void run_only(std::function<asio::awaitable<void>()> what, milliseconds limit = 20s);

    /// Destroys the clients, and then the context with all that is pending in it.
    void destroy_context();

private:
    asio::awaitable<void> close_all();
    void leave_context();

    lab(redis_server* first, config where, std::function<std::vector<redis_server*>()> servers);

    redis_server* server_;
    config where_;
    std::function<std::vector<redis_server*>()> servers_;  ///< those that have keys now
    std::unique_ptr<asio::io_context> context_;
    std::list<running_client> clients_;
};

/// When the first link was up last, and when a hold was lost.
class diary final : public observer {
public:
    using clock = std::chrono::steady_clock;

    void on_event(client_event const& what) noexcept override
    {
        auto const* const link = std::get_if<events::link_up>(&what);
        if (link && link->link == 0)
            up_ = clock::now();
        if (std::holds_alternative<events::lost>(what)) {
            ++losses_;
            lost_ = clock::now();
        }
    }

    int losses() const noexcept { return losses_; }
    std::chrono::microseconds told_after() const
    {
        return std::chrono::duration_cast<std::chrono::microseconds>(lost_ - up_);
    }

private:
    clock::time_point up_{}, lost_{};
    int losses_ = 0;
};

}  // namespace colock::test
