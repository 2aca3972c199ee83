// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/any_kind.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace colock::soak {

using test::kind;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// All chance of a run comes from its seed.
class dice {
public:
    explicit dice(std::uint64_t seed) : engine_{seed} {}

    std::size_t below(std::size_t limit) { return engine_() % limit; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    milliseconds up_to(milliseconds most)
    {
        return milliseconds{below(static_cast<std::size_t>(most.count()) + 1)};
    }

private:
    std::mt19937_64 engine_;
};

/// What a run of some length does. A short one has fewer names, for each is to be used.
struct plan {
    plan(seconds run, std::uint64_t chosen) : length{run}, seed{chosen} {}

    seconds length;
    std::uint64_t seed;
    std::size_t names = std::clamp<std::size_t>(
        200 * static_cast<std::size_t>(std::max<std::int64_t>(0, length.count())), 1'000, 100'000
    );
    std::size_t tasks = std::clamp<std::size_t>(names / 50, 200, 2'000);
    std::size_t hot_names = 44;  ///< that many want at once
    int permits = 3;
    milliseconds lease = 3s;
    milliseconds linger = 500ms;
    std::size_t growth_allowed = std::size_t{5} << 20U;

    static kind kind_of(std::size_t name)
    {
        return test::all_kinds.at(name % test::all_kinds.size());
    }
    static std::string name_of(std::size_t name)
    {
        return "soak:" + std::string{test::name_of(kind_of(name))} + ':' + std::to_string(name);
    }
};

}  // namespace colock::soak
