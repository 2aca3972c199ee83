// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace colock::test {

/// Takes the messages of channels out of what a server sends (RESP3), and leaves the rest:
/// confirmations, replies, pings.
class message_filter {
public:
    /// What may pass on of all that has come. A value that isn't whole yet waits for the rest.
    std::string pass(std::string_view data, bool drops);

    std::size_t dropped() const noexcept { return dropped_; }

private:
    std::string waiting_;
    std::size_t dropped_ = 0;
};

}  // namespace colock::test
