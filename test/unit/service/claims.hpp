// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/service/two_clients.hpp"
#include <colock/claim.hpp>

namespace colock::test {

/// The fixture's own client is the giver.
struct travelling : two_clients {
    using two_clients::two_clients;

    pending<claim> give(hold& from) { return from.give(settled()); }
    pending_hold begin_adopt(claim const& what, acquire_options options = {})
    {
        pending_hold p;
        other.adopt(what, options, p.token());
        return p;
    }
    pending_hold adopt(claim const& what, acquire_options options = {})
    {
        auto p = begin_adopt(what, options);
        time.settle();
        return p;
    }

    /// A claim on "k", and its giver's hold is gone.
    claim given(acquire_options options = {})
    {
        auto held = take(mutex(), options);
        auto got = give(held.value());
        BOOST_TEST_REQUIRE(got.succeeded());
        return got.value();
    }

    void expect_nothing_left()
    {
        time.advance(100ms);
        BOOST_TEST(!redis.is_locked("k"));
        BOOST_TEST(other.stats().keys == 0U);
        BOOST_TEST(other.stats().holds == 0U);
        BOOST_TEST(client.stats().keys == 0U);
    }
};

}  // namespace colock::test
