// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "locks/exclusive_lock.hpp"
#include "unit/service/group.hpp"

#include <cstddef>
#include <vector>

namespace colock::test {

/// A server that knows the scripts, beside whatever the test does to it.
struct served_crowd : served {
    using served::served;

    /// The lock, held, and so many who wait for it, with the subscription confirmed.
    void fill(int waiters)
    {
        got.push_back(acquire());
        BOOST_TEST_REQUIRE(got.front().succeeded());
        for (int i = 0; i != waiters; ++i)
            got.push_back(acquire());
        sent = server->written().size();
    }
    pending<> release_of(std::size_t i) { return release(got.at(i).value()); }
    std::size_t sent_since() const { return server->written().size() - sent; }
    /// It may have been forced.
    void doubt()
    {
        exclusive_lock::find(inside(), detail::lock_kind::plain, "k")->held()->suspect();
        time.settle();
    }

    std::vector<pending_hold> got;
    std::size_t sent = 0;
};

}  // namespace colock::test
