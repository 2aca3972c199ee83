// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include <colock/fair_lock.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// Refused, with the ms until it is worth asking again; the same of a ticket that is kept.
inline reply waits(std::int64_t ask_in) { return reply::of(std::vector{reply::of(ask_in)}); }

/// The answer to a call that keeps several tickets.
inline reply each(std::vector<reply> parts) { return reply::of(std::move(parts)); }

inline config patient()
{
    auto c = short_leases();
    c.poll_cap = 60s;  // what is not told is to come by the heart-beat
    return c;
}

struct fair : harness {
    explicit fair(config settings = patient()) : harness{std::move(settings)} {}

    fair_lock mine{client, "k"};

    pending_hold wait(acquire_options options = {}) { return mine.acquire(options, settled()); }
    pending_try attempt() { return mine.try_acquire(settled()); }

    /// A waiter with a place, whose subscription is confirmed.
    pending_hold placed(std::int64_t ask_in = 60'000, acquire_options options = {})
    {
        server->expect(scripts::fair_acquire).reply(waits(ask_in));
        server->expect(scripts::fair_acquire).reply(waits(ask_in));
        auto p = wait(options);
        BOOST_TEST_REQUIRE(server->all_came());
        BOOST_TEST(!p.is_done());
        field = last().field();
        return p;
    }
    hold granted_at_once(acquire_options options = {})
    {
        server->expect(scripts::fair_acquire).reply(granted(7));
        auto p = wait(options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    void tell(std::string const& whom) { publish(channel() + ":" + whom); }
    bool is_subscribed(std::string const& whom) const
    {
        return server->subscribed().contains(channel() + ":" + whom);
    }
    bool is_forgotten() const
    {
        auto const now = client.stats();
        return now.keys == 0 && now.waiters == 0 && now.owed_releases == 0;
    }

    std::string field;  ///< of the one placed last
};

inline constexpr auto beat = 1'666ms;

}  // namespace colock::test
