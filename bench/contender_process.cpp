#include "contender_process.hpp"
#include "meter.hpp"
#include "session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

namespace bench {

namespace {

constexpr auto poll_interval = std::chrono::milliseconds{5};

/// The file costs more than the lock where nothing is held for long.
std::string proof_of(plan const& asked)
{
    return asked.hold.count() > 0 || asked.start_at ? asked.exclusive_file : "";
}

/// What contenders and pollers do with a hold.
class visit {
public:
    visit(plan const& asked, window when, board& common, int process)
        : hold_{asked.hold}
        , section_{common, process, when, proof_of(asked)}
        , done_{asked.workers, when}
    {}

    critical_section& section() noexcept { return section_; }
    ledger& done() noexcept { return done_; }

    /// Enters, stays, leaves. `start` is when the worker began to wait.
    asio::awaitable<void> make(int id, steady::time_point start, colock::hold held)
    {
        auto const got = steady::now();
        section_.enter(got);
        if (hold_.count() > 0)
            co_await sleep_for(hold_);
        auto const leaving = steady::now();
        held_ += leaving - got;
        section_.leave(leaving);
        auto [failed] = co_await held.release(asio::as_tuple(asio::deferred));
        if (failed)
            done_.note_error();
        done_.note(id, start, steady::now(), got - start);
    }

    void describe(json::object& into)
    {
        done_.describe(into);
        section_.describe(into);
        auto const visits = static_cast<double>(std::max<std::int64_t>(done_.acquired_in_all(), 1));
        into["hold_us"] = seconds(held_) * 1e6 / visits;
    }

private:
    steady::duration hold_;
    critical_section section_;
    ledger done_;
    steady::duration held_{};
};

class contenders {
public:
    contenders(colock::client const& redis, plan const& asked, visit& all)
        : lock_{redis, asked.key}
        , all_{all}
    {}

    asio::awaitable<void> work(int id)
    {
        for (;;) {
            auto const start = steady::now();
            if (start > all_.done().when().end)
                co_return;
            all_.section().arrive(start);
            auto [refused, held] = co_await lock_.acquire(asio::as_tuple(asio::deferred));
            if (refused) {
                all_.section().give_up();
                all_.done().note_error();
            } else
                co_await all_.make(id, start, std::move(held));
        }
    }

private:
    colock::lock lock_;
    visit& all_;
};

class poller {
public:
    poller(colock::client const& redis, plan const& asked, visit& all)
        : lock_{redis, asked.key}
        , all_{all}
    {}

    asio::awaitable<void> work()
    {
        auto begun = steady::now();
        bool waits = false;
        for (auto next = begun; next < all_.done().when().end; next += poll_interval) {
            co_await sleep_until(next);
            ++tries_;
            if (!std::exchange(waits, true)) {
                begun = steady::now();
                all_.section().arrive(begun);
            }
            auto [failed, held] = co_await lock_.try_acquire(asio::as_tuple(asio::deferred));
            if (failed)
                all_.done().note_error();
            if (held) {
                waits = false;
                co_await all_.make(0, begun, std::move(*held));
            }
            next = std::max(next, steady::now() - poll_interval);
        }
    }

    std::int64_t tries() const noexcept { return tries_; }

private:
    colock::lock lock_;
    visit& all_;
    std::int64_t tries_ = 0;
};

/// Until the server's counters have been read; there is no event loop yet that could wait.
void wait_for_opening(board const& common)
{
    while (!common.open)
        usleep(500);
}

}  // namespace

json::object run_contender(plan const& asked, window when, board& common, int process)
{
    wait_for_opening(common);
    visit all{asked, when, common, process};
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        contenders of_this{redis, asked, all};
        crew workers{co_await asio::this_coro::executor};
        for (int i = 0; i != asked.workers; ++i)
            workers.add(of_this.work(i));
        co_await workers.join();
    });
    json::object out;
    out["workers"] = asked.workers;
    out["cpu_s"] = cpu_seconds();
    all.describe(out);
    return out;
}

json::object run_poller(plan const& asked, window when, board& common, int process)
{
    wait_for_opening(common);
    auto own = asked;
    own.workers = 1;
    visit all{own, when, common, process};
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        poller of_this{redis, asked, all};
        co_await of_this.work();
        out["tries"] = of_this.tries();
    });
    all.describe(out);
    out.erase("handover_ns");
    return out;
}

}  // namespace bench
