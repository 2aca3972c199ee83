// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "signals.hpp"
#include "supervisor.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>

#include <unistd.h>
#include <utility>

namespace cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Once a process has ended, its id may be another's.
constexpr pid_t no_process = -1;

}  // namespace

supervisor::supervisor(asio::any_io_executor const& executor, std::function<void()> before_going_on)
    : before_going_on_{std::move(before_going_on)}
    , grace_{executor}
    , change_{executor, asio::steady_timer::time_point::max()}
{}

asio::awaitable<int> supervisor::start(launch const& how)
{
    // Where the command's input or output is no terminal there may be others of a pipeline who want
    // it: then it gets the terminal when it asks for it.
    bool const at_once =
        isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && terminal_.is_ours();
    int why = job_.fork(how, at_once ? &terminal_ : nullptr);
    if (why != 0)
        co_return why;
    asio::posix::stream_descriptor outcome{grace_.get_executor(), job_.outcome()};
    auto reading =
        asio::async_read(outcome, asio::buffer(&why, sizeof why), asio::as_tuple(asio::deferred));
    auto const [ended, got] = co_await std::move(reading);
    if (got != sizeof why)
        co_return 0;
    co_await wait();
    if (at_once)
        take_terminal_back();
    co_return why;
}

void supervisor::look()
{
    do
        look_at_job();
    while (reap_all_but(end_ ? no_process : job_.id()));
}

void supervisor::look_at_job()
{
    if (job_.id() < 0 || end_)
        return;
    while (auto const news = job_.look()) {
        if (news->what == job::news::kind::stopped) {
            on_stopped(news->number);
            continue;
        }
        end_ = news;
        ended_in_front_ = terminal_.serves(job_.id());
        change_.cancel();
        return;
    }
}

/// The command stands still: because it wants the terminal, which it gets if that is ours to give;
/// or because it was told to, and so do we. But only where a shell makes both go on together: after
/// a SIGSTOP, or without a shell, somebody may make it go on alone, so we stay awake and renew.
void supervisor::on_stopped(int signal)
{
    bool const wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (!(wants_terminal && terminal_.is_ours())) {
        if (!terminal_.is_there() || (!wants_terminal && signal != SIGTSTP))
            return;
        take_terminal_back();
        // One that would only stop again is left as it is.
        if (!stop_as_with(signal) && wants_terminal)
            return;
    }
    if (terminal_.is_ours())
        terminal_.give(job_.id());
    before_going_on_();
    job_.signal(SIGCONT);
}

asio::awaitable<void> supervisor::wait()
{
    look();
    while (!end_)
        co_await change_.async_wait(asio::as_tuple(asio::deferred));
}

int supervisor::stop(int signal, std::chrono::milliseconds grace)
{
    int const why = job_.signal(signal);
    job_.signal(SIGCONT);  // one that stands still hears nothing
    grace_.expires_after(grace);
    grace_.async_wait([this](boost::system::error_code ec) {
        if (!ec)
            job_.signal(SIGKILL);
    });
    return why;
}

asio::awaitable<void> supervisor::end_group()
{
    asio::steady_timer pause{grace_.get_executor()};
    while (job_.has_members() && grace_.expiry() > asio::steady_timer::clock_type::now()) {
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::as_tuple(asio::deferred));
    }
    grace_.cancel();
    if (job_.has_members())
        job_.signal(SIGKILL);
}

}  // namespace cli
