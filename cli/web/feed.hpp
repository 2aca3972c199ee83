// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace cli::web {

namespace asio = boost::asio;

/// What is said to all viewers, on one thread. A viewer may read slowly: of the state it gets the
/// newest only, and of events it may be some behind.
class feed {
public:
    explicit feed(asio::any_io_executor);

    /// The state as it is now, also for viewers that come later.
    void show(std::string state);

    /// Something that has happened.
    void tell(std::string event);

    /// Forgets the state: it is old.
    void forget();

    bool has_viewers() const noexcept;

    /// Waits until somebody looks.
    asio::awaitable<void> wait_for_viewer();

    class viewer;

private:
    struct inside;
    std::shared_ptr<inside> inside_;
};

/// Somebody who looks, as long as it lives.
class feed::viewer {
public:
    /// A viewer that has not taken so many events is given up.
    static constexpr std::size_t most_behind = 1'000;

    explicit viewer(feed const&);
    viewer(viewer const&) = delete;
    viewer& operator=(viewer const&) = delete;
    ~viewer();

    /// What comes next, all that there is of it; empty if nothing comes within this time. Nothing
    /// if this viewer is too far behind.
    asio::awaitable<std::optional<std::string>> next(std::chrono::milliseconds longest);

private:
    friend class feed;

    std::shared_ptr<inside> feed_;
    asio::steady_timer wake_;
    std::shared_ptr<std::string const> state_;  ///< not sent yet
    std::deque<std::shared_ptr<std::string const>> events_;
};

}  // namespace cli::web
