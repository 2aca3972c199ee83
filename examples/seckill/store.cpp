// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Over Boost.Redis. Its compiled part is in libcolock, so <boost/redis/src.hpp> isn't needed here.
#include "store.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/logger.hpp>
#include <boost/redis/request.hpp>
#include <boost/redis/response.hpp>

#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace seckill {

namespace redis = boost::redis;

namespace {

constexpr std::string_view stock_key = "seckill:stock";
constexpr std::string_view orders_key = "seckill:orders";  // a list: "user server"
constexpr std::string_view buyers_key = "seckill:buyers";  // a set of users
constexpr std::string_view tokens_key = "seckill:tokens";  // a hash: user, newest token

/// Each script begins with it: whoever looks or orders shows his token, and is refused where a
/// newer one was shown. The token is for whom the lock can't help: he has slept past his lease, and
/// others were here since.
constexpr std::string_view fence_part = R"(
    local user, token = ARGV[1], tonumber(ARGV[2])
    if token ~= 0 then
        if token < tonumber(redis.call('HGET', KEYS[1], user) or '0') then
            return 'stale'
        end
        redis.call('HSET', KEYS[1], user, ARGV[2])
    end
)";

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

redis::config settings_of(colock::config const& from)
{
    auto const& at = from.addresses.front();
    redis::config to;
    to.addr = {at.host, std::to_string(at.port)};
    to.unix_socket = at.unix_socket;
    to.username = from.username.empty() ? "default" : from.username;
    to.password = from.password;
    to.database_index = from.database;
    to.clientname = "seckill";
    return to;
}

}  // namespace

struct store::inside {
    redis::connection connection;
    redis::config settings;

    template <class... Values>
    asio::awaitable<std::tuple<Values...>> ask(redis::request question)
    {
        redis::response<Values...> answers;
        co_await connection.async_exec(question, answers, asio::deferred);
        co_return std::apply(
            [](auto&... each) { return std::tuple<Values...>{std::move(each).value()...}; }, answers
        );
    }
};

store::store(asio::any_io_executor executor, colock::config const& where)
    : inside_{new inside{
          {std::move(executor), redis::logger{redis::logger::level::err}}, settings_of(where)}}
{
    if (where.topology != colock::topology::single || where.tls.enabled)
        throw std::invalid_argument{
            "the shop's own data wants one server, so a redis:// or unix:// URL"};
}

store::~store() = default;

void store::run()
{
    inside_->connection.async_run(inside_->settings, [alive = inside_](auto const&) {});
}

void store::stop() { inside_->connection.cancel(); }

asio::awaitable<void> store::open(int stock)
{
    redis::request question;
    question.push("SET", stock_key, stock, "NX");
    co_await inside_->ask<std::optional<std::string>>(std::move(question));
}

asio::awaitable<std::optional<outcome>> store::refusal(std::string user, std::uint64_t token)
{
    redis::request question;
    question.push("EVAL", fenced(look_part), 2, tokens_key, buyers_key, user, token);
    auto const [answer] = co_await inside_->ask<std::string>(std::move(question));
    if (answer == "free")
        co_return std::nullopt;
    co_return answer == "stale" ? outcome::stale : outcome::already_ordered;
}

asio::awaitable<outcome> store::add_order(std::string user, std::uint64_t token, std::string server)
{
    redis::request question;
    question.push(
        "EVAL",
        fenced(order_part),
        4,
        tokens_key,
        buyers_key,
        stock_key,
        orders_key,
        user,
        token,
        server
    );
    auto const [answer] = co_await inside_->ask<std::string>(std::move(question));
    co_return answer == "ordered" ? outcome::ordered
        : answer == "sold out"    ? outcome::sold_out
                                  : outcome::stale;
}

asio::awaitable<sale_state> store::look()
{
    redis::request question;
    question.push("GET", stock_key);
    question.push("LLEN", orders_key);
    question.push("LRANGE", orders_key, -shown_orders, -1);
    using number = std::optional<std::int64_t>;
    auto [stock, orders, latest] =
        co_await inside_->ask<number, std::int64_t, std::vector<std::string>>(std::move(question));
    co_return sale_state{stock.value_or(0), orders, std::move(latest)};
}

asio::awaitable<std::vector<std::string>> store::orders()
{
    redis::request question;
    question.push("LRANGE", orders_key, 0, -1);
    auto [all] = co_await inside_->ask<std::vector<std::string>>(std::move(question));
    co_return std::move(all);
}

}  // namespace seckill
