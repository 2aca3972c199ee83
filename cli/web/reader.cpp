// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "reading.hpp"
#include "scan.hpp"
#include "text.hpp"
#include "web/answers.hpp"
#include "web/reader.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace cli::web {

namespace {

using steady = std::chrono::steady_clock;

constexpr milliseconds shortest_pause{500};

/// Locks that a page shows.
constexpr std::size_t most_locks = 300;

constexpr std::size_t readings_at_once = 32;

/// A pause that leaves the server nine tenths of the time.
steady::duration rest_after(steady::duration worked)
{
    return std::max<steady::duration>(shortest_pause, 9 * worked);
}

void rethrow(std::exception_ptr const& e)
{
    if (e)
        std::rethrow_exception(e);
}

}  // namespace

reader::reader(session& s, options const& o, feed& f)
    : session_{s}
    , options_{o}
    , feed_{f}
    , until_scan_{s.context()}
    , until_reading_{s.context()}
{}

asio::awaitable<void> reader::check()
{
    lock_scan all{session_, settings_of(options_), [](picture const&) {}};
    co_await all.run(options_.pattern);
    if (auto const refusal = all.refusal(); !refusal.empty())
        complain("colock watch: " + refusal);
}

void reader::start()
{
    asio::co_spawn(session_.context(), find(), rethrow);
    asio::co_spawn(session_.context(), follow(), rethrow);
}

// ---- Finding locks -----------------------------------------------------------------------------

asio::awaitable<void> reader::find()
{
    for (;;) {
        co_await feed_.wait_for_viewer();
        auto const begin = steady::now();
        steady::duration worked{};  // nothing, if the server doesn't answer
        try {
            co_await scan();
            worked = steady::now() - begin;
        } catch (failure const& f) {
            refusal_ = f.what();
        }
        until_scan_.expires_after(rest_after(worked));
        co_await until_scan_.async_wait(asio::as_tuple(asio::deferred));
    }
}

asio::awaitable<void> reader::scan()
{
    std::int64_t left_out = 0;
    auto const on_found = [&](picture const& p) {
        if (board_.has(p.key) || found_.contains(p.key))
            return;
        if (board_.size() + found_.size() < most_locks)
            found_.insert(p.key);
        else
            ++left_out;
    };
    lock_scan all{session_, settings_of(options_), on_found};
    co_await all.run(options_.pattern);
    left_out_ = left_out;
    refusal_ = all.refusal();
    if (!std::exchange(has_scanned_, true) || !found_.empty())
        until_reading_.cancel();
}

// ---- Following those that are known ------------------------------------------------------------

asio::awaitable<void> reader::follow()
{
    for (;;) {
        if (!feed_.has_viewers()) {
            feed_.forget();
            co_await feed_.wait_for_viewer();
            begin_anew();
        }
        auto const begin = steady::now();
        steady::duration worked{};
        bool const has_all_keys = has_scanned_;
        try {
            co_await read_known();
            worked = steady::now() - begin;
            trouble_.clear();
            if (has_all_keys)
                board_.end_first_round();
        } catch (failure const& f) {
            trouble_ = f.what();
            board_.doubt_leases();
        }
        show();
        until_reading_.expires_after(rest_after(worked));
        co_await until_reading_.async_wait(asio::as_tuple(asio::deferred));
    }
}

/// Changes that nobody has seen don't show as events.
void reader::begin_anew()
{
    board_.clear();
    found_.clear();
    has_scanned_ = false;
    until_scan_.cancel();
}

asio::awaitable<void> reader::read_known()
{
    auto keys = board_.keys();
    keys.insert(keys.end(), found_.begin(), found_.end());
    found_.clear();
    std::size_t next = 0;
    auto working = std::min(readings_at_once, keys.size());
    std::exception_ptr failed;
    asio::steady_timer done{session_.context(), steady_time::max()};
    for (auto left = working; left != 0; --left)
        asio::co_spawn(session_.context(), read_some(keys, next), [&](std::exception_ptr e) {
            if (e && !failed)
                failed = e;
            if (--working == 0)
                done.cancel();
        });
    if (keys.empty())
        co_await session_.ask({}, words("PING"));  // else nobody would notice that it is away
    if (working != 0)
        co_await done.async_wait(asio::as_tuple(asio::deferred));
    rethrow(failed);
}

/// Takes keys from the list as long as there are any, beside others that do the same.
asio::awaitable<void> reader::read_some(std::vector<std::string> const& keys, std::size_t& next)
{
    while (next < keys.size()) {
        auto const& key = keys[next++];
        auto const asked = steady::now();
        try {
            auto found = co_await read_picture(session_, key);
            take({std::move(found), asked, steady::now(), std::chrono::system_clock::now()});
        } catch (failure const&) {
            next = keys.size();
            throw;
        }
    }
}

void reader::take(reading now)
{
    for (auto const& each : board_.take(std::move(now)))
        feed_.tell(server_sent_event("change", boost::json::serialize(to_json(each))));
}

void reader::show()
{
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    auto const& trouble = trouble_.empty() ? refusal_ : trouble_;
    boost::json::object const state{
        {"time", std::chrono::duration_cast<milliseconds>(now).count()},
        {"place", session_.place()},
        {"pattern", json_text(options_.pattern)},
        {"is_whole", !board_.is_first_round()},
        {"left_out", left_out_},
        {"is_away", !trouble_.empty()},
        {"trouble", json_text(safe_to_print(trouble))},
        {"locks", board_.to_json()}};
    feed_.show(server_sent_event("locks", boost::json::serialize(state)));
}

}  // namespace cli::web
