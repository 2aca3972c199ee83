// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>
#include <utility>

namespace colock::test {

namespace asio = boost::asio;

/// Completes with a tuple instead of throwing.
inline constexpr auto quiet = asio::as_tuple(asio::deferred);

/// The base of a server that runs on a thread of its own. All but `context` belongs to the thread.
class own_thread {
public:
    /// Runs on the thread, and gives back what it returns.
    template <class F>
    auto on_thread(F f)
    {
        return asio::dispatch(context, asio::use_future(std::move(f))).get();
    }

    asio::io_context context{1};

protected:
    own_thread() = default;
    own_thread(own_thread const&) = delete;
    own_thread& operator=(own_thread const&) = delete;
    ~own_thread() = default;

    void start()
    {
        thread_ = std::thread{[this] { context.run(); }};
    }

    /// To be called before anything that belongs to the thread goes.
    void stop()
    {
        context.stop();
        thread_.join();
    }

private:
    /// The thread is needed also while there is nothing to do on it.
    asio::executor_work_guard<asio::io_context::executor_type> goes_on_{context.get_executor()};
    std::thread thread_;
};

}  // namespace colock::test
