// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "picture.hpp"
#include "session.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

using colock::admin::primary;

/// Finds the locks that are held, on all primaries. It scans, so that the server serves others
/// meanwhile, and reads no values of the application's keys.
class lock_scan {
public:
    /// Is given each lock, without who waits for it. SCAN may name a key twice.
    using on_found = std::function<void(picture)>;

    lock_scan(session& s, colock::config settings, on_found found)
        : session_{s}
        , settings_{std::move(settings)}
        , found_{std::move(found)}
    {}

    /// Looks at all keys that match. \throws failure
    asio::awaitable<void> run(std::string pattern);

    /// The hashes that it has looked at so far.
    std::int64_t looked_at() const noexcept { return looked_at_; }

    /// The hashes that it may not read, with the first reason and the remedy. Empty if there are
    /// none.
    std::string refusal() const;

    /// `status_ok` if nothing was refused.
    int status() const noexcept { return status_; }

private:
    struct candidate;  ///< a hash whose fields have the names of a lock's

    static std::optional<candidate> candidate_of(std::string const& key, reply const& names);
    asio::awaitable<void> scan(primary const& server, std::string const& pattern);
    asio::awaitable<void> look(primary const& server, std::span<reply const> keys);
    asio::awaitable<void> read(primary const& server, std::vector<candidate> locks);
    asio::awaitable<std::vector<reply>> ask(std::vector<session::question> all);
    bool is_answer(reply const&);
    std::optional<picture> picture_of(
        candidate const&, std::span<reply const> depths, reply const& lease, std::int64_t size
    );
    void note_refusal(reply const&);

    session& session_;
    colock::config settings_;
    on_found found_;
    std::int64_t looked_at_ = 0, refused_ = 0;
    std::string why_refused_;  ///< the first time
    int status_ = status_ok;
};

}  // namespace cli
