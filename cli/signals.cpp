// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "signals.hpp"

#include <boost/asio/buffer.hpp>

#include <cerrno>
#include <cstdlib>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cli {

namespace asio = boost::asio;

signals::signals(asio::any_io_executor const& executor, on_signal handler)
    : descriptor_{executor}
    , handler_{std::move(handler)}
{
    sigemptyset(&taken_);
    for (int const number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD})
        sigaddset(&taken_, number);
    pthread_sigmask(SIG_BLOCK, &taken_, &former_);
    int const made = signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (made < 0)
        throw std::system_error{errno, std::generic_category(), "signalfd"};
    descriptor_.assign(made);
    wait();
}

signals::~signals() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

void signals::add_stops()
{
    sigaddset(&taken_, SIGTSTP);
    sigaddset(&taken_, SIGCONT);
    pthread_sigmask(SIG_BLOCK, &taken_, nullptr);
    signalfd(descriptor_.native_handle(), &taken_, 0);
}

void signals::wait()
{
    descriptor_.async_read_some(
        asio::buffer(&next_, sizeof next_),
        [this](boost::system::error_code ec, std::size_t) {
            if (ec)
                return;
            handler_(static_cast<int>(next_.ssi_signo), next_.ssi_code == SI_KERNEL);
            wait();
        }
    );
}

namespace {

/// Lets the signal through to what it does by default.
void let_through(int signal)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

void stop_as_with(int signal)
{
    if (signal == SIGSTOP) {
        raise(SIGSTOP);
        return;
    }
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    kill(0, signal);  // a pipeline stops as a whole
    let_through(signal);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // A group that no shell looks after isn't stopped by the terminal's signals. Who wants to read
    // there waits all the same.
    sigset_t pending;
    sigpending(&pending);
    if (signal != SIGTSTP && sigismember(&pending, SIGCONT) == 0)
        raise(SIGSTOP);
}

void die_of(int signal)
{
    std::signal(signal, SIG_DFL);
    raise(signal);
    let_through(signal);
    std::_Exit(128 + signal);
}

}  // namespace cli
