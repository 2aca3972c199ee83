// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The red lock on five servers that keep nothing when they restart.
#include "chaos/contest.hpp"
#include "integration/suites.hpp"
#include "support/environment.hpp"
#include "support/patience.hpp"
#include "support/seed.hpp"
#include <colock/red_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace colock::test {

namespace {

using steady = std::chrono::steady_clock;

/// Five servers that keep nothing.
class five_servers {
public:
    static constexpr int count = 5;

    redis_server& operator[](int i) { return servers_.at(static_cast<std::size_t>(i)); }

    /// Of a client of each.
    std::vector<config> settings(milliseconds how_long) const
    {
        std::vector<config> all;
        for (auto const& each : servers_) {
            auto one = each.by_port();
            one.lease = how_long;
            all.push_back(std::move(one));
        }
        return all;
    }

private:
    std::array<redis_server, count> servers_;
};

/// What the lock protects: it refuses a token that is below the highest one, and knows all the same
/// who came after whom.
class store {
public:
    explicit store(bool has_fence) : has_fence_{has_fence} {}

    /// Somebody has got the lock: its number among all.
    std::uint64_t enter(std::uint64_t token)
    {
        std::scoped_lock const guard{mutex_};
        fell += token <= newest_token_ ? 1 : 0;
        newest_token_ = std::max(newest_token_, token);
        return ++sections;
    }

    /// A write that is accepted though one of a later owner has been is stale.
    void write(std::uint64_t number, std::uint64_t token)
    {
        std::scoped_lock const guard{mutex_};
        if (has_fence_ && token < highest_) {
            ++refused;
            return;
        }
        highest_ = std::max(highest_, token);
        stale += number < last_writer_ ? 1 : 0;
        last_writer_ = std::max(last_writer_, number);
        ++accepted;
    }

    std::atomic<std::uint64_t> sections = 0;
    std::uint64_t accepted = 0, refused = 0, stale = 0, fell = 0;

private:
    std::mutex mutex_;
    bool const has_fence_;
    std::uint64_t newest_token_ = 0, highest_ = 0, last_writer_ = 0;
};

/// A client of each server, in a thread of its own.
class five_clients {
public:
    explicit five_clients(std::vector<config> const& where)
    {
        for (auto const& each : where) {
            clients_.emplace_back(context_.get_executor(), each);
            clients_.back().run(asio::detached);
        }
    }
    five_clients(five_clients const&) = delete;
    five_clients& operator=(five_clients const&) = delete;
    ~five_clients()
    {
        if (thread_.joinable())
            thread_.join();
    }

    red_lock lock_of(std::string const& name)
    {
        std::vector<lock> parts;
        for (auto& each : clients_)
            parts.emplace_back(each, name);
        return red_lock{parts};
    }

