// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock run: a command under a lock.
#include "commands.hpp"
#include "job.hpp"
#include "picture.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "status.hpp"
#include "taking.hpp"
#include "text.hpp"
#include <colock/hold.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
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
    asio::awaitable<void> find_field();
    asio::awaitable<int> work();
    asio::awaitable<int> end_of_work();
    asio::awaitable<void> end_group();
    asio::awaitable<void> release();
    asio::awaitable<void> leave();
    asio::awaitable<void> sleep(milliseconds);

    int start_program();
    void on_signal(int number, bool from_keyboard);
    void on_news();
    void on_stopped(int signal);
    void on_lost();
    void go_on();

    options const& options_;
    surroundings const& here_;
    session session_;
    terminal terminal_;
    asio::cancellation_signal no_more_;  ///< ends the wait
    asio::steady_timer connect_limit_{session_.context()};
    asio::steady_timer grace_{session_.context()};
    asio::steady_timer change_{session_.context(), asio::steady_timer::time_point::max()};
    phase phase_ = phase::waiting;
    bool out_of_time_ = false;  ///< to connect
    int ended_by_ = 0;          ///< a signal, while waiting
    bool by_keyboard_ = false;
    int dies_of_ = 0;
    colock::hold held_;
    job job_;
    bool had_terminal_ = false;
    std::optional<job::news> end_;
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
    co_await find_field();
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

/// What COLOCK_OWNER says: the field that is ours.
asio::awaitable<void> runner::find_field()
{
    auto field = session_.server().uuid();
    auto asked = session_.server().ask(
        options_.key, {"HKEYS", options_.key}, asio::as_tuple(asio::deferred)
    );
    auto const [ec, answer] = co_await std::move(asked);
    if (!ec)
        for (auto const& each : answer.items)
            if (each.text.starts_with(field))
                field = each.text;
    setenv("COLOCK_KEY", options_.key.c_str(), 1);
    setenv("COLOCK_TOKEN", std::to_string(held_.fencing_token()).c_str(), 1);
    setenv("COLOCK_OWNER", field.c_str(), 1);
    if (options_.verbose)
        say("acquired as " + field + ", token " + std::to_string(held_.fencing_token()));
}

// ---- The command -------------------------------------------------------------------------------

int runner::start_program()
{
    // Where the command's input or output is no terminal there may be others of a pipeline who want
    // it: then it gets the terminal when it asks for it.
    bool const at_once =
        isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && terminal_.is_ours();
    int const death_signal = options_.when_lost == on_lost::term ? SIGTERM
        : options_.when_lost == on_lost::kill                    ? SIGKILL
                                                                 : 0;
    here_.descriptors.close_others_on_exec();
    signals_.add_stops();
    int const why = job_.start(
        options_.program, signals_.former_mask(), at_once ? &terminal_ : nullptr, death_signal
    );
    had_terminal_ = at_once && why == 0;
    if (at_once && why != 0)
        terminal_.take_back_from(job_.id());
    return why;
}

asio::awaitable<int> runner::work()
{
    if (int const why = start_program(); why != 0) {
        phase_ = phase::ending;
        co_await release();
        co_await leave();
        say("run " + shown(options_.program.front()) + ": " + std::strerror(why) +
            "; nothing was run, and the lock is released again");
        co_return why == ENOENT ? status_not_found : status_cannot_run;
    }
    phase_ = phase::running;
    held_.lost([this](error_code ec) {
        if (!ec && !end_)
            on_lost();
    });
    on_news();
    while (!end_)
        co_await change_.async_wait(asio::as_tuple(asio::deferred));
    if (is_ended_for_loss_)
        co_await end_group();
    phase_ = phase::ending;
    terminal_.take_back_from(job_.id());
    co_return co_await end_of_work();
}

asio::awaitable<int> runner::end_of_work()
{
    if (!is_lost_)
        co_await release();
    if (is_ended_for_loss_)
        co_return status_lost;
    if (end_->what != job::news::kind::killed)
        co_return end_->number;
    // Who pressed Ctrl-C meant the script around us, too.
    if (end_->number == SIGINT && (had_terminal_ || by_keyboard_)) {
        if (had_terminal_)
            kill(0, SIGINT);
        dies_of_ = SIGINT;
    }
    co_return status_signal + end_->number;
}

void runner::on_signal(int number, bool from_keyboard)
{
    if (number == SIGCHLD) {
        if (phase_ == phase::running)
            on_news();
        return;
    }
    if (phase_ == phase::running) {
        by_keyboard_ = by_keyboard_ || (number == SIGINT && from_keyboard);
        job_.signal(number);
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

void runner::on_news()
{
    while (auto const news = job_.look()) {
        if (news->what == job::news::kind::stopped) {
            on_stopped(news->number);
            continue;
        }
        end_ = news;
        change_.cancel();
        return;
    }
}

/// The command stands still: because it wants the terminal, which it gets if that is ours to give;
/// or because it was told to, and so do we.
void runner::on_stopped(int signal)
{
    bool const wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (!(wants_terminal && terminal_.is_ours())) {
        terminal_.take_back_from(job_.id());
        stop_as_with(signal);
    }
    if (terminal_.is_ours()) {
        terminal_.give(job_.id());
        had_terminal_ = true;
    }
    go_on();
}

/// Unless the lock has passed on while we stood still.
void runner::go_on()
{
    if (!held_ && !is_lost_)
        on_lost();
    job_.signal(SIGCONT);
}

// ---- The loss ----------------------------------------------------------------------------------

/// In the words of the client's log, where it has some.
std::string why_lost(std::vector<std::string> const& said)
{
    constexpr std::string_view mark = ": lost: ", advice = "; stop the work";
    for (auto at = said.rbegin(); at != said.rend(); ++at)
        if (auto const begin = at->find(mark); begin != at->npos) {
            auto const why = at->substr(begin + mark.size());
            return ": " + why.substr(0, why.find(advice));
        }
    return {};
}

void runner::on_lost()
{
    if (std::exchange(is_lost_, true))
        return;
    auto const cause = why_lost(session_.said());
    auto const what = shown(options_.program.front());
    if (options_.when_lost == on_lost::ignore) {
        say("the lock is lost" + cause + "; " + what + " runs on without it");
        return;
    }
    is_ended_for_loss_ = true;
    bool const at_once = options_.when_lost == on_lost::kill;
    say("the lock is lost" + cause + "; " + what + " gets " +
        (at_once ? "SIGKILL" : "SIGTERM, and SIGKILL in " + shown(options_.grace)));
    job_.signal(at_once ? SIGKILL : SIGTERM);
    job_.signal(SIGCONT);  // one that stands still hears nothing
    grace_.expires_after(at_once ? 0ms : options_.grace);
    grace_.async_wait([this](error_code ec) {
        if (!ec)
            job_.signal(SIGKILL);
    });
}

/// What the command has started in its group is to end, too.
asio::awaitable<void> runner::end_group()
{
    while (job_.has_members() && grace_.expiry() > asio::steady_timer::clock_type::now())
        co_await sleep(10ms);
    grace_.cancel();
    if (job_.has_members())
        job_.signal(SIGKILL);
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

asio::awaitable<void> runner::sleep(milliseconds how_long)
{
    asio::steady_timer timer{session_.context(), how_long};
    co_await timer.async_wait(asio::as_tuple(asio::deferred));
}

}  // namespace

int run(options const& o, surroundings const& here) { return runner{o, here}.run(); }

}  // namespace cli
