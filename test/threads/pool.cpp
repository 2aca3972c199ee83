// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Clients and holds used from a pool of threads. The thread sanitizer sees to what no check can.
#include "support/fixture.hpp"
#include "support/seed.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <tuple>

namespace colock::test {

constexpr auto tuple = asio::as_tuple(asio::deferred);
constexpr unsigned threads = 4, keys = 4;

using task_strand = asio::strand<asio::thread_pool::executor_type>;

/// What all tasks share.
struct crowd {
    explicit crowd(redis_server& on, std::size_t clients_wanted)
    {
        auto settings = quick(on.by_socket());
        settings.lease = 2s;  // under a sanitizer all is slow
        settings.poll_cap = 500ms;
        settings.links = 2;
        settings.log = {};
        for (std::size_t i = 0; i != clients_wanted; ++i) {
            clients.push_back(std::make_unique<client>(pool.get_executor(), settings));
            runs.push_back(clients.back()->run(asio::use_future));
        }
        auto const base = unique_name("crowd");
        for (unsigned i = 0; i != keys; ++i)
            names.push_back(base + std::to_string(i));
    }

    asio::thread_pool pool{threads};
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::future<void>> runs;
    std::vector<std::string> names;
    std::array<std::atomic<int>, keys> inside{};
    std::array<std::atomic<std::uint64_t>, keys> highest_token{};
    std::atomic<bool> forcing = false;
    std::atomic<bool> over = false;
    std::atomic<int> visits = 0, overlaps = 0, stale_tokens = 0, cancelled = 0, failed = 0;
};

/// One task, on a strand of its own: acquires, works, releases or drops, and is cancelled at times.
class task : public std::enable_shared_from_this<task> {
public:
    task(crowd& all, unsigned seed)
        : all_{all}
        , strand_{asio::make_strand(all.pool.get_executor())}
        , random_{seed}
    {}

    std::future<void> start()
    {
        auto run = [self = shared_from_this()] { return self->run(); };
        return asio::co_spawn(strand_, std::move(run), asio::use_future);
    }

private:
    unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }

    asio::awaitable<void> pause(std::chrono::microseconds time)
    {
        asio::steady_timer timer{strand_, time};
        co_await timer.async_wait(tuple);
    }

