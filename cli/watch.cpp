// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock watch: what happens to a lock, a line an event.
#include "commands.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cli {

namespace {

using steady = std::chrono::steady_clock;

constexpr milliseconds pause{200};

/// A message may come after the reply that shows what it tells of, but not much.
constexpr milliseconds longest_lag{50};

struct event {
    char const* what;
    char const* colour;
};
constexpr event held{"held", "\033[33m"}, free_now{"free", "\033[32m"},
    acquired{"acquired", "\033[33m"}, released{"released", "\033[32m"}, gone{"gone", "\033[31m"},
    unreachable{"unreachable", "\033[31m"}, reached{"reached", "\033[32m"};

std::string time_text(bool for_programs)
{
    using namespace std::chrono;
    auto const now = system_clock::now().time_since_epoch();
    auto const seconds = duration_cast<std::chrono::seconds>(now);
    std::time_t const count = seconds.count();
    std::tm parts{};
    for_programs ? gmtime_r(&count, &parts) : localtime_r(&count, &parts);
    char text[40], all[48];
    std::strftime(text, sizeof text, for_programs ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &parts);
    auto const rest = static_cast<int>(duration_cast<milliseconds>(now - seconds).count());
    std::snprintf(all, sizeof all, "%s.%03d%s", text, rest, for_programs ? "Z" : "");
    return all;
}

/// The facts about a change, beside the old and the new state.
struct circumstances {
    bool was_told;  ///< by a message
    bool is_over;   ///< the lease that was known has passed since
};

// ---- Standard output ---------------------------------------------------------------------------

/// Ends the session when the reader of our standard output has gone, also when there is nothing to
/// write. A file never loses its reader.
class reader_watch {
public:
    explicit reader_watch(asio::io_context& context) : descriptor_{context}
    {
        int const copy = dup(STDOUT_FILENO);
        if (copy < 0)
            return;
        descriptor_.assign(copy);
        descriptor_.async_wait(
            asio::posix::stream_descriptor::wait_error,
            [&context](error_code ec) {
                if (!ec)
                    context.stop();
            }
        );
    }

private:
    asio::posix::stream_descriptor descriptor_;
};

// ---- The lock ----------------------------------------------------------------------------------

class watcher {
public:
    watcher(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        auto last_asked = steady::now();
        auto last = co_await read_picture(session_, options_.key);
        begin(last);
        colock::admin::channel_listener const ear{
            session_.redis(), channels_of(options_.key), [this](auto const& channel, auto const&) {
                is_told_ = is_told_ || !channel.empty();
                wake_.cancel();
            }};
        for (;;) {
            bool was_told = co_await is_told_within(pause);
            auto const asked = steady::now();
            auto const now = co_await read();
            if (!now) {
                last.lease.reset();  // it may be renewed while we don't see it
                continue;
            }
            is_fair_ = is_fair_ || last.kind == "fair" || now->kind == "fair";
            bool const is_over = last.lease && steady::now() - last_asked >= *last.lease;
            if (!was_told && !those_who_went(last, *now).empty())
                was_told = co_await is_told_within(longest_lag);
            compare(last, *now, {was_told, is_over});
            last = *now;
            last_asked = asked;
        }
    }

private:
    asio::awaitable<std::optional<picture>> read();
    void begin(picture const&) const;
    asio::awaitable<bool> is_told_within(milliseconds);
    void compare(picture const& before, picture const& now, circumstances) const;
    void print_end(holder const&, picture const& now, circumstances) const;
    void print(event const&, std::string const& more, picture const*, holder const*) const;
    std::string lease_text(picture const& p) const
    {
        return p.lease ? "lease " + shown(*p.lease) : "without a lease";
    }

    session& session_;
    options const& options_;
    reader_watch reader_{session_.context()};
    asio::steady_timer wake_{session_.context()};
    bool is_told_ = false;
    bool is_unreachable_ = false;
    bool is_fair_ = false;  ///< it has had a queue, as far as is known
    bool has_colours_ = cli::has_colours(STDOUT_FILENO);
};

/// Nothing while the server can't be reached, which is said once.
asio::awaitable<std::optional<picture>> watcher::read()
{
    std::string why;
    try {
        auto p = co_await read_picture(session_, options_.key);
        if (std::exchange(is_unreachable_, false))
            print(reached, session_.place(), nullptr, nullptr);
        co_return p;
    } catch (failure const& f) {
        why = f.what();
    }
    if (!std::exchange(is_unreachable_, true))
        print(unreachable, safe_to_print(why), nullptr, nullptr);
    co_return std::nullopt;
}

void watcher::begin(picture const& p) const
{
    if (p.what == picture::content::something_else)
        complain(
            "colock watch: " + shown(p.key) + ": the key holds a " + p.type +
            ", which is no lock; watching all the same"
        );
    for (auto const& h : p.holders)
        print(held, shown(h) + ", " + lease_text(p), &p, &h);
    if (p.holders.empty())
        print(free_now, {}, &p, nullptr);
}

/// Whether a message has come since this was asked last, or comes in this time.
asio::awaitable<bool> watcher::is_told_within(milliseconds longest)
{
    wake_.expires_after(longest);
    while (!is_told_ && steady::now() < wake_.expiry())
        co_await wake_.async_wait(asio::as_tuple(asio::deferred));
    co_return std::exchange(is_told_, false);
}

void watcher::compare(picture const& before, picture const& now, circumstances how) const
{
    auto const went = those_who_went(before, now);
    for (auto const& h : went)
        print_end(h, now, how);
    if (how.was_told && went.empty())
        print(released, "by somebody who came and went", &now, nullptr);
    for (auto const& h : those_who_went(now, before))
        print(acquired, shown(h) + ", " + lease_text(now), &now, &h);
}

// A fair lock tells nobody but the first in its queue, and of several readers the last one tells.
// Without a queue, nothing in Redis tells a fair lock from others.
void watcher::print_end(holder const& h, picture const& now, circumstances how) const
{
    auto const name = h.label.empty() ? shown(h.field) : shown(h.field) + ", " + shown(h.label);
    if (how.was_told)
        print(released, name, &now, &h);
    else if (how.is_over)
        print(gone, name + ", its lease has ended", &now, &h);
    else if (is_fair_ || !now.holders.empty())
        print(released, name + ", without a message", &now, &h);
    else
        print(free_now, name + " went without a message: a fair lock, or deleted", &now, &h);
}

void watcher::print(event const& e, std::string const& more, picture const* p, holder const* who)
    const
{
    auto const time = time_text(options_.json);
    if (options_.json) {
        boost::json::object line{
            {"time", time}, {"event", e.what}, {"key", json_text(options_.key)}};
        if (who)
            line["owner"] = json_text(who->field);
        if (who && !who->side.empty())
            line["side"] = who->side;
        if (who && !who->label.empty())
            line["label"] = json_text(who->label);
        if (p && p->lease)
            line["lease_ms"] = p->lease->count();
        if (&e == &unreachable)
            line["why"] = json_text(more);
        return write_out(boost::json::serialize(line) + "\n");
    }
    std::string what = e.what;
    what.resize(std::max<std::size_t>(what.size(), 9), ' ');
    if (has_colours_)
        what = e.colour + what + "\033[0m";
    write_out(time + "  " + what + " " + more + "\n");
}

}  // namespace

int watch(options const& o)
{
    std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone ends us in one way, on any thread
    session s{o, settings_of(o)};
    watcher w{s, o};
    try {
        return s.run(w.run());
    } catch (nobody_reads const&) {
        return status_ok;
    }
}

}  // namespace cli
