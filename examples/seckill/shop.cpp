// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "shop.hpp"
#include <colock/lock.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace seckill {

namespace {

/// An entry of a multiset, for as long as this lives.
class entry {
public:
    entry(std::multiset<std::string>& in, std::string const& what) : in_{in}, at_{in.insert(what)}
    {}
    entry(entry const&) = delete;
    entry& operator=(entry const&) = delete;
    ~entry() { leave(); }

    void leave()
    {
        if (at_ != in_.end())
            in_.erase(std::exchange(at_, in_.end()));
    }

private:
    std::multiset<std::string>& in_;
    std::multiset<std::string>::iterator at_;
};

}  // namespace

shop::shop(colock::client const& redis, store& data, rules r)
    : redis_{redis}
    , data_{data}
    , rules_{std::move(r)}
{}

// [order
asio::awaitable<outcome> shop::order(std::string user)
{
    if (!rules_.locking)
        co_return co_await sell(user, 0);

    entry waits{waiting_, user};
    colock::lock const one_at_a_time{redis_, "lock:order:" + user};
    co_return co_await colock::with_lock(one_at_a_time, [&](colock::hold& held) {
        waits.leave();
        return sell(user, held.fencing_token());
    });
}

// Two requests of one user that both got past the question would both order.
asio::awaitable<outcome> shop::sell(std::string user, std::uint64_t token)
{
    auto const refused = co_await data_.refusal(user, token);  // shows the token first
    if (refused)
        co_return *refused;
    co_await pay();
    co_return co_await data_.add_order(user, token, rules_.server);
}
// order]

asio::awaitable<void> shop::pay()
{
    asio::steady_timer timer{co_await asio::this_coro::executor, rules_.paying};
    co_await timer.async_wait(asio::deferred);
}

}  // namespace seckill
