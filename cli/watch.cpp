// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock watch: what happens to a lock, a line an event.
#include "commands.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace cli {

namespace {

constexpr milliseconds pause{200};

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

class watcher {
public:
    watcher(session& s, options const& o) : session_{s}, options_{o} {}

    asio::awaitable<int> run()
    {
        co_await session_.connect();
        auto last = co_await read_picture(session_, options_.key);
        begin(last);
        colock::channel_ear const ear{
            session_.redis(), channels_of(options_.key), [this](auto const& channel, auto const&) {
                is_told_ = is_told_ || !channel.empty();
                wake_.cancel();
            }};
        for (;;) {
            wake_.expires_after(pause);
            if (!is_told_)
                co_await wake_.async_wait(asio::as_tuple(asio::deferred));
            bool const was_told = std::exchange(is_told_, false);
            auto const now = co_await read();
            if (!now)
                continue;
            compare(last, *now, was_told);
            last = *now;
        }
    }

private:
    asio::awaitable<std::optional<picture>> read();
    void begin(picture const&) const;
    void compare(picture const& before, picture const& now, bool was_told) const;
    void print(event const&, std::string const& more, picture const*, holder const*) const;
    std::string lease_text(picture const& p) const
    {
        return p.lease ? "lease " + shown(*p.lease) : "without a lease";
    }

    session& session_;
    options const& options_;
    asio::steady_timer wake_{session_.context()};
    bool is_told_ = false;
    bool is_unreachable_ = false;
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
        print(unreachable, without_passwords(why), nullptr, nullptr);
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

void watcher::compare(picture const& before, picture const& now, bool was_told) const
{
    auto const has = [](picture const& p, holder const& h) {
        return std::ranges::any_of(p.holders, [&](holder const& o) { return o.field == h.field; });
    };
    bool is_shown = false;
    for (auto const& h : before.holders)
        if (!has(now, h)) {
            is_shown = true;
            if (was_told)
                print(released, shown(h.field), &now, &h);
            else
                print(gone, shown(h.field) + ": expired, or deleted without a message", &now, &h);
        }
    if (was_told && !is_shown)
        print(released, "by somebody who came and went", &now, nullptr);
    for (auto const& h : now.holders)
        if (!has(before, h))
            print(acquired, shown(h) + ", " + lease_text(now), &now, &h);
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
        if (p && p->lease)
            line["lease_ms"] = p->lease->count();
        std::printf("%s\n", boost::json::serialize(line).c_str());
    } else
        std::printf(
            "%s  %s%-9s%s %s\n",
            time.c_str(),
            has_colours_ ? e.colour : "",
            e.what,
            has_colours_ ? "\033[0m" : "",
            more.c_str()
        );
    std::fflush(stdout);
}

}  // namespace

int watch(options const& o)
{
    session s{o, settings_of(o)};
    watcher w{s, o};
    return s.run(w.run());
}

}  // namespace cli
