#pragma once

#include "session.hpp"

namespace bench {

/// Workers that each have a key of their own: acquire, release, again.
class pairs {
public:
    pairs(colock::client const& redis, plan const& asked);

    /// For as long as the plan says, from now on.
    asio::awaitable<void> run();

    ledger& done() noexcept { return done_; }

    /// Those that a lone worker has sent.
    samples& pings() noexcept { return pings_; }

    void describe(json::object& into);

private:
    asio::awaitable<void> work(int id);
    asio::awaitable<void> ping();

    colock::client const& redis_;
    plan const& asked_;
    ledger done_;
    samples pings_;
    steady::duration pinging_{};  // within the window
};

}  // namespace bench
