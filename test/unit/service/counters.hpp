// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include <colock/countdown_latch.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <algorithm>
#include <string>

namespace colock::test {

inline reply taken() { return reply::of(1); }
inline reply too_few() { return refused(-1); }

struct counters : harness {
    using harness::harness;

    semaphore permits_{client, "k"};
    permit_semaphore leased{client, "k"};
    countdown_latch latch{client, "k"};

    pending<> take(std::int64_t n = 1) { return permits_.acquire(n, settled()); }
    pending<bool> try_take(std::int64_t n = 1) { return permits_.try_acquire(n, settled()); }
    pending<> give(std::int64_t n = 1) { return permits_.release(n, settled()); }
    pending<permit> take_leased(acquire_options options = {})
    {
        return leased.acquire(options, settled());
    }
    pending<> wait() { return latch.wait(settled()); }
    pending<bool> try_wait() { return latch.wait_for(0ms, settled()); }
    void message() { publish("redisson_sc:{k}"); }
    /// A stopped client runs again. With the connection it finds out whether its acquire has taken
    /// permits.
    void undoes_when_run_again()
    {
        server->expect(scripts::semaphore_undo).reply(taken());
        auto again = client.run(settled());
        BOOST_TEST(server->all_came());
        BOOST_TEST(idle());
    }
    bool is_said_to_be_out() const
    {
        return std::ranges::any_of(log, [](auto const& line) {
            return line.find("which may be out for good") != std::string::npos;
        });
    }
    bool idle() const { return client.stats().keys == 0 && client.stats().waiters == 0; }
    std::string const& argument(std::size_t i) const { return last().arguments.at(i); }
};

}  // namespace colock::test
