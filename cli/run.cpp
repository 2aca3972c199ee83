// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock run: a command under a lock. Until that has started; the rest is in run_end.cpp.
#include "environment.hpp"
#include "messages.hpp"
#include "progress.hpp"
#include "reading.hpp"
#include "runner.hpp"
#include "status.hpp"
#include "taking.hpp"
#include "text.hpp"
#include <colock/election.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace cli {

using namespace std::chrono_literals;

namespace {

/// Between two tries at a server that refuses them for now.
constexpr auto between_tries = 1s;

colock::config settings_for(options const& o)
{
    auto settings = settings_of(o);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    // The name of a host may have any bytes; that of a client may not.
    std::ranges::replace_if(
        host, [](char c) { return c != '\0' && (c < '!' || c > '~'); }, '_'
    );
    settings.client_name =
        "colock-" + o.command + ":" + std::string{host} + ":" + std::to_string(getpid());
    if (o.lease)
        settings.lease = *o.lease;
    // An attempt without a wait gets as long as a connection may take.
    settings.timeout = o.wait == 0ms ? o.connect_timeout : 2'000ms;
    settings.close_timeout = 800ms;
    settings.max_tenure = 0ms;
    return settings;
}

}  // namespace

runner::runner(options const& o, surroundings const& here)
    : options_{o}
    , here_{here}
    , session_{o, settings_for(o)}
    , signals_{session_.context().get_executor(), [this](int number, bool from_keyboard) {
                   on_signal(number, from_keyboard);
               }}
{}

int runner::run()
{
    int const status = session_.run(live());
    bool const lives_again = options_.command == "elect" && has_only_lost();
    if (!lives_again)
        signals_.ignore_from_now();
    if (dies_of_ != 0) {
        std::fflush(nullptr);
        die_of(dies_of_);
    }
    return status;
}

std::string runner::name() const { return shown(options_.key); }
std::string runner::program() const { return shown(options_.program.front()); }

void runner::say(std::string const& text) const
{
    remark("colock " + options_.command + ": " + name() + ": " + text);
}

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
        progress const line{session_.context().get_executor(), options_.command, [this] {
                                if (session_.was_up())
                                    look_at_holder();
                                if (options_.quiet)
                                    return std::string{};
                                return name() +
                                    (session_.was_up() ? ": waiting for the lock" + holder_.text()
                                                       : ": connecting to " + session_.place());
                            }};
        got = co_await take_when_possible();
    }
    connect_limit_.cancel();
    if (got.held)
        held_ = std::move(*got.held);
    if (!got.held || ended_by_ != 0)
        co_return co_await refused(got.ec);
    if (options_.command == "elect")
        co_await publish();
    co_await make_environment();
    if (ended_by_ != 0)
        co_return co_await refused({});
    co_return co_await work();
}

/// Nobody gets a lock whose key holds something else.
void runner::look_at_holder()
{
    holder_.refresh(session_, options_.key, [this] {
        is_no_lock_ = true;
        no_more_.emit(asio::cancellation_type::terminal);
    });
}

/// Memory or replicas that are missing now end no wait.
asio::awaitable<taken> runner::take_when_possible()
{
    using clock = std::chrono::steady_clock;
    auto asked = options_;
    auto const end = clock::now() + options_.wait.value_or(0ms);
    for (bool is_told = options_.quiet;; is_told = true) {
        auto got = co_await take(session_.redis(), asked, no_more_.slot());
        bool const passes =
            got.ec == colock::error::server_refused && got.ec == colock::condition::retryable;
        if (!passes || ended_by_ != 0 || (options_.wait && clock::now() >= end))
            co_return got;
        if (!is_told)
            remark(
                "colock " + options_.command + ": " + session_.because("acquire", got.ec).what() +
                "; trying again"
            );
        asio::steady_timer pause{session_.context()};
        pause.expires_at(
            options_.wait ? std::min(clock::now() + between_tries, end)
                          : clock::now() + between_tries
        );
        co_await pause.async_wait(
            asio::bind_cancellation_slot(no_more_.slot(), asio::as_tuple(asio::deferred))
        );
        if (ended_by_ != 0 || is_no_lock_)
            co_return got;
        if (options_.wait)
            asked.wait = std::max(std::chrono::ceil<milliseconds>(end - clock::now()), 0ms);
    }
}

/// False if the server does not answer: one that hangs has a connection. A signal to end does not
/// wait for that, and the user may not be allowed to read the key.
asio::awaitable<bool> runner::look_at_key()
{
    auto asked = asio::co_spawn(
        session_.context(),
        holds_no_lock(session_, options_.key),
        asio::bind_cancellation_slot(no_more_.slot(), asio::as_tuple(asio::deferred))
    );
    auto const [failed, is_none] = co_await std::move(asked);
    is_no_lock_ = is_no_lock_ || (!failed && is_none);
    try {
        if (failed)
            std::rethrow_exception(failed);
    } catch (failure const& f) {
        co_return f.status != status_unavailable;
    } catch (...) {  // it was called off
    }
    co_return true;
}

