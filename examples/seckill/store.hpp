// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The shop's data in Redis: the stock, the orders, and the newest token of each user.
#pragma once

#include "../raw_redis.hpp"
#include <colock/config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seckill {

namespace asio = boost::asio;

enum class outcome {
    ordered,
    already_ordered,
    sold_out,
    stale  ///< somebody with a newer token was here
};

struct sale_state {
    std::int64_t stock = 0;
    std::int64_t orders = 0;
    std::vector<std::string> latest{};  ///< "user server", the newest last
};

/// Keeps a few connections, and reconnects when they are lost. An operation waits for one; the
/// caller limits that by a cancellation. Not thread-safe.
class store {
public:
    store(asio::any_io_executor const&, colock::config);

    /// Begins the sale, unless it has begun.
    asio::awaitable<void> open(int stock);

    /// Why the user can't order: already_ordered or stale; nothing if the user can. \param token of
    /// the user's lock, which must not be older than an earlier one; 0 is not checked. From now on
    /// older tokens are refused here and below, so that the answer stays true.
    asio::awaitable<std::optional<outcome>> refusal(std::string user, std::uint64_t token);

    /// Takes one from the stock and notes the order, or does nothing.
    asio::awaitable<outcome> add_order(std::string user, std::uint64_t token, std::string server);

    asio::awaitable<sale_state> look();

    /// Each order as "user server", the first first.
    asio::awaitable<std::vector<std::string>> orders();

private:
    using words = std::vector<std::string>;
    using connection = std::optional<examples::raw_redis>;  ///< nothing: to be made

    asio::awaitable<words> ask(words question);
    asio::awaitable<examples::raw_redis> connect();

    colock::config where_;
    asio::experimental::channel<void(boost::system::error_code, connection)> idle_;
};

}  // namespace seckill
