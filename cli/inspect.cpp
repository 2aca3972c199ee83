// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock info, unlock: about one lock.
#include "commands.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "taking.hpp"
#include "text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/json/array.hpp>
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

/// Of a semaphore, a permit semaphore or a latch. False if it is none of these.
asio::awaitable<bool> tell_counter(session& s, options const& o)
{
    using content = colock::lock_info::content;
    auto asked = s.redis().inspect(o.key, asio::as_tuple(asio::deferred));
    auto const [ec, found] = co_await std::move(asked);
    bool const is_permits = found.what == content::permits;
    if (ec || (!is_permits && found.what != content::counter))
        co_return false;
    char const* const kind = is_permits ? "permits" : "counter";
    if (!o.json) {
        std::printf("%s: %s\n", shown(o.key).c_str(), is_permits ? kind : "semaphore or latch");
        row(is_permits ? "left" : "value", std::to_string(found.value));
        if (found.waiting != 0)
            row("waiting", counted(found.waiting, "client"));
    }
    boost::json::array holders;
    for (auto const& h : found.holders) {
        holder const one{h.id, {}, 1, h.label, h.held_for};
        if (!o.json)
            row("held by", shown(one));
        boost::json::object each{{"owner", json_text(h.id)}};
        if (!h.label.empty())
            each["label"] = json_text(h.label);
        if (h.held_for)
            each["held_ms"] = h.held_for->count();
        if (h.lease && *h.lease != milliseconds::max())
            each["lease_ms"] = h.lease->count();
        holders.push_back(std::move(each));
    }
    if (o.json)
        std::printf(
            "%s\n",
            boost::json::serialize(boost::json::object{
                                       {"key", json_text(o.key)},
                                       {"locked", false},
                                       {"kind", kind},
                                       {"value", found.value},
                                       {"waiting_clients", found.waiting},
                                       {"holders", std::move(holders)}}
            ).c_str()
        );
    co_return true;
}

/// Of a key that does not exist: nobody holds it as a lock, and it is no semaphore either.
asio::awaitable<void> tell_absent(session& s, options const& o, picture const& p)
{
    auto const waiting = co_await count_permit_waiters(s, o.key);
    if (o.json) {
        auto made = to_json(p);
        made["exists"] = false;
        if (waiting != 0)
            made["waiting_for_permits"] = waiting;
        std::printf("%s\n", boost::json::serialize(made).c_str());
        co_return;
    }
    if (waiting == 0) {
        print(p);
        row("key", "does not exist: no lock that is held, no semaphore and no latch");
        co_return;
    }
    std::printf("%s: does not exist\n", shown(o.key).c_str());
    row("waiting", counted(waiting, "client") + " for permits, until somebody sets them");
}

asio::awaitable<int> tell(session& s, options const& o)
{
    co_await s.connect();
    auto const found = co_await read_picture(s, o.key);
    if (found.what == picture::content::nothing) {
        co_await tell_absent(s, o, found);
        co_return status_ok;
    }
    bool const is_other = found.what == picture::content::something_else;
    if (is_other && found.type == "string" && co_await tell_counter(s, o))
        co_return status_ok;
    if (is_other)
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
            shown(o.key) + ": there is no terminal to ask on; --yes takes the lock away without " +
                "asking"};
    session s{o, settings_of(o)};
    return s.run(free_it(s, o));
}

}  // namespace cli
