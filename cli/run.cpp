// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock run: a command under a lock.
#include "commands.hpp"
#include "picture.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "status.hpp"
#include "supervisor.hpp"
#include "taking.hpp"
#include "text.hpp"
#include <colock/hold.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace cli {

namespace {

using namespace std::chrono_literals;

colock::config settings_for(options const& o)
{
    auto settings = settings_of(o);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    settings.client_name = "colock-run:" + std::string{host} + ":" + std::to_string(getpid());
    if (o.lease)
        settings.lease = *o.lease;
    // An attempt without a wait gets as long as a connection may take.
    settings.timeout = o.wait == 0ms ? o.connect_timeout : 2'000ms;
    settings.close_timeout = 800ms;
    settings.max_tenure = 0ms;
    return settings;
}

/// One life of `colock run`: waiting, then the command, then the release.
class runner {
public:
    runner(options const& o, surroundings const& here)
        : options_{o}
        , here_{here}
        , session_{o, settings_for(o)}
        , signals_{session_.context().get_executor(), [this](int number, bool from_keyboard) {
                       on_signal(number, from_keyboard);
                   }}
    {}

    int run()
    {
        int const status = session_.run(live());
        if (dies_of_ != 0) {
            std::fflush(nullptr);
            die_of(dies_of_);
        }
        return status;
    }

private:
    enum class phase { waiting, running, ending };

    std::string name() const { return shown(options_.key); }
    void say(std::string const& text) const { complain("colock run: " + name() + ": " + text); }

    asio::awaitable<int> live();
    asio::awaitable<int> refused(error_code);
    asio::awaitable<void> fill_environment();
    asio::awaitable<int> work();
    asio::awaitable<int> end_of_work();
    asio::awaitable<void> release();
    asio::awaitable<void> leave();

    int start_command();
    void on_signal(int number, bool from_keyboard);
    void on_lost();
    void before_going_on();

