// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock info, unlock: about one lock.
#include "commands.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "taking.hpp"
#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <cstdio>
#include <unistd.h>

namespace cli {

namespace {

/// `value` in a row of its own below the first line.
void row(char const* name, std::string const& value)
{
    std::printf("  %-9s %s\n", name, value.c_str());
}

void print(picture const& p)
{
    bool const is_held = p.what == picture::content::lock;
    std::printf("%s: %s\n", shown(p.key).c_str(), is_held ? p.kind.c_str() : "free");
    for (auto const& h : p.holders)
        row("held by", shown(h));
    if (is_held)
        row("lease",
            p.lease ? shown(*p.lease) + " left"
                    : "none: it stays until it is released ('colock unlock' frees it)");
    // Others listen beside waiters, as `colock watch` does, and those who have just waited.
    if (p.listeners)
        row("waiting", counted(*p.listeners, "client"));
    for (std::size_t i = 0; i != p.queue.size(); ++i)
        row(i == 0 ? "queue" : "", shown(p.queue[i]));
}

[[noreturn]] void refuse_content(picture const& p, char const* doing)
{
    auto const perhaps = p.type == "string" ? " (a semaphore or a latch, perhaps)" : "";
    throw failure{
        status_no_lock,
        shown(p.key) + ": " + doing + ": the key holds a " + p.type + perhaps +
            ", which is no lock; 'redis-cli' can look at it"};
}

asio::awaitable<int> tell(session& s, options const& o)
{
    co_await s.connect();
    auto const found = co_await read_picture(s, o.key);
    if (found.what == picture::content::something_else)
        refuse_content(found, "read");
    if (o.json)
        std::printf("%s\n", boost::json::serialize(to_json(found)).c_str());
    else
        print(found);
    co_return status_ok;
}

// ---- Unlocking ---------------------------------------------------------------------------------

bool is_yes(std::string const& question)
{
    std::printf("%s [y/N] ", question.c_str());
    std::fflush(stdout);
    char answer[16] = "";
    if (!std::fgets(answer, sizeof answer, stdin))
        return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

/// Releases for each owner that was shown. An owner that came since, or has left and come again,
/// keeps the lock. \returns how many had it still. \throws failure
asio::awaitable<std::size_t> take_away_from_shown(session& s, picture const& p)
{
    std::size_t taken = 0;
    for (auto const& h : p.holders)
        if (co_await take_away(s, p, h))
            ++taken;
        else
            std::printf("%s no longer had it.\n", shown(h.field).c_str());
    co_return taken;
}

/// \returns false if the answer is no.
bool may_take_away(options const& o)
{
    return o.yes || is_yes("Take it away from its holder? Until he has heard, two may be at work.");
}

asio::awaitable<int> free_it(session& s, options const& o)
{
    co_await s.connect();
    for (bool is_first = true;; is_first = false) {
        auto const found = co_await read_picture(s, o.key);
        if (found.what == picture::content::something_else)
            refuse_content(found, "unlock");
        print(found);
        if (found.what == picture::content::nothing) {
            std::puts("Nobody holds it: there is nothing to unlock.");
            co_return status_ok;
        }
        if (o.yes && !is_first)
            co_return status_no;  // --yes is for the holder that was there
        if (!may_take_away(o)) {
            std::puts("Left as it is.");
            co_return status_no;
        }
        if (co_await take_away_from_shown(s, found) != 0) {
            std::puts("Unlocked.");
            co_return status_ok;
        }
        std::puts("It has changed hands meanwhile: nothing was released.");
    }
}

}  // namespace

int info(options const& o)
{
    session s{o, settings_of(o)};
    return s.run(tell(s, o));
}

int unlock(options const& o)
{
    if (!o.yes && isatty(STDIN_FILENO) == 0)
        throw failure{
            status_usage,
            shown(o.key) + ": unlock: there is no terminal to ask on; --yes takes the lock away " +
                "without asking.\nUsage: colock unlock [OPTION...] KEY"};
    session s{o, settings_of(o)};
    return s.run(free_it(s, o));
}

}  // namespace cli
