// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "commands.hpp"
#include "picture.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "supervisor.hpp"
#include "taking.hpp"
#include <colock/hold.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cli {

/// One life of `colock run`: waiting, then the command, then the release.
class runner {
public:
    runner(options const&, surroundings const&);

    int run();

    /// It was ended because the lock was lost, and for no other reason.
    bool has_only_lost() const noexcept { return is_ended_for_loss_ && !is_told_to_end_; }

private:
    enum class phase { waiting, running, ending };

    std::string name() const;
    std::string program() const;
    void say(std::string const& text) const;

    asio::awaitable<int> live();
    asio::awaitable<taken> take_when_possible();
    asio::awaitable<bool> look_at_key();
    asio::awaitable<int> refused(error_code);
    asio::awaitable<void> publish();
    asio::awaitable<void> make_environment();
    asio::awaitable<int> work();
    asio::awaitable<int> too_late();
    asio::awaitable<int> not_started(int why);
    asio::awaitable<int> end_of_work();
    asio::awaitable<void> release();
    asio::awaitable<void> leave();

    void look_at_holder();
    launch how_to_start();
    bool may_start() const;
    int status_of_work() const;
    void on_signal(int number, bool from_keyboard);
    void pass_on(int number);
    std::string when_free() const;
    void on_lost();
    void before_going_on();

    options const& options_;
    surroundings const& here_;
    session session_;
    asio::cancellation_signal no_more_;  ///< ends the wait
    asio::steady_timer connect_limit_{session_.context()};
    phase phase_ = phase::waiting;
    bool out_of_time_ = false;     ///< to connect
    bool is_no_lock_ = false;      ///< the key holds something else
    int ended_by_ = 0;             ///< a signal, while waiting or at the end
    bool is_told_to_end_ = false;  ///< by a signal, at any time
    bool by_keyboard_ = false;
    int dies_of_ = 0;
    colock::hold held_;
    std::vector<std::string> environment_;  ///< the command's
    supervisor command_{session_.context().get_executor(), [this] { before_going_on(); }};
    bool is_started_ = false;  ///< the command runs, or has run
    bool is_deaf_ = false;     ///< it can't be signalled
    bool is_lost_ = false;
    bool is_ended_for_loss_ = false;
    holder_names holder_;
    signals signals_;
};

}  // namespace cli
