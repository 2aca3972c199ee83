// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/wait_until.hpp"

#include <poll.h>
#include <stdexcept>
#include <string>

namespace colock::test {

bool holds_within(std::chrono::milliseconds limit, std::function<bool()> const& is_so)
{
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!is_so()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        ::poll(nullptr, 0, 5);
    }
    return true;
}

void wait_until(
    std::string_view what, std::chrono::milliseconds limit, std::function<bool()> const& is_so
)
{
    if (!holds_within(limit, is_so))
        throw std::runtime_error{"waited in vain for " + std::string{what}};
}

}  // namespace colock::test
