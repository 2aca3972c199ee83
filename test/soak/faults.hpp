// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "soak/plan.hpp"
#include "support/proxy.hpp"
#include "support/redis_server.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace colock::soak {

/// What goes wrong between clients and server, one thing after the other.
class faults {
public:
    using networks = std::array<test::proxy*, 2>;

    faults(plan const& what, test::redis_server& server, networks between);

    /// Until told to end; then all is well again.
    boost::asio::awaitable<void> rage();
    boost::asio::awaitable<void> end();

    std::uint64_t count() const noexcept { return count_; }
    std::map<std::string, std::uint64_t> const& by_kind() const noexcept { return by_kind_; }

private:
    boost::asio::awaitable<void> do_one();
    boost::asio::awaitable<void> black_hole();
    boost::asio::awaitable<void> refuse();
    boost::asio::awaitable<void> slow_down();
    boost::asio::awaitable<void> pause_server();
    void kill_clients();
    void note(char const* what);
    void calm_down();

    test::proxy& network() { return *networks_.at(dice_.below(networks_.size())); }
    test::proxy::link some_link() { return static_cast<test::proxy::link>(dice_.below(3)); }
    test::proxy::way some_way() { return static_cast<test::proxy::way>(dice_.below(3)); }

    dice dice_;
    milliseconds lease_;
    test::redis_server& server_;
    networks networks_;
    bool ending_ = false, raging_ = false;
    std::uint64_t count_ = 0;
    std::map<std::string, std::uint64_t> by_kind_;
};

}  // namespace colock::soak
