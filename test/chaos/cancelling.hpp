// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/leftovers.hpp"
#include "unit/random_seed.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace colock::test {

/// A visit that may be cancelled at any point: acquire, extend, wait for the loss, release.
class attempt {
public:
    attempt(client const& at, kind of, std::string name, random_numbers& dice);

    void start(asio::io_context& on);

    asio::cancellation_signal signal;
    bool has_begun = false, was_cancelled = false, failed = false, over = false;

private:
    asio::awaitable<void> live();
    asio::awaitable<void> stay(hold&);

    client const& at_;
    kind of_;
    std::string name_;
    random_numbers& dice_;
};

/// Two clients that contend through a slow network, and how long what they leave stays.
class cancelling {
public:
    /// Each way; a round trip is twice that, and what two processors take.
    static constexpr milliseconds delay{2};

    struct outcome {
        int cancelled = 0;
        int violations = 0;
        std::vector<std::int64_t> stayed{};  ///< milliseconds, of each round
        std::int64_t forgotten = 0;          ///< milliseconds from the last round on
    };

    explicit cancelling(random_numbers& dice);

    /// Makes the semaphores, and a latch that nobody opens.
    asio::awaitable<void> prepare();

    /// Some want it at once, and most of them change their minds.
    asio::awaitable<void> round(kind of, outcome& sum);

    /// Waits until nothing is left but what lingers, and then until that is gone, and counts what
    /// takes too long.
    asio::awaitable<void> look(kind of, outcome& sum);

    /// The queue of a fair lock is looked after for five seconds where a release has told one who
    /// was leaving. When all is done, that is over too.
    asio::awaitable<void> look_at_the_end(kind of, outcome& sum);

    lab& where() noexcept { return at_; }
    client const& of(std::size_t i) { return clients_.at(i)->client; }
    std::string name(kind of) const { return "{" + base_ + "}" + std::string{name_of(of)}; }

private:
    void cancel_later(int ms, attempt& which);
    asio::awaitable<void> finish(kind of, std::list<attempt>& all, outcome& sum);
    void check(kind of, outcome& sum, std::string const& left, bool in_time);
    std::string all_left(kind of, bool what_lingers);

    random_numbers& dice_;
    redis_server server_;
    proxy network_{server_.port()};
    lab at_{server_};
    std::array<running_client*, 2> clients_;
    std::string base_ = unique_name("cancelled");
    int pending_ = 0;
};

}  // namespace colock::test
