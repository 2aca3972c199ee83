// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/error.hpp>
#include <colock/observer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::test {

/// When the first link was up last, and when a hold was lost.
class diary final : public observer {
public:
    using clock = std::chrono::steady_clock;

    void link_up(std::size_t link, std::uint64_t /*epoch*/) noexcept override
    {
        if (link == 0)
            up_ = clock::now();
    }
    void lost(std::string_view /*name*/, error_code const& /*why*/) noexcept override
    {
        ++losses_;
        lost_ = clock::now();
    }

    int losses() const noexcept { return losses_; }
    std::chrono::microseconds told_after() const
    {
        return std::chrono::duration_cast<std::chrono::microseconds>(lost_ - up_);
    }

private:
    clock::time_point up_{}, lost_{};
    int losses_ = 0;
};

}  // namespace colock::test
