// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "soak/plan.hpp"

#include <boost/asio/io_context.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace colock::soak {

namespace asio = boost::asio;

/// Waits. A cancellation ends it, and nothing else.
asio::awaitable<void> rest(milliseconds);

/// What the tasks have come to.
struct tally {
    std::uint64_t cycles = 0;     ///< visits that have ended
    std::uint64_t taken = 0;      ///< that had the lock
    std::uint64_t cancelled = 0;  ///< that were cancelled on their way
    std::uint64_t lost = 0;       ///< whose hold was lost while they had it
    std::uint64_t overlaps = 0;   ///< that came in while the last owner had not been told
    std::map<std::string, std::uint64_t> errors;
};

/// Tasks that take and give back locks of all kinds, each time another one.
class crowd {
public:
    using clients = std::array<client*, 2>;

    crowd(plan const& what, clients at, asio::io_context& on);
    crowd(crowd const&) = delete;
    crowd& operator=(crowd const&) = delete;

    /// Gives the semaphores their permits. False if that failed.
    asio::awaitable<bool> prepare();

    void start();

    /// Ends the tasks, which takes as long as their last visit.
    asio::awaitable<void> stop();

    tally const& so_far() const noexcept { return tally_; }
    bool all_names_used() const noexcept { return next_ >= plan_.names; }

private:
    asio::awaitable<void> live();
    asio::awaitable<void> visit(std::size_t name);
    asio::awaitable<void> visit_latch(std::size_t name);
    asio::awaitable<void> stay(std::size_t name, test::taken& inside);
    asio::awaitable<void> leave(test::taken& inside);
    asio::awaitable<void> dwell(hold& held, milliseconds);
    std::size_t some_name();
    client& some_client() { return *clients_.at(dice_.below(clients_.size())); }
    test::manner some_manner();
    void note(error_code const&);

    plan plan_;
    clients clients_;
    asio::io_context& context_;
    dice dice_{plan_.seed};
    std::vector<hold const*> inside_ = std::vector<hold const*>(plan_.names);
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    bool stopping_ = false;
    tally tally_;
};

}  // namespace colock::soak
