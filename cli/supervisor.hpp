// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "job.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace cli {

/// Runs a program as a shell would: lends it the terminal, stops with it, and waits for its end.
class supervisor {
public:
    /// `before_going_on` is called when the program has stood still and is about to go on.
    supervisor(boost::asio::any_io_executor const&, std::function<void()> before_going_on);

    /// Starts the program; the terminal is its own if nobody else can want it. Waits until it runs,
    /// which may take as long as the file system that it is on, or be cut short by a signal to it.
    /// \returns the error for which it could not be started, or 0.
    boost::asio::awaitable<int> start(launch const&);

    /// To be called whenever a child may have stopped or ended, also before `start`: it waits for
    /// orphans that are left to us, too.
    void look();

    /// Waits until the program has ended.
    boost::asio::awaitable<void> wait();

    /// How it has ended, once it has.
    std::optional<job::news> const& end() const noexcept { return end_; }

    /// It was in the foreground when it ended.
    bool ended_in_front() const noexcept { return ended_in_front_; }
    void take_terminal_back() const noexcept { terminal_.take_back_from(job_.id()); }

    /// To its whole group. \returns 0, or the error.
    int signal(int number) const noexcept { return job_.signal(number); }

    /// Sends the signal, and SIGKILL after `grace`. \returns 0, or the error of the signal.
    int stop(int signal, std::chrono::milliseconds grace);

    /// Also what the program has started in its group is to end, within the grace of `stop`.
    boost::asio::awaitable<void> end_group();

private:
    void look_at_job();
    void on_stopped(int signal);

    std::function<void()> before_going_on_;
    terminal terminal_;
    boost::asio::steady_timer grace_;
    boost::asio::steady_timer change_;  ///< its wait ends with the program
    job job_;
    bool ended_in_front_ = false;
    std::optional<job::news> end_;
};

}  // namespace cli
