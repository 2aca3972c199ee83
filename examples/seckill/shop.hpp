// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The sale: one order a user, and never more orders than stock.
#pragma once

#include "store.hpp"
#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace seckill {

class shop {
public:
    struct rules {
        std::string server{};                ///< who we are, for the orders
        std::chrono::milliseconds paying{};  ///< how long a payment takes
        bool locking = true;                 ///< false shows what goes wrong without
    };

    shop(colock::client const& redis, store& data, rules);

    /// Orders for the user, or says why not. Waits while another request of the same user is
    /// under way, at this server or another. Cancelled, it leaves no lock and nothing that waits;
    /// an order that was on its way to Redis may stand.
    asio::awaitable<outcome> order(std::string user);

    asio::awaitable<sale_state> look() { return data_.look(); }
    asio::awaitable<std::vector<std::string>> orders() { return data_.orders(); }

    /// The users whose requests wait here, once for each request.
    std::multiset<std::string> const& waiting() const noexcept { return waiting_; }

    rules const& by() const noexcept { return rules_; }

private:
    asio::awaitable<outcome> sell(std::string user, std::uint64_t token);
    asio::awaitable<void> pay();

    colock::client const& redis_;
    store& data_;
    rules rules_;
    std::multiset<std::string> waiting_;
};

}  // namespace seckill