    /// Acquires, and is cancelled in the midst of it one time in three.
    asio::awaitable<hold> acquire(lock const& mine)
    {
        auto const signal = std::make_shared<asio::cancellation_signal>();
        asio::steady_timer cancel_at{strand_};
        if (dice(3) == 0) {
            cancel_at.expires_after(std::chrono::microseconds{dice(4'000)});
            cancel_at.async_wait([signal](error_code ec) {
                if (!ec)
                    signal->emit(asio::cancellation_type::total);
            });
        }
        auto [ec, held] = co_await mine.acquire(
            asio::bind_cancellation_slot(signal->slot(), asio::as_tuple(asio::use_awaitable))
        );
        if (ec == asio::error::operation_aborted)
            ++all_.cancelled;
        else if (ec && !all_.over)
            ++all_.failed;
        co_return std::move(held);
    }

    asio::awaitable<void> run()
    {
        while (!all_.over) {
            unsigned const key = dice(keys);
            lock const mine{
                *all_.clients[dice(static_cast<unsigned>(all_.clients.size()))], all_.names[key]};
            hold held = co_await acquire(mine);
            if (!held)
                continue;
            co_await work(key, held);
            if (all_.forcing && dice(50) == 0)
                co_await mine.force_release(tuple);
            if (dice(4) != 0)
                co_await held.release(tuple);
            // Otherwise it is dropped here.
        }
    }

    asio::awaitable<void> work(unsigned key, hold& held)
    {
        bool const alone = ++all_.inside[key] == 1;
        auto const token = held.fencing_token();
        auto highest = all_.highest_token[key].load();
        while (highest < token && !all_.highest_token[key].compare_exchange_weak(highest, token)) {}
        if (dice(2) == 0)
            co_await pause(std::chrono::microseconds{dice(500)});
        --all_.inside[key];
        ++all_.visits;
        // By force somebody may get in under a holder that is not told yet.
        if (all_.forcing)
            co_return;
        all_.overlaps += !alone;
        all_.stale_tokens += token <= highest;
    }

    crowd& all_;
    task_strand strand_;
    std::mt19937 random_;
};

/// Lets tasks run for a while, and ends them by closing their clients.
inline void let_run(crowd& all, unsigned tasks, milliseconds time, unsigned seed)
{
    std::vector<std::future<void>> ends;
    for (unsigned i = 0; i != tasks; ++i)
        ends.push_back(std::make_shared<task>(all, seed + i)->start());
    std::this_thread::sleep_for(time);  // how long it lasts: nothing is waited for
    all.over = true;
    std::vector<std::future<void>> closes;
    for (auto& c : all.clients)
        closes.push_back(c->close(asio::use_future));
    for (auto& each : closes)
        BOOST_CHECK_NO_THROW(each.get());
    for (auto& each : ends)
        each.get();
    for (auto& each : all.runs)
        each.get();
    for (auto const& c : all.clients) {
        auto const left = c->stats();
        BOOST_TEST(left.holds + left.waiters + left.keys + left.owed_releases == 0U);
    }
    BOOST_TEST_MESSAGE(all.visits << " visits, " << all.cancelled << " cancelled");
    BOOST_TEST(all.visits > 100);
    BOOST_TEST(all.cancelled > 10);
    BOOST_TEST(all.failed == 0);
}

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(one_at_a_time)
{
    auto& server = shared_server(server_kind::redis);
    crowd all{server, 8};
    let_run(all, 48, 3s, random_numbers{}.seed());
    BOOST_TEST(all.overlaps == 0);
    BOOST_TEST(all.stale_tokens == 0);
    for (auto const& name : all.names)
        BOOST_TEST(server.ask("EXISTS", name).number == 0, "left in Redis: " << name);
}

BOOST_AUTO_TEST_CASE(with_force)
{
    auto& server = shared_server(server_kind::redis);
    crowd all{server, 8};
    all.forcing = true;
    let_run(all, 32, 2s, random_numbers{}.seed());
    for (auto const& name : all.names)
        BOOST_TEST(server.ask("EXISTS", name).number == 0, "left in Redis: " << name);
}

// The side of a hold that any thread may look at, while the strand renews and loses it.
BOOST_AUTO_TEST_CASE(a_hold_is_looked_at_from_everywhere)
{
    auto& server = shared_server(server_kind::redis);
    asio::thread_pool pool{threads};
    auto settings = quick(server.by_socket());
    settings.lease = 300ms;
    settings.log = {};
    client c{pool.get_executor(), settings};
    auto run = c.run(asio::use_future);
    for (int round = 0; round != 3; ++round) {
        lock const mine{c, unique_name("look")};
        hold held = mine.acquire(asio::use_future).get();
        std::atomic<bool> over = false;
        std::atomic<int> looks = 0, told = 0;
        std::vector<std::jthread> lookers;
        auto const token = held.stop_token();
        std::stop_callback const callback{token, [&] { ++told; }};
        for (unsigned i = 0; i != threads; ++i)
            lookers.emplace_back([&] {
                while (!over) {
                    auto const until = held.valid_until();
                    bool const valid = held.valid_for(1ms);
                    looks += valid && until != hold::clock::time_point{} && held &&
                        held.fencing_token() != 0 && !token.stop_requested();
                    c.stats();
                    std::this_thread::yield();
                }
            });
        auto lost = held.lost(asio::use_future);
        // Two leases long it is renewed; then it goes.
        BOOST_TEST((lost.wait_for(600ms) == std::future_status::timeout));
        server.ask("DEL", mine.name());
        BOOST_TEST((lost.wait_for(2s) == std::future_status::ready));
        stopwatch const watch;
        while (told == 0 && watch.ms() < 2'000)
            std::this_thread::yield();
        over = true;
        lookers.clear();
        BOOST_TEST(!held);
        BOOST_TEST(told == 1);
        BOOST_TEST(looks > 100);
    }
    c.close(asio::use_future).get();
    run.get();
}

// The work of `with_lock` and the wait for its loss are two coroutines, and one cancels the other.
BOOST_AUTO_TEST_CASE(a_loss_cancels_work_on_a_pool_without_strands)
{
    auto& server = shared_server(server_kind::redis);
    asio::thread_pool pool{threads};
    auto settings = quick(server.by_socket());
    settings.lease = 300ms;
    settings.log = {};
    client holding{pool.get_executor(), settings}, forcing{pool.get_executor(), settings};
    std::atomic<bool> over = false;
    std::atomic<int> losses = 0;
    auto const work = [](hold&) -> asio::awaitable<void> {
        for (;;) {
            asio::steady_timer pause{co_await asio::this_coro::executor, 20us};
            co_await pause.async_wait(asio::deferred);
        }
    };
    auto const visit = [&](lock mine) -> asio::awaitable<void> {
        while (!over)
            try {
                co_await with_lock(mine, work);
            } catch (boost::system::system_error const& e) {
                losses += e.code() == error::lost;
            }
    };
    std::vector<std::string> names;
    std::vector<std::future<void>> ends;
    for (unsigned i = 0; i != 3 * threads; ++i) {
        names.push_back(unique_name("pool"));
        ends.push_back(asio::co_spawn(pool, visit(lock{holding, names.back()}), asio::use_future));
    }
    for (stopwatch const watch; watch.ms() < 2'000;)
        for (auto const& name : names)
            lock{forcing, name}.force_release(asio::use_future).get();
    over = true;
    holding.close(asio::use_future).get();
    forcing.close(asio::use_future).get();
    for (auto& each : ends)
        each.get();
    BOOST_TEST(losses > 20);
}

// A watch is made on the thread of its caller, while others draw numbers for what they send.
BOOST_AUTO_TEST_CASE(a_watch_is_made_on_any_thread)
{
    crowd all{shared_server(server_kind::redis), 1};
    auto& redis = *all.clients.front();
    std::atomic<int> watches = 0;
    std::jthread watching{[&](std::stop_token const& over) {
        lock const watched{redis, all.names[0]};
        while (!over.stop_requested()) {
            lock_watch const made{watched};
            ++watches;
            watched.is_locked(asio::use_future).get();  // no faster than the client can follow
        }
    }};
    for (int i = 0; i != 200; ++i)
        lock{redis, all.names[1]}.acquire(asio::use_future).get().release(asio::use_future).get();
    watching.request_stop();
    watching.join();
    redis.close(asio::use_future).get();
    all.runs.front().get();
    BOOST_TEST(watches > 0);
    auto const left = redis.stats();
    BOOST_TEST(left.holds + left.waiters + left.keys + left.owed_releases == 0U);
}

// A client may go while its operations run, on whichever thread.
BOOST_AUTO_TEST_CASE(stopped_and_destroyed_from_another_thread)
{
    auto& server = shared_server(server_kind::redis);
    for (int round = 0; round != 30; ++round) {
        asio::thread_pool pool{threads};
        auto settings = quick(server.by_socket());
        settings.log = {};
        auto c = std::make_unique<client>(pool.get_executor(), settings);
        auto run = c->run(asio::use_future);
        auto const name = unique_name("stop");
        hold first = lock{*c, name}.acquire(asio::use_future).get();
        // Without exceptions: a thread that frees one which another has read is no race, but the
        // counting in the standard library is not seen by the sanitizer.
        std::vector<std::future<std::tuple<error_code, hold>>> waiting;
        for (int i = 0; i != 4; ++i)
            waiting.push_back(lock{*c, name}.acquire(asio::as_tuple(asio::use_future)));
        std::jthread const dropper{[held = std::move(first)]() mutable { held = {}; }};
        std::jthread const asker{[mine = lock{*c, name}] {
            for (int i = 0; i != 5; ++i)
                mine.try_acquire(asio::detached);
        }};
        if (round % 3 == 0)
            std::jthread{[&] { c->stop(); }};
        if (round % 3 == 1)
            c->close(asio::detached);
        std::jthread{[gone = std::move(c)] {}};
        run.get();
        for (auto& each : waiting) {
            auto const [ec, held] = each.get();
            BOOST_TEST((!ec || ec == error::closed), ec.message());
        }
        if (round % 2 == 0)
            pool.join();  // else the pool's destructor stops it in the midst
    }
    server.ask("FLUSHALL");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
