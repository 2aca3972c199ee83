#pragma once

#include "statistics.hpp"
#include <colock/colock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <functional>

namespace bench {

namespace asio = boost::asio;

/// Gives `work` a client that runs, and closes it afterwards. Throws what `work` throws.
void with_client(
    colock::config const&, std::function<asio::awaitable<void>(colock::client&)> const& work
);

/// Coroutines that run beside the one that waits for them.
class crew {
public:
    explicit crew(asio::any_io_executor const&);

    void add(asio::awaitable<void> work);

    /// Completes when the last one has ended; throws what one has thrown. Must be called after the
    /// last `add`, for it keeps this object alive while they run.
    asio::awaitable<void> join();

private:
    asio::any_io_executor executor_;
    asio::steady_timer done_;
    std::exception_ptr failure_;
    int running_ = 0;
};

asio::awaitable<void> sleep_until(steady::time_point);
asio::awaitable<void> sleep_for(steady::duration);

/// One after the other.
asio::awaitable<samples> ping_burst(colock::client const*, int count = 500);

/// Takes the locks `prefix:0` to `prefix:<n-1>` into `into`, which has that many places, with
/// `workers` under way at once. Returns the number of errors.
asio::awaitable<std::int64_t> hold_many(
    colock::client const*, std::string prefix, int workers, std::vector<colock::hold>* into
);

}  // namespace bench
