// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock run: signals, the loss of the lock, and the end.
#include "progress.hpp"
#include "runner.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>

#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace cli {

using namespace std::chrono_literals;

// ---- Signals -----------------------------------------------------------------------------------

void runner::on_signal(int number, bool from_keyboard)
{
    if (number == SIGCHLD)
        return command_.look();
    is_told_to_end_ = is_told_to_end_ || number == SIGTERM || number == SIGINT ||
        number == SIGQUIT || number == SIGHUP;
    if (phase_ == phase::running) {
        by_keyboard_ = by_keyboard_ || (number == SIGINT && from_keyboard);
        command_.signal(number);
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
    command_.stop(at_once ? SIGKILL : SIGTERM, at_once ? 0ms : options_.grace);
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

asio::awaitable<void> runner::release()
{
    progress const line{session_.context().get_executor(), options_.command, [this] {
                            return name() + ": releasing the lock";
                        }};
    auto const [ec] = co_await held_.release(asio::as_tuple(asio::deferred));
    if (ec == colock::error::lost)
        say("release: the lock was no longer ours; somebody else may have had it while " +
            program() + " ran. Let the resource check COLOCK_TOKEN");
    else if (ec)
        say("release: " + ec.message() + "; the lock is free when its lease ends, in " +
            shown(options_.lease.value_or(30s)) + " at most");
}

/// Operations under way end in order, and locks are released: nothing is left in Redis.
asio::awaitable<void> runner::leave()
{
    bool const has_lock{held_};
    auto const [ec] = co_await session_.redis().close(asio::as_tuple(asio::deferred));
    if (ec && has_lock)
        say("release: " + ec.message() + "; the lock is free when its lease ends, in " +
            shown(options_.lease.value_or(30s)) + " at most");
}

}  // namespace cli