asio::awaitable<int> runner::refused(error_code ec)
{
    phase_ = phase::ending;
    held_.forgo_at_least();  // nothing was run
    bool is_away = !session_.is_up();
    if (!ec && !is_away && !out_of_time_ && !is_no_lock_ && ended_by_ == 0)
        is_away = !co_await look_at_key();
    co_await leave();
    if (ended_by_ != 0) {
        if (by_keyboard_)
            dies_of_ = ended_by_;
        co_return status_signal + ended_by_;
    }
    auto const limit = out_of_time_ ? options_.connect_timeout : options_.wait.value_or(0ms);
    bool const is_unserved = limit != 0ms && (!ec || ec == colock::condition::retryable);
    if (out_of_time_ || (is_unserved && (is_away || ec == colock::error::unavailable)))
        throw session_.because(
            (session_.was_up() ? "wait for the lock for " : "connect within ") + shown(limit),
            colock::error::unavailable
        );
    if (is_no_lock_)
        throw session_.because("acquire", colock::error::wrong_type);
    if (ec)
        throw session_.because("acquire", ec);
    auto const waited = options_.wait == 0ms ? std::string{} : " after " + shown(*options_.wait);
    if (!options_.quiet)
        say(said_of_conflict(options_, waited + holder_.text()));
    co_return options_.conflict_status;
}

asio::awaitable<void> runner::make_environment()
{
    // The field isn't worth more of the lease than that, and a signal to end does not wait for it.
    asio::steady_timer limit{session_.context(), 200ms};
    limit.async_wait([this](error_code ec) {
        if (!ec)
            no_more_.emit(asio::cancellation_type::terminal);
    });
    auto asked = asio::co_spawn(
        session_.context(),
        own_field(session_, options_.key),
        asio::bind_cancellation_slot(no_more_.slot(), asio::as_tuple(asio::deferred))
    );
    auto const [failed, found] = co_await std::move(asked);
    auto const field = failed ? session_.redis().id() : found;
    auto const token = std::to_string(held_.fencing_token());
    environment_ = environment_with(
        {{"COLOCK_KEY", options_.key}, {"COLOCK_TOKEN", token}, {"COLOCK_OWNER", field}}
    );
    if (options_.verbose)
        say("acquired as " + field + ", token " + token);
}

/// Tells who leads. Without that it still leads.
asio::awaitable<void> runner::publish()
{
    auto words = options_.words;
    if (words.empty()) {
        char host[65] = "";
        gethostname(host, sizeof host - 1);
        words = std::string{host} + ":" + std::to_string(getpid());
    }
    colock::leadership office{std::move(held_)};
    colock::diagnostics why;
    auto said = office.publish(
        std::move(words),
        colock::with_diagnostics(
            why, asio::bind_cancellation_slot(no_more_.slot(), asio::as_tuple(asio::deferred))
        )
    );
    held_ = office.take_hold();
    auto const [ec] = co_await std::move(said);
    if (ec && ec != colock::error::lost && ended_by_ == 0)
        say(why.text());
}

// ---- The command -------------------------------------------------------------------------------

launch runner::how_to_start()
{
    // An outer colock that has lost its lock ends this one by SIGKILL, and may not leave the
    // command.
    bool const is_nested = std::getenv("COLOCK_KEY") != nullptr;
    int const death_signal = options_.when_lost == on_lost::ignore ? 0
        : is_nested || options_.when_lost == on_lost::kill         ? SIGKILL
                                                                   : SIGTERM;
    return {
        options_.program,
        std::move(environment_),
        signals_.former_mask(),
        signals_.children_were_ignored(),
        death_signal};
}

/// Since the grant we may have stood still, or waited for the server. A hold with less left is
/// about to be lost.
bool runner::may_start() const
{
    auto const lease = options_.lease.value_or(colock::config{}.lease);
    return held_.valid_for(std::min(lease / 10, milliseconds{1'000}));
}

asio::awaitable<int> runner::work()
{
    auto const how = how_to_start();
    here_.descriptors.close_others_on_exec();
    signals_.write_from_background();
    if (!may_start())
        co_return co_await too_late();
    phase_ = phase::running;
    held_.lost([this](error_code ec) {
        if (!ec && !command_.end())
            on_lost();
    });
    // Meanwhile the lock is renewed, and signals are passed on: the program may be on a file system
    // that doesn't answer.
    int const why = co_await command_.start(how);
    if (why != 0 && !is_ended_for_loss_)
        co_return co_await not_started(why);
    is_started_ = true;
    co_await command_.wait();
    if (is_ended_for_loss_)
        co_await command_.end_group();
    phase_ = phase::ending;
    command_.take_terminal_back();
    co_return co_await end_of_work();
}

asio::awaitable<int> runner::too_late()
{
    phase_ = phase::ending;
    held_.forgo_at_least();  // nothing was run
    is_ended_for_loss_ = true;
    co_await leave();
    say("the lock was lost again before " + program() + " could be started" + session_.why_lost() +
        "; nothing was run");
    co_return status_lost;
}

asio::awaitable<int> runner::not_started(int why)
{
    phase_ = phase::ending;
    held_.forgo_at_least();  // nothing was run
    co_await release();
    co_await leave();
    say("run " + program() + ": " + std::strerror(why) +
        "; nothing was run, and the lock is released again");
    co_return why == ENOENT ? status_not_found : status_cannot_run;
}

int run(options const& o, surroundings const& here) { return runner{o, here}.run(); }

/// Each time it leads is a life of its own.
int elect(options const& o, surroundings const& here)
{
    auto again = o;
    for (;;) {
        runner life{again, here};
        int const status = life.run();
        if (!life.has_only_lost())
            return status;
        again.connect_timeout = std::chrono::hours{24 * 365};  // the server is away: that passes
    }
}

}  // namespace cli
