// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "session.hpp"
#include "taking.hpp"
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/lock.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/spin_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace cli {

namespace asio = boost::asio;
using colock::error_code;

namespace {

/// The common base of all lock classes; nothing else is used here.
using any_lock = colock::basic_lock<colock::detail::lock_id>;

any_lock lock_of(lock_kind kind, colock::client& redis, std::string key)
{
    switch (kind) {
    case lock_kind::fair: return colock::fair_lock{redis, std::move(key)};
    case lock_kind::read: return colock::read_write_lock{redis, std::move(key)}.read();
    case lock_kind::write: return colock::read_write_lock{redis, std::move(key)}.write();
    case lock_kind::spin: return colock::spin_lock{redis, std::move(key)};
    case lock_kind::fenced: return colock::fenced_lock{redis, std::move(key)};
    case lock_kind::lock: break;
    }
    return colock::lock{redis, std::move(key)};
}

}  // namespace

std::string said_of_conflict(options const& o, std::string const& after)
{
    return o.at_least == milliseconds{0}
        ? "somebody else has the lock" + after + "; 'colock info' says who, --wait waits longer"
        : "done in this period, or under way" + after +
            "; 'colock info' says by whom, and how long the lock stays taken";
}

asio::awaitable<taken> take(colock::client& redis, options const& o, asio::cancellation_slot stop)
{
    auto const lock = lock_of(o.kind, redis, o.key);
    auto const token = asio::bind_cancellation_slot(stop, asio::as_tuple(asio::deferred));
    colock::acquire_options how;
    how.at_least = o.at_least;
    if (!o.wait) {
        auto [ec, held] = co_await lock.acquire(how, token);
        if (ec)
            co_return taken{ec, {}};
        co_return taken{ec, std::move(held)};
    }
    std::tuple<error_code, std::optional<colock::hold>> got;
    if (*o.wait == milliseconds{0})
        got = co_await lock.try_acquire(how, token);
    else
        got = co_await lock.try_acquire_for(*o.wait, how, token);
    auto& [ec, held] = got;
    co_return taken{ec, std::move(held)};
}

namespace {

using colock::admin::release_as;

release_as side_of(holder const& h)
{
    if (h.side == "read")
        return release_as::reader;
    return h.side == "write" ? release_as::writer : release_as::lock;
}

asio::awaitable<bool> release_of(session& s, std::string key, release_as how, std::string field)
{
    auto sent = s.server().release_of(
        std::move(key), how, std::move(field), asio::as_tuple(asio::deferred)
    );
    auto const [ec, had_it] = co_await std::move(sent);
    if (!ec)
        co_return had_it;
    auto const why = s.because("unlock", ec);
    if (why.status != status_unavailable)
        throw why;
    throw failure{
        why.status,
        std::string{why.what()} +
            "; the lock may be taken away already: look with 'colock info' first"};
}

}  // namespace

asio::awaitable<bool> take_away(session& s, picture const& p, holder const& from)
{
    bool const had_it = co_await release_of(s, p.key, side_of(from), from.field);
    // A fair lock's release would also take its owner out of the queue, where a thread of Redisson
    // waits under the same field. A release for a field that nobody has only tells the first in the
    // queue.
    if (had_it && p.kind == "fair") {
        try {
            co_await release_of(s, p.key, release_as::fair, s.redis().id() + ":0");
        } catch (failure const& f) {
            // The lock is free, and the first one asks by itself in a second.
            if (f.status != status_unavailable)
                throw;
        }
    }
    co_return had_it;
}

}  // namespace cli
