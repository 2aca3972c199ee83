// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "signals.hpp"

#include <boost/asio/buffer.hpp>

#include <array>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace cli {

namespace asio = boost::asio;

namespace {

/// They end or stop a process that does not take them.
constexpr std::array ending{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP};

bool is_ignored(int signal)
{
    struct sigaction now = {};
    return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

sigset_t set_of(std::initializer_list<int> all)
{
    sigset_t made;
    sigemptyset(&made);
    for (int const number : all)
        sigaddset(&made, number);
    return made;
}

/// Somebody makes us go on, which a stop would take away: a shell may believe that we stand still
/// already, since the rest of its job does.
bool is_to_go_on()
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

/// Lets the signal through to what it does by default.
void let_through(int signal)
{
    auto const one = set_of({signal});
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

signals::signals(asio::any_io_executor const& executor, on_signal handler)
    : descriptor_{executor}
    , handler_{std::move(handler)}
    , taken_{set_of({SIGCHLD, SIGCONT})}
    , children_were_ignored_{is_ignored(SIGCHLD)}
{
    // A blocked signal comes even if it is ignored.
    for (int const number : ending)
        if (!is_ignored(number))
            sigaddset(&taken_, number);
    std::signal(SIGCHLD, SIG_DFL);  // else nobody could be waited for
    auto blocked = taken_;
    sigaddset(&blocked, SIGPIPE);  // who reads what we say may have gone
    pthread_sigmask(SIG_BLOCK, &blocked, &former_);
    stream_.emplace(taken_);
    descriptor_.assign(stream_->descriptor());
    wait();
}

signals::~signals()
{
    forget_pending({SIGPIPE, SIGTTOU});
    pthread_sigmask(SIG_SETMASK, &former_, nullptr);
}

void signals::write_from_background() noexcept
{
    auto const stop = set_of({SIGTTOU});
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

void signals::ignore_from_now() noexcept
{
    for (int const number : ending)
        std::signal(number, SIG_IGN);
}

void signals::wait()
{
    descriptor_.async_read_some(
        asio::buffer(next_),
        [this](boost::system::error_code ec, std::size_t) {
            if (ec)
                return;
            handler_(signal_stream::number_of(next_), signal_stream::is_from_keyboard(next_));
            wait();
        }
    );
}

void forget_pending(std::initializer_list<int> all) noexcept
{
    for (int const number : all) {
        auto const one = set_of({number});
        sigset_t pending;
        int taken = 0;
        while (sigpending(&pending) == 0 && sigismember(&pending, number) == 1 &&
               sigwait(&one, &taken) == 0) {}
    }
}

void stop_alone()
{
    if (is_to_go_on())
        return;
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    raise(SIGTSTP);
    let_through(SIGTSTP);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool stop_as_with(int signal)
{
    if (!is_to_go_on()) {
        sigset_t before;
        pthread_sigmask(SIG_BLOCK, nullptr, &before);
        kill(0, signal);  // a pipeline stops as a whole
        let_through(signal);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    // A stop takes an earlier SIGCONT away, and nothing else ends it.
    bool const goes_on = is_to_go_on();
    forget_pending({SIGCONT});  // it ended this stop, and must not prevent the next
    return goes_on;
}

void die_of(int signal)
{
    std::signal(signal, SIG_DFL);
    raise(signal);
    let_through(signal);
    std::_Exit(128 + signal);
}

}  // namespace cli
