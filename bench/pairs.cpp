#include "pairs.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>

#include <string>

namespace bench {

namespace {

constexpr int pairs_per_ping = 8;

}  // namespace

pairs::pairs(colock::client const& redis, plan const& asked)
    : redis_{redis}
    , asked_{asked}
    , done_{asked}
{}

asio::awaitable<void> pairs::run()
{
    crew workers{co_await asio::this_coro::executor};
    for (int i = 0; i != asked_.workers; ++i)
        workers.add(work(i));
    co_await workers.join();
}

void pairs::describe(json::object& into) { done_.describe(into, pinging_); }

asio::awaitable<void> pairs::ping()
{
    auto const before = allocated;
    auto const start = steady::now();
    co_await redis_.ping();
    auto const end = steady::now();
    pings_.add(end - start);
    done_.leave_out(allocated - before);
    if (done_.when().holds(start, end))
        pinging_ += end - start;
}

// A lone worker pings now and then, between its pairs: the round trip to compare with is the one
// under the same conditions. In a burst of its own a ping finds both processors awake and is up to
// a third shorter; `ping_burst_p50_us` says how much here.
asio::awaitable<void> pairs::work(int id)
{
    // Beside pairs that need no command, the pings would be all that is measured.
    bool const pings = asked_.workers == 1 && asked_.rounds == 0;
    bool const drops = asked_.workload == "W1d";
    colock::lock const lock{redis_, asked_.key + ":" + std::to_string(id)};
    for (int count = 0;; ++count) {
        if (pings && count % pairs_per_ping == 0)
            co_await ping();
        auto const start = steady::now();
        if (!done_.goes_on(id, start))
            co_return;
        auto [refused, held] = co_await lock.acquire(asio::as_tuple(asio::deferred));
        if (refused) {
            done_.note_error();
            continue;
        }
        if (drops)
            held = {};
        else if (auto [failed] = co_await held.release(asio::as_tuple(asio::deferred)); failed)
            done_.note_error();
        auto const end = steady::now();
        done_.note(id, start, end, end - start);
    }
}

}  // namespace bench
