#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

namespace bench {

namespace {

/// A plain counter that is read, left to others for a pass of the event loop, and written: two who
/// are inside at once lose a count.
class witness {
public:
    asio::awaitable<void> visit()
    {
        auto const read = count_;
        bool const alone = !inside_;
        inside_ = true;
        co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
        inside_ = false;
        count_ = read + 1;
        if (!alone)
            ++overlaps_;
    }

    std::int64_t count() const noexcept { return count_; }
    std::int64_t overlaps() const noexcept { return overlaps_; }

private:
    std::int64_t count_ = 0;
    std::int64_t overlaps_ = 0;
    bool inside_ = false;
};

/// The workers of W3.
class contenders {
public:
    contenders(colock::client const& redis, plan const& asked)
        : lock_{redis, asked.key}
        , asked_{asked}
        , done_{asked.workers, window_of(asked)}
    {}

    asio::awaitable<void> run()
    {
        crew workers{co_await asio::this_coro::executor};
        for (int i = 0; i != asked_.workers; ++i)
            workers.add(work(i));
        co_await workers.join();
    }

    ledger& done() noexcept { return done_; }

    void describe(json::object& into)
    {
        done_.describe(into);
        into["overlaps"] = witness_.overlaps();
        into["mutex_ok"] = witness_.overlaps() == 0 && witness_.count() == done_.acquired_in_all();
    }

private:
    asio::awaitable<void> work(int id)
    {
        for (;;) {
            auto const start = steady::now();
            if (start > done_.when().end)
                co_return;
            auto [refused, held] = co_await lock_.acquire(asio::as_tuple(asio::deferred));
            auto const got = steady::now();
            if (refused) {
                done_.note_error();
                continue;
            }
            co_await witness_.visit();
            auto [failed] = co_await held.release(asio::as_tuple(asio::deferred));
            if (failed)
                done_.note_error();
            done_.note(id, start, steady::now(), got - start);
        }
    }

    colock::lock lock_;
    plan const& asked_;
    ledger done_;
    witness witness_;
};

/// The workers of W5.
class herd {
public:
    herd(colock::client const& redis, plan const& asked) : lock_{redis, asked.key}, asked_{asked} {}

    asio::awaitable<void> run()
    {
        crew workers{co_await asio::this_coro::executor};
        begun_ = steady::now();
        for (int i = 0; i != asked_.workers; ++i)
            workers.add(once());
        co_await workers.join();
        total_ = steady::now() - begun_;
    }

    std::int64_t acquired() const noexcept { return witness_.count(); }

    void describe(json::object& into)
    {
        waits_.describe(into);
        into["total_s"] = seconds(total_);
        into["acq_all"] = witness_.count();
        into["errors"] = errors_;
        into["overlaps"] = witness_.overlaps();
        into["mutex_ok"] = witness_.overlaps() == 0 && witness_.count() == asked_.workers - errors_;
    }

private:
    asio::awaitable<void> once()
    {
        auto [refused, held] = co_await lock_.acquire(asio::as_tuple(asio::deferred));
        if (refused) {
            ++errors_;
            co_return;
        }
        waits_.add(steady::now() - begun_);
        co_await witness_.visit();
        auto [failed] = co_await held.release(asio::as_tuple(asio::deferred));
        if (failed)
            ++errors_;
    }

    colock::lock lock_;
    plan const& asked_;
    samples waits_;
    witness witness_;
    std::int64_t errors_ = 0;
    steady::time_point begun_;
    steady::duration total_{};
};

}  // namespace

json::object run_contended(plan const& asked)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        auto burst = co_await ping_burst(&redis);
        out["ping_burst_p50_us"] = burst.microseconds(0.5);
        double const base = resident_bytes();

        meter spent{server};
        contenders run{redis, asked};
        co_await run.run();
        run.describe(out);
        spent.describe(out);
        put_costs(out, run.done().acquired_in_all());
        out["rss_base_mb"] = megabytes(base);
        out["rss_peak_mb"] = megabytes(peak_resident_bytes());
    });
    return out;
}

json::object run_herd(plan const& asked)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        co_await redis.ping();
        double const base = resident_bytes();

        meter spent{server};
        herd run{redis, asked};
        co_await run.run();
        run.describe(out);
        spent.describe(out);
        put_costs(out, run.acquired());
        out["rss_base_mb"] = megabytes(base);
        out["rss_peak_mb"] = megabytes(peak_resident_bytes());
    });
    return out;
}

}  // namespace bench
