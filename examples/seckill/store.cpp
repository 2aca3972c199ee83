// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "store.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace seckill {

namespace {

std::string const stock_key = "seckill:stock";
std::string const orders_key = "seckill:orders";  // a list: "user server"
std::string const buyers_key = "seckill:buyers";  // a set of users
std::string const tokens_key = "seckill:tokens";  // a hash: user, newest token

/// Each script begins with it: a server that checks or orders shows its token, and is refused if a
/// newer one was shown. The token is for the case in which the lock can't help: a server has slept
/// past its lease, and others were here since.
// [fence
constexpr std::string_view fence_part = R"(
    local user, token = ARGV[1], tonumber(ARGV[2])
    if token ~= 0 then
        if token < tonumber(redis.call('HGET', KEYS[1], user) or '0') then
            return 'stale'
        end
        redis.call('HSET', KEYS[1], user, ARGV[2])
    end
)";
// fence]

constexpr std::string_view look_part = R"(
    return redis.call('SISMEMBER', KEYS[2], user) == 1 and 'already ordered' or 'free'
)";

/// One step for the server, so that stock and orders agree whatever happens to us. It doesn't ask
/// whether the user has ordered: that was looked up before, and lock and token keep it true.
constexpr std::string_view order_part = R"(
    if tonumber(redis.call('GET', KEYS[3]) or '0') <= 0 then
        return 'sold out'
    end
    redis.call('DECR', KEYS[3])
    redis.call('RPUSH', KEYS[4], user .. ' ' .. ARGV[3])
    redis.call('SADD', KEYS[2], user)
    return 'ordered'
)";

std::string fenced(std::string_view part) { return std::string{fence_part}.append(part); }

constexpr int shown_orders = 12;

constexpr std::size_t connections = 8;

}  // namespace

store::store(asio::any_io_executor const& executor, colock::config where)
    : where_{std::move(where)}
    , idle_{executor, connections}
{
    if (where_.topology != colock::topology::single || where_.tls.enabled)
        throw std::invalid_argument{
            "the shop's own data wants one server, so a redis:// or unix:// URL"};
    for (std::size_t i = 0; i != connections; ++i)
        idle_.try_send(boost::system::error_code{}, std::nullopt);
}

asio::awaitable<store::words> store::ask(words question)
{
    connection used = co_await idle_.async_receive(asio::deferred);
    try {
        if (!used || !used->is_up())
            used = co_await connect();
        words answer = co_await used->members(question);
        idle_.try_send(boost::system::error_code{}, std::move(used));
        co_return answer;
    } catch (...) {
        // Its answer may still come: the next question gets another connection.
        idle_.try_send(boost::system::error_code{}, std::nullopt);
        throw;
    }
}

asio::awaitable<examples::raw_redis> store::connect()
{
    for (;;) {
        try {
            auto made = co_await examples::raw_redis::connect(where_);
            co_return made;
        } catch (std::exception const&) {
            // Redis isn't there, or doesn't let us in: both may change.
        }
        asio::steady_timer pause{idle_.get_executor(), std::chrono::milliseconds{200}};
        co_await pause.async_wait(asio::deferred);  // throws once the caller has cancelled
    }
}

asio::awaitable<void> store::open(int stock)
{
    words const question{"SET", stock_key, std::to_string(stock), "NX"};
    co_await ask(question);
}

asio::awaitable<std::optional<outcome>> store::refusal(std::string user, std::uint64_t token)
{
    words const question{
        "EVAL", fenced(look_part), "2", tokens_key, buyers_key, user, std::to_string(token)};
    auto const answer = co_await ask(question);
    if (answer.at(0) == "free")
        co_return std::nullopt;
    co_return answer.at(0) == "stale" ? outcome::stale : outcome::already_ordered;
}

asio::awaitable<outcome> store::add_order(std::string user, std::uint64_t token, std::string server)
{
    words const question{
        "EVAL",
        fenced(order_part),
        "4",
        tokens_key,
        buyers_key,
        stock_key,
        orders_key,
        user,
        std::to_string(token),
        server};
    auto const answer = co_await ask(question);
    co_return answer.at(0) == "ordered" ? outcome::ordered
        : answer.at(0) == "sold out"    ? outcome::sold_out
                                        : outcome::stale;
}

asio::awaitable<sale_state> store::look()
{
    words const stock{"GET", stock_key};
    words const orders{"LLEN", orders_key};
    words const latest{"LRANGE", orders_key, std::to_string(-shown_orders), "-1"};
    auto const left = co_await ask(stock);
    auto const count = co_await ask(orders);
    auto const newest = co_await ask(latest);
    co_return sale_state{
        left.at(0) == "nil" ? 0 : std::stoll(left.at(0)), std::stoll(count.at(0)), newest};
}

asio::awaitable<std::vector<std::string>> store::orders()
{
    words const question{"LRANGE", orders_key, "0", "-1"};
    return ask(question);
}

}  // namespace seckill