    /// Until this and the end of its clients.
    void start(asio::awaitable<void> work)
    {
        asio::co_spawn(
            context_,
            [](five_clients& of, asio::awaitable<void> todo) -> asio::awaitable<void> {
                co_await std::move(todo);
                for (auto& each : of.clients_)
                    co_await each.close(tuple);
            }(*this, std::move(work)),
            asio::detached
        );
        thread_ = std::thread{[this] { context_.run(); }};
    }

private:
    asio::io_context context_{1};
    std::list<client> clients_;
    std::thread thread_;
};

/// Of owners in as many threads.
struct plan {
    int owners = 8;
    int keys = 4;
    milliseconds lease = 1s;
    int stops_one_in = 1'000;  ///< of sections: the whole thread stands still for longer than it
    bool votes_at_once = false;
};

/// Takes one of the locks and writes to what it protects, again and again.
asio::awaitable<void> own(
    five_clients& by,
    std::vector<std::unique_ptr<store>>& stores,
    plan const& how,
    unsigned seed,
    std::atomic<bool> const& is_over
)
{
    std::minstd_rand dice{seed};
    auto const below = [&](int n) { return static_cast<int>(dice() % static_cast<unsigned>(n)); };
    while (!is_over) {
        auto const key = below(how.keys);
        auto& protects = *stores.at(static_cast<std::size_t>(key));
        auto red = by.lock_of("quorum:" + std::to_string(key));
        auto [ec, held] = co_await red.try_acquire_for(5s, tuple);
        if (ec || !held)
            continue;  // too few servers have a vote just now
        auto const token = held->fencing_token();
        auto const number = protects.enter(token);
        if (below(how.stops_one_in) == 0)
            std::this_thread::sleep_for(how.lease + milliseconds{below(500)});
        protects.write(number, token);
        (void)co_await held->release(tuple);
    }
}

/// Sections while servers restart empty and owners stand still.
void go_through(
    five_servers& servers, store& sum, plan const& how, std::uint64_t wanted, bool fenced
)
{
    random_numbers dice;
    auto settings = servers.settings(how.lease);
    if (how.votes_at_once)
        for (auto& each : settings)
            each.vote_after = 0ms;
    std::vector<std::unique_ptr<store>> stores;
    for (int i = 0; i != how.keys; ++i)
        stores.push_back(std::make_unique<store>(fenced));
    std::atomic<bool> is_over = false;
    int restarts = 0;
    stopwatch const watch;
    {
        std::list<five_clients> owners;
        // Also if a server does not come back: an owner's thread ends only then.
        std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> const ends{
            &is_over, [](std::atomic<bool>* it) { *it = true; }};
        for (int i = 0; i != how.owners; ++i) {
            auto& one = owners.emplace_back(settings);
            one.start(own(one, stores, how, dice.seed() + static_cast<unsigned>(i), is_over));
        }
        auto const sections = [&] {
            std::uint64_t all = 0;
            for (auto const& each : stores)
                all += each->sections;
            return all;
        };
        for (; sections() < wanted && watch.ms() < 3'600'000; ++restarts) {
            holds_within(milliseconds{500 + dice.below(1'000)}, [] { return false; });
            servers[dice.below(five_servers::count)].restart();
        }
    }
    for (auto const& each : stores) {
        sum.sections += each->sections;
        sum.accepted += each->accepted;
        sum.refused += each->refused;
        sum.stale += each->stale;
        sum.fell += each->fell;
    }
    std::cout << "red lock, " << (fenced ? "tokens checked" : "tokens not checked") << ": "
              << sum.sections << " sections, " << restarts << " restarts; writes accepted "
              << sum.accepted << ", refused " << sum.refused << ", stale and accepted " << sum.stale
              << ", tokens that fell " << sum.fell << "; " << watch.ms() << " ms" << std::endl;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quorum)

BOOST_AUTO_TEST_CASE(no_stale_write_is_accepted)
{
    five_servers servers;
    store sum{true};
    auto const wanted = from_environment("COLOCK_CHAOS_SECTIONS", 10'000) / 10;
    go_through(servers, sum, {}, static_cast<std::uint64_t>(wanted), true);
    BOOST_TEST(sum.stale == 0);
    BOOST_TEST(sum.fell == 0);
}

// As with Redlock by the book: no token, and a server that has lost its locks votes at once.
BOOST_AUTO_TEST_CASE(without_tokens_some_are)
{
    five_servers servers;
    store sum{false};
    auto const wanted = from_environment("COLOCK_CHAOS_SECTIONS", 10'000) / 10;
    plan const how{.stops_one_in = 100, .votes_at_once = true};
    go_through(servers, sum, how, static_cast<std::uint64_t>(wanted), false);
    BOOST_TEST(sum.stale != 0);
}

// In a long run each server restarts within ten minutes, in a short one within half of one.
BOOST_AUTO_TEST_CASE(a_hold_outlives_each_server)
{
    bool const is_long = chaos_rounds() >= 20;
    milliseconds const lease = is_long ? 30s : 5s;
    milliseconds const between = is_long ? 114s : 5s;
    five_servers servers;
    lab at{servers[0].by_port()};
    std::vector<lock> parts, others;
    for (auto const& each : servers.settings(lease)) {
        parts.emplace_back(at.connect(each).client, "long");
        others.emplace_back(at.connect(each).client, "long");
    }
    at.run_only(
        [&]() -> asio::awaitable<void> {
            group_hold held = co_await red_lock{parts}.acquire();
            auto const first = held.fencing_token();
            stopwatch const watch;
            for (int i = 0; i != five_servers::count; ++i) {
                co_await time_passes(between);
                servers[i].restart();
                BOOST_TEST(bool{held});
                auto [ec, other] = co_await red_lock{others}.try_acquire(tuple);
                BOOST_TEST(!other);
            }
            co_await time_passes(lease);
            BOOST_TEST(bool{held});
            std::cout << "a red lock was held for " << watch.ms() << " ms with a lease of "
                      << lease.count() << " ms, while each of five servers restarted empty"
                      << std::endl;
            co_await held.release();
            group_hold next = co_await red_lock{others}.acquire();
            BOOST_TEST(next.fencing_token() > first);
            co_await next.release();
        },
        6 * between + 2 * lease
    );
}

BOOST_AUTO_TEST_CASE(contenders_are_served_beside_a_silent_server)
{
    constexpr int contenders = 64;
    five_servers servers;
    auto settings = servers.settings(10s);
    for (auto& each : settings)
        each.vote_after = 0ms;
    lab at{servers[0].by_port()};
    std::vector<std::vector<lock>> parts(contenders);
    for (auto& of_one : parts)
        for (auto const& each : settings)
            of_one.emplace_back(at.connect(each).client, "wanted");
    servers[4].pause();

    bool is_over = false;
    std::vector<int> sections(contenders);
    int inside = 0, overlaps = 0, running = contenders;
    steady::duration longest{};
    auto last = steady::now();
    auto const contend = [&](int i) -> asio::awaitable<void> {
        red_lock red{parts.at(static_cast<std::size_t>(i))};
        while (!is_over) {
            auto [ec, held] = co_await red.try_acquire_for(20s, tuple);
            if (ec || !held)
                continue;
            longest = std::max(longest, steady::now() - last);
            overlaps += inside++ == 0 ? 0 : 1;
            co_await time_passes(1ms);
            --inside;
            ++sections.at(static_cast<std::size_t>(i));
            last = steady::now();
            (void)co_await held->release(tuple);
        }
        --running;
    };
    at.run_only(
        [&]() -> asio::awaitable<void> {
            co_await time_passes(1s);  // all are connected
            last = steady::now();
            for (int i = 0; i != contenders; ++i)
                asio::co_spawn(at.context(), contend(i), asio::detached);
            co_await time_passes(chaos_rounds() >= 20 ? 30s : 5s);
            longest = std::max(longest, steady::now() - last);
            is_over = true;
            co_await eventually([&] { return running == 0; }, 30s);
            servers[4].resume();
        },
        90s
    );
    auto const [least, most] = std::ranges::minmax(sections);
    std::cout << contenders << " contenders for a red lock, one of five servers silent: "
              << std::accumulate(sections.begin(), sections.end(), 0) << " sections, of each "
              << least << " to " << most << ", longest time without a grant "
              << std::chrono::duration_cast<milliseconds>(longest).count() << " ms" << std::endl;
    BOOST_TEST(overlaps == 0);
    BOOST_TEST(least != 0);
    BOOST_TEST((longest <= 1'500ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
