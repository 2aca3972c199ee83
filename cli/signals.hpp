// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "system.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <csignal>
#include <functional>
#include <initializer_list>
#include <optional>

namespace cli {

/// Takes this process's signals as values, for as long as it lives. A signal that was ignored when
/// we began stays ignored, by us and by a child. To be made before any thread: one that doesn't
/// block these signals would get them.
class signals {
public:
    /// `from_keyboard`: the terminal has sent it, to the whole of its foreground group.
    using on_signal = std::function<void(int number, bool from_keyboard)>;

    signals(boost::asio::any_io_executor const&, on_signal);
    signals(signals const&) = delete;
    signals& operator=(signals const&) = delete;
    ~signals();

    /// From now on we aren't stopped for writing to the terminal while a child has it.
    void write_from_background() noexcept;

    /// The exit status is known, so a signal does not change it any more.
    void ignore_from_now() noexcept;

    /// The mask as it was, and whether SIGCHLD was ignored: for a child.
    sigset_t const& former_mask() const noexcept { return former_; }
    bool children_were_ignored() const noexcept { return children_were_ignored_; }

private:
    void wait();

    std::optional<signal_stream> stream_;
    boost::asio::posix::stream_descriptor descriptor_;
    on_signal handler_;
    sigset_t taken_;
    sigset_t former_;
    bool children_were_ignored_;
    signal_stream::record next_{};
};

/// Takes those of these signals that are blocked and have come, so that nobody hears of them.
void forget_pending(std::initializer_list<int>) noexcept;

/// Stops this process by SIGTSTP, and returns when it goes on: at once if it already is to.
void stop_alone();

/// Stops our process group by SIGTSTP, SIGTTIN or SIGTTOU, and returns when it goes on: at once if
/// it already is to. \returns false at once where it can't be stopped, since no shell looks after
/// it.
bool stop_as_with(int signal);

/// Ends this process by the signal, as it would have by default.
[[noreturn]] void die_of(int signal);

}  // namespace cli