    options const& options_;
    surroundings const& here_;
    session session_;
    asio::cancellation_signal no_more_;  ///< ends the wait
    asio::steady_timer connect_limit_{session_.context()};
    phase phase_ = phase::waiting;
    bool out_of_time_ = false;  ///< to connect
    int ended_by_ = 0;          ///< a signal, while waiting
    bool by_keyboard_ = false;
    int dies_of_ = 0;
    colock::hold held_;
    supervisor command_{session_.context().get_executor(), [this] { before_going_on(); }};
    bool is_lost_ = false;
    bool is_ended_for_loss_ = false;
    holder_names holder_;
    signals signals_;
};

// ---- Waiting -----------------------------------------------------------------------------------

asio::awaitable<int> runner::live()
{
    connect_limit_.expires_after(options_.connect_timeout);
    connect_limit_.async_wait([this](error_code ec) {
        if (ec || session_.was_up() || phase_ != phase::waiting)
            return;
        out_of_time_ = true;
        no_more_.emit(asio::cancellation_type::terminal);
    });
    taken got;
    {
        progress const line{session_.context().get_executor(), "run", [this] {
                                if (options_.quiet)
                                    return std::string{};
                                if (!session_.was_up())
                                    return name() + ": connecting to " + session_.place();
                                holder_.refresh(session_, options_.key);
                                return name() + ": waiting for the lock" + holder_.text();
                            }};
        got = co_await take(session_.redis(), options_, no_more_.slot());
    }
    connect_limit_.cancel();
    if (got.ec || !got.held || ended_by_ != 0)
        co_return co_await refused(got.ec);
    held_ = std::move(got.held);
    co_await fill_environment();
    if (ended_by_ != 0)
        co_return co_await refused({});
    co_return co_await work();
}

asio::awaitable<int> runner::refused(error_code ec)
{
    phase_ = phase::ending;
    if (held_)
        co_await release();
    co_await leave();
    if (ended_by_ != 0) {
        if (by_keyboard_)
            dies_of_ = ended_by_;
        co_return status_signal + ended_by_;
    }
    if (out_of_time_ || (!ec && !session_.was_up()))
        throw session_.because(
            "connect within " +
                shown(out_of_time_ ? options_.connect_timeout : options_.wait.value_or(0ms)),
            colock::error::unavailable
        );
    if (ec)
        throw session_.because("acquire", ec);
    auto const waited = options_.wait == 0ms ? std::string{} : " after " + shown(*options_.wait);
    if (!options_.quiet)
        say("somebody else has the lock" + waited + holder_.text() +
            "; 'colock info' says who, --wait waits longer");
    co_return options_.conflict_status;
}

/// For the command, which inherits it.
asio::awaitable<void> runner::fill_environment()
{
    auto const field = co_await own_field(session_, options_.key);
    setenv("COLOCK_KEY", options_.key.c_str(), 1);
    setenv("COLOCK_TOKEN", std::to_string(held_.fencing_token()).c_str(), 1);
    setenv("COLOCK_OWNER", field.c_str(), 1);
    if (options_.verbose)
        say("acquired as " + field + ", token " + std::to_string(held_.fencing_token()));
}

// ---- The command -------------------------------------------------------------------------------

int runner::start_command()
{
    int const death_signal = options_.when_lost == on_lost::term ? SIGTERM
        : options_.when_lost == on_lost::kill                    ? SIGKILL
                                                                 : 0;
    here_.descriptors.close_others_on_exec();
    signals_.add_stops();
    return command_.start(options_.program, signals_.former_mask(), death_signal);
}

asio::awaitable<int> runner::work()
{
    if (int const why = start_command(); why != 0) {
        phase_ = phase::ending;
        co_await release();
        co_await leave();
        say("run " + shown(options_.program.front()) + ": " + std::strerror(why) +
            "; nothing was run, and the lock is released again");
        co_return why == ENOENT ? status_not_found : status_cannot_run;
    }
    phase_ = phase::running;
    held_.lost([this](error_code ec) {
        if (!ec && !command_.end())
            on_lost();
    });
    co_await command_.wait();
    if (is_ended_for_loss_)
        co_await command_.end_group();
    phase_ = phase::ending;
    command_.take_terminal_back();
    co_return co_await end_of_work();
}

asio::awaitable<int> runner::end_of_work()
{
    if (!is_lost_)
        co_await release();
    if (is_ended_for_loss_)
        co_return status_lost;
    auto const& end = *command_.end();
    if (end.what != job::news::kind::killed)
        co_return end.number;
    // Who pressed Ctrl-C meant the script around us, too.
    if (end.number == SIGINT && (command_.had_terminal() || by_keyboard_)) {
        if (command_.had_terminal())
            kill(0, SIGINT);
        dies_of_ = SIGINT;
    }
    co_return status_signal + end.number;
}

void runner::on_signal(int number, bool from_keyboard)
{
    if (number == SIGCHLD) {
        if (phase_ == phase::running)
            command_.look();
        return;
    }
    if (phase_ == phase::running) {
        by_keyboard_ = by_keyboard_ || (number == SIGINT && from_keyboard);
        command_.signal(number);
        return;
    }
    if (number == SIGCONT || number == SIGTSTP)
        return;
    // The second one doesn't wait for Redis any more.
    if (std::exchange(ended_by_, number) != 0 || phase_ == phase::ending)
        std::_Exit(status_signal + number);
    by_keyboard_ = from_keyboard;
    no_more_.emit(asio::cancellation_type::terminal);
}

/// The lock may have passed on while we stood still.
void runner::before_going_on()
{
    if (!held_ && !is_lost_)
        on_lost();
}

// ---- The loss ----------------------------------------------------------------------------------

void runner::on_lost()
{
    if (std::exchange(is_lost_, true))
        return;
    auto const cause = session_.why_lost();
    auto const what = shown(options_.program.front());
    if (options_.when_lost == on_lost::ignore) {
        say("the lock is lost" + cause + "; " + what + " runs on without it");
        return;
    }
    is_ended_for_loss_ = true;
    bool const at_once = options_.when_lost == on_lost::kill;
    say("the lock is lost" + cause + "; " + what + " gets " +
        (at_once ? "SIGKILL" : "SIGTERM, and SIGKILL in " + shown(options_.grace)));
    command_.stop(at_once ? SIGKILL : SIGTERM, at_once ? 0ms : options_.grace);
}

// ---- The end -----------------------------------------------------------------------------------

asio::awaitable<void> runner::release()
{
    progress const line{session_.context().get_executor(), "run", [this] {
                            return name() + ": releasing the lock";
                        }};
    auto const [ec] = co_await held_.release(asio::as_tuple(asio::deferred));
    if (ec == colock::error::lost)
        say("release: the lock was no longer ours; somebody else may have had it while " +
            shown(options_.program.front()) + " ran. Let the resource check COLOCK_TOKEN");
    else if (ec)
        say("release: " + ec.message() + "; the lock is free when its lease ends, in " +
            shown(options_.lease.value_or(30s)) + " at most");
}

/// What is under way ends in order: nothing is left in Redis.
asio::awaitable<void> runner::leave()
{
    co_await session_.redis().close(asio::as_tuple(asio::deferred));
}

}  // namespace

int run(options const& o, surroundings const& here) { return runner{o, here}.run(); }

}  // namespace cli
