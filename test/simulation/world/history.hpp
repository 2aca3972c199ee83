// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/dice.hpp"
#include "simulation/world/operation_log.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// What has happened, in order: the last of it as text, and all of it as a number that is the same
/// for two runs only if they were the same.
class history {
public:
    /// How many of the last events are kept.
    explicit history(std::size_t kept = 65'536) : last_(kept) {}

    /// `what` must be a literal; `object` and `detail` are cut to what fits.
    void note(
        moment when,
        int actor,
        std::string_view what,
        std::string_view object,
        std::int64_t number = 0,
        std::string_view detail = {}
    );

    std::uint64_t sum() const noexcept { return sum_; }
    std::uint64_t size() const noexcept { return size_; }

    /// The last `count` events of those objects whose names contain this, and of no object.
    void print(std::ostream& to, std::string_view object, std::size_t count) const;

    operation_log& operations() noexcept { return operations_; }

private:
    struct event {
        moment when;
        std::int64_t number;
        std::string_view what;
        int actor;
        std::array<char, 40> object;
        std::array<char, 28> detail;
    };

    operation_log operations_;
    std::vector<event> last_;
    std::uint64_t size_ = 0;
    std::uint64_t sum_ = 0;
};

}  // namespace colock::simulation
