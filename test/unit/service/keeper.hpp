// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/service/two_clients.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace colock::test {

inline config keeping(milliseconds keep = 5ms, milliseconds tenure = 20ms)
{
    auto settings = short_leases();
    settings.keep = keep;
    settings.max_tenure = tenure;
    return settings;
}

/// The fixture's own client keeps locks; another client of the same server does not.
struct keeper : two_clients {
    explicit keeper(config settings = keeping()) : two_clients{std::move(settings)} {}

    hold take_now(lock const& of)
    {
        auto p = acquire(of);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    hold take_now() { return take_now(mutex()); }
    void give_up(hold& h) { BOOST_TEST(release(h).succeeded()); }

    /// Taken and released twice: from the next time on it is kept.
    void warm_up()
    {
        for (int i = 0; i != 2; ++i) {
            auto h = take_now();
            give_up(h);
            BOOST_TEST(!redis.is_locked("k"));
        }
    }
    /// Released, and kept.
    std::uint64_t keep_it()
    {
        warm_up();
        auto h = take_now();
        auto const token = h.fencing_token();
        give_up(h);
        BOOST_TEST_REQUIRE(is_kept());
        return token;
    }
    bool is_kept() { return redis.is_locked("k") && client.stats().holds == 0U; }
    std::size_t sent() const { return server->written().size(); }
    pending_hold acquire_there()
    {
        pending_hold p;
        lock{other, "k"}.acquire(p.token());
        time.settle();
        return p;
    }
    std::string wanted_channel() { return channel() + ":" + inside().uuid() + ":wanted"; }
};

}  // namespace colock::test
