// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <csignal>
#include <functional>
#include <sys/signalfd.h>

namespace cli {

/// Takes this process's signals as values, for as long as it lives. No handler is installed: what
/// was ignored when we began is ignored by us, and by a child.
class signals {
public:
    /// `from_keyboard`: the terminal has sent it, to the whole of its foreground group.
    using on_signal = std::function<void(int number, bool from_keyboard)>;

    signals(boost::asio::any_io_executor const&, on_signal);
    signals(signals const&) = delete;
    signals& operator=(signals const&) = delete;
    ~signals();

    /// From now on also those that would stop us or let us go on: there is a child to stop.
    void add_stops();

    /// The mask as it was.
    sigset_t const& former_mask() const noexcept { return former_; }

    void wait();

private:
    boost::asio::posix::stream_descriptor descriptor_;
    on_signal handler_;
    sigset_t taken_;
    sigset_t former_;
    signalfd_siginfo next_{};
};

/// Stops our process group as the signal would, if it may be stopped; returns when we go on.
void stop_as_with(int signal);

/// Ends this process by the signal, as it would have by default.
[[noreturn]] void die_of(int signal);

}  // namespace cli
