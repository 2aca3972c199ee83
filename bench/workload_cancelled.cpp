#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace bench {

namespace {

/// The waiters of W8. Half of them are cancelled: half of those at random moments while somebody
/// else has the lock, the other half while the queue moves on, one at random with each grant,
/// whatever the pace.
class queue_of_doubt {
public:
    queue_of_doubt(colock::client const& redis, plan const& asked)
        : lock_{redis, asked.key}
        , waiters_(static_cast<std::size_t>(asked.workers))
        , in_random_order_(waiters_.size())
        , to_cancel_{waiters_.size() / 2}
    {
        std::iota(in_random_order_.begin(), in_random_order_.end(), std::size_t{0});
        std::ranges::shuffle(in_random_order_, chance_);
    }

    void join(crew& into)
    {
        for (auto& w : waiters_)
            into.add(wait(&w));
    }

    asio::awaitable<void> cancel_for(steady::duration time)
    {
        std::uniform_real_distribution<double> moment{0, seconds(time)};
        std::vector<double> moments(to_cancel_ / 2);
        std::ranges::generate(moments, [&] { return moment(chance_); });
        std::ranges::sort(moments);
        auto const begun = steady::now();
        for (double const m : moments) {
            co_await sleep_until(begun + seconds(m));
            cancel_one();
        }
        co_await sleep_until(begun + time);
    }

    std::int64_t acquired() const noexcept { return acquired_; }

    void describe(json::object& into)
    {
        std::int64_t missed = 0, cancelled = 0;
        for (auto const& w : waiters_) {
            missed += !w.cancelled && !w.served;
            cancelled += w.cancelled;
        }
        waits_.describe(into);
        into["acq_all"] = acquired_;
        into["cancelled"] = cancelled;
        into["missed"] = missed;
        into["errors"] = errors_;
        into["overlaps"] = overlaps_;
        into["mutex_ok"] = overlaps_ == 0;
    }

private:
    struct waiter {
        asio::cancellation_signal signal;
        bool waiting = true;
        bool cancelled = false;
        bool served = false;
    };

    asio::awaitable<void> wait(waiter* me)
    {
        auto const start = steady::now();
        auto [failed, held] = co_await lock_.acquire(
            asio::bind_cancellation_slot(me->signal.slot(), asio::as_tuple(asio::deferred))
        );
        me->waiting = false;
        if (failed == asio::error::operation_aborted) {
            me->cancelled = true;
            co_return;
        }
        if (failed) {
            ++errors_;
            co_return;
        }
        overlaps_ += held.fencing_token() <= last_token_ && held.fencing_token() != 0;
        last_token_ = held.fencing_token();
        me->served = true;
        ++acquired_;
        waits_.add(steady::now() - start);
        cancel_one();
        auto [not_released] = co_await held.release(asio::as_tuple(asio::deferred));
        errors_ += not_released.failed();
    }

    void cancel_one()
    {
        while (to_cancel_ != 0 && !in_random_order_.empty()) {
            auto& victim = waiters_[in_random_order_.back()];
            in_random_order_.pop_back();
            if (victim.waiting) {
                --to_cancel_;
                victim.signal.emit(asio::cancellation_type::terminal);
                return;
            }
        }
    }

    colock::lock lock_;
    std::vector<waiter> waiters_;
    std::vector<std::size_t> in_random_order_;
    std::size_t to_cancel_;
    std::minstd_rand chance_;
    std::uint64_t last_token_ = 0;
    samples waits_;
    std::int64_t acquired_ = 0;
    std::int64_t errors_ = 0;
    std::int64_t overlaps_ = 0;
};

bool busy(colock::client_stats const& s)
{
    return s.waiters || s.keys || s.subscriptions || s.owed_releases;
}

}  // namespace

json::object run_cancelled(plan const& asked)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        auto const executor = co_await asio::this_coro::executor;
        server_info server{asked};
        colock::client other{executor, asked.redis};
        other.run(asio::detached);
        colock::lock const obstacle{other, asked.key};
        auto block = co_await obstacle.acquire();
        co_await redis.ping();

        meter spent{server};
        crew waiting{executor};
        queue_of_doubt queue{redis, asked};
        queue.join(waiting);
        co_await queue.cancel_for(seconds(asked.seconds));
        auto const moving = steady::now();
        co_await block.release();
        co_await waiting.join();
        out["total_s"] = seconds(steady::now() - moving);
        queue.describe(out);
        spent.describe(out);
        put_costs(out, queue.acquired());

        // Only subscriptions may stay for a while.
        auto const patience = steady::now() + asked.redis.linger + seconds(5);
        while (busy(redis.stats()) && steady::now() < patience)
            co_await sleep_for(seconds(0.01));
        auto const left = redis.stats();
        out["waiters_left"] = left.waiters;
        out["subscriptions_left"] = left.subscriptions;
        out["keys_left"] = server.exists(asked.key);
        out["server_channels_left"] = server.number("stats", "pubsub_channels");
        co_await other.close();
    });
    return out;
}

}  // namespace bench
