// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "web/feed.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <set>
#include <utility>

namespace cli::web {

struct feed::inside {
    explicit inside(asio::any_io_executor e)
        : executor{std::move(e)}
        , came{executor, asio::steady_timer::time_point::max()}
    {}

    asio::any_io_executor executor;
    asio::steady_timer came;  ///< cancelled when a viewer has come
    std::shared_ptr<std::string const> state;
    std::set<viewer*> viewers;
};

feed::feed(asio::any_io_executor executor) : inside_{std::make_shared<inside>(std::move(executor))}
{}

void feed::show(std::string state)
{
    inside_->state = std::make_shared<std::string const>(std::move(state));
    for (auto* const each : inside_->viewers) {
        each->state_ = inside_->state;
        each->wake_.cancel();
    }
}

void feed::tell(std::string event)
{
    auto const text = std::make_shared<std::string const>(std::move(event));
    for (auto* const each : inside_->viewers) {
        each->events_.push_back(text);
        each->wake_.cancel();
    }
}

void feed::forget() { inside_->state.reset(); }

bool feed::has_viewers() const noexcept { return !inside_->viewers.empty(); }

asio::awaitable<void> feed::wait_for_viewer()
{
    while (!has_viewers())
        co_await inside_->came.async_wait(asio::as_tuple(asio::deferred));
}

feed::viewer::viewer(feed const& of)
    : feed_{of.inside_}
    , wake_{feed_->executor}
    , state_{feed_->state}
{
    feed_->viewers.insert(this);
    feed_->came.cancel();
}

feed::viewer::~viewer() { feed_->viewers.erase(this); }

asio::awaitable<std::optional<std::string>> feed::viewer::next(std::chrono::milliseconds longest)
{
    wake_.expires_after(longest);
    while (!state_ && events_.empty()) {
        auto const [woken] = co_await wake_.async_wait(asio::as_tuple(asio::deferred));
        if (!woken)
            co_return std::string{};
    }
    if (events_.size() > most_behind)
        co_return std::nullopt;
    std::string all;
    for (auto const& each : std::exchange(events_, {}))
        all += *each;
    if (auto const state = std::exchange(state_, {}))
        all += *state;
    co_return all;
}

}  // namespace cli::web
