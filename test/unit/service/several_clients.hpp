// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>

namespace colock::test {

/// Each of the clients has a clock of its own, and an answer to one of them can wake another.
template <class Clients>
void settle_all(Clients const& all)
{
    for (int round = 0; round != 4; ++round)
        for (auto* const each : all)
            each->time.settle();
}

/// Lets so much time pass for all of them together: the clock is one, and each moves it on.
template <class Clients>
void pass_for_all(Clients const& all, std::chrono::milliseconds time)
{
    using std::chrono::milliseconds;
    auto const round = milliseconds{static_cast<long>(all.size())};
    for (auto left = time; left > milliseconds{0}; left -= round)
        for (auto* const each : all)
            each->time.advance(milliseconds{1});
    settle_all(all);
}

}  // namespace colock::test
