// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock run: signals, the loss of the lock, and the end.
#include "progress.hpp"
#include "runner.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace cli {

using namespace std::chrono_literals;

// ---- Signals -----------------------------------------------------------------------------------

void runner::on_signal(int number, bool from_keyboard)
{
    if (number == SIGCHLD)
        return command_.look();
    // While the command runs, these two may tell it something else: to read its files again, to
    // print its threads.
    bool const may_mean_more = phase_ == phase::running && !is_ended_for_loss_;
    is_told_to_end_ = is_told_to_end_ || number == SIGTERM || number == SIGINT ||
        (!may_mean_more && (number == SIGQUIT || number == SIGHUP));
    if (phase_ == phase::running) {
        by_keyboard_ = by_keyboard_ || (number == SIGINT && from_keyboard);
        pass_on(number);
        return;
    }
    if (number == SIGTSTP)
        stop_alone();
    if (number == SIGTSTP || number == SIGCONT)
        return;
    // The second one doesn't wait for Redis any more.
    if (std::exchange(ended_by_, number) != 0)
        std::_Exit(command_.end() ? status_of_work() : status_signal + number);
    by_keyboard_ = by_keyboard_ || from_keyboard;
    no_more_.emit(asio::cancellation_type::terminal);
}

/// A command of another user, such as sudo, can't be signalled.
void runner::pass_on(int number)
{
    if (int const why = command_.signal(number); why == EPERM && !std::exchange(is_deaf_, true))
        say(program() + " did not get signal " + std::to_string(number) + ": " + std::strerror(why)
        );
}

/// The lock may have passed on while we stood still.
void runner::before_going_on()
{
    if (!held_ && !is_lost_)
        on_lost();
}

// ---- The loss ----------------------------------------------------------------------------------

/// The command is told before anybody else is.
void runner::on_lost()
{
    if (std::exchange(is_lost_, true))
        return;
    auto const what = "the lock is lost" + session_.why_lost() + "; " + program();
    if (!is_started_) {
        is_ended_for_loss_ = true;
        command_.stop(SIGKILL, 0ms);
        say(what + " is not started any more");
        return;
    }
    if (options_.when_lost == on_lost::ignore) {
        say(what + " runs on without it");
        return;
    }
    is_ended_for_loss_ = true;
    bool const at_once = options_.when_lost == on_lost::kill;
    if (int const why = command_.stop(at_once ? SIGKILL : SIGTERM, at_once ? 0ms : options_.grace);
        why == EPERM)
        return say(what + " can't be ended: " + std::strerror(why) + "; it runs on without it");
    say(what + " gets " + (at_once ? "SIGKILL" : "SIGTERM, and SIGKILL in " + shown(options_.grace))
    );
}

// ---- The end -----------------------------------------------------------------------------------

int runner::status_of_work() const
{
    if (is_ended_for_loss_)
        return status_lost;
    auto const& end = *command_.end();
    return end.what == job::news::kind::killed ? status_signal + end.number : end.number;
}

asio::awaitable<int> runner::end_of_work()
{
    if (!is_lost_)
        co_await release();
    auto const& end = *command_.end();
    bool const by_interrupt = end.what == job::news::kind::killed && end.number == SIGINT;
    // Ctrl-C was meant for the script around us, too.
    if (by_interrupt && !is_ended_for_loss_ && (command_.ended_in_front() || by_keyboard_)) {
        if (command_.ended_in_front())
            kill(0, SIGINT);
        dies_of_ = SIGINT;
    }
    co_return status_of_work();
}

std::string runner::when_free() const
{
    auto const lease = std::max<milliseconds>(options_.lease.value_or(30s), options_.at_least);
    return "; the lock is free when its lease ends, in " + shown(lease) + " at most";
}

asio::awaitable<void> runner::release()
{
    progress const line{session_.context().get_executor(), options_.command, [this] {
                            return name() + ": releasing the lock";
                        }};
    colock::diagnostics why;
    auto const [ec] =
        co_await held_.release(colock::with_diagnostics(why, asio::as_tuple(asio::deferred)));
    if (ec == colock::error::lost)
        say("release: the lock was no longer ours; somebody else may have had it while " +
            program() + " ran. Let the resource check COLOCK_TOKEN");
    else if (ec)
        say(why.text() + when_free());
}

/// Operations under way end in order, and locks are released: nothing is left in Redis.
asio::awaitable<void> runner::leave()
{
    bool const has_lock{held_};
    colock::diagnostics why;
    auto const [ec] = co_await session_.redis().close(
        colock::with_diagnostics(why, asio::as_tuple(asio::deferred))
    );
    if (ec && has_lock)
        say(why.text() + when_free());
}

}  // namespace cli
