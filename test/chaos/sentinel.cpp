// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The primary is killed, again and again, while processes work.
#include "chaos/contest.hpp"
#include "support/sentinel_group.hpp"
#include "support/wait_until.hpp"
#include "unit/random_seed.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// When the first link was up last, and when a hold was lost.
class diary final : public observer {
public:
    using clock = std::chrono::steady_clock;

    void link_up(std::size_t link, std::uint64_t /*epoch*/) noexcept override
    {
        if (link == 0)
            up_ = clock::now();
    }
    void lost(std::string_view /*name*/, error_code const& /*why*/) noexcept override
    {
        ++losses_;
        lost_ = clock::now();
    }

    int losses() const noexcept { return losses_; }
    std::chrono::microseconds told_after() const
    {
        return std::chrono::duration_cast<std::chrono::microseconds>(lost_ - up_);
    }

private:
    clock::time_point up_{}, lost_{};
    int losses_ = 0;
};

namespace {

/// Each server with 0, 1 and 2 replicas to wait for; in a short run, half of that.
auto each_set_up()
{
    std::vector<server_kind> kinds;
    std::vector<int> replicas;
    for (auto const kind : installed_servers())
        for (int n = 0; n != 3; ++n)
            if (chaos_rounds() > 1 || (n % 2 == 0) == (kind == server_kind::redis)) {
                kinds.push_back(kind);
                replicas.push_back(n);
            }
    return boost::unit_test::data::make(std::move(kinds)) ^
        boost::unit_test::data::make(std::move(replicas));
}

/// Times of one failover.
struct failover {
    contest::time killed = 0;
    contest::time promoted = 0;  ///< the new primary says that it is one
    contest::time named = 0;     ///< and all sentinels do
    contest::time ready = 0;     ///< and it has as many replicas as acquires want
    std::int64_t working = -1;   ///< milliseconds from `ready` until all processes were inside
    std::int64_t served = -1;    ///< and until all tasks were that had waited then
};

/// A sentinel group that goes through it.
class ordeal {
public:
    ordeal(server_kind kind, contest_plan const& plan) : group_{kind}, plan_{plan}
    {
        std::cout << "seed " << dice_.seed() << std::endl;
    }

    /// The primary is killed, and what it has answered last few milliseconds ago the replicas have
    /// or not, as it happens.
    void kill()
    {
        work_for(300 + dice_.below(700));
        failover now;
        auto const old = group_.current_primary();
        now.killed = contest_board::now();
        group_.server(old).kill();
        take_over(old, now, back_to_work);
    }

    /// The replicas have heard nothing for the last 400 ms.
    void kill_unheard()
    {
        work_for(300 + dice_.below(700));
        failover now;
        auto const old = group_.current_primary();
        auto const others = all_but(old);
        for (auto const each : others)
            group_.pause_replica(each);
        group_.server(old).ask("CLIENT", "KILL", "TYPE", "replica");
        work_for(400);
        now.killed = contest_board::now();
        group_.server(old).kill();
        for (auto const each : others)
            group_.server(each).resume();
        // Also what was given back is held again, by nobody, until its lease ends.
        take_over(old, now, back_to_work + milliseconds{plan_.lease_ms});
    }

    void finish(std::string const& title)
    {
        work_for(500);
        milliseconds outage{0};
        std::vector<std::int64_t> promoted, named, ready, working, served;
        for (auto const& each : all_) {
            promoted.push_back(ms_between(each.killed, each.promoted));
            named.push_back(ms_between(each.promoted, each.named));
            ready.push_back(ms_between(each.named, each.ready));
            working.push_back(each.working);
            served.push_back(each.served);
            outage = std::max(outage, milliseconds{ms_between(each.killed, each.ready)});
        }
        // A waiter is hung that has slept through all there is to wait for.
        auto const hung = outage + milliseconds{plan_.lease_ms} + 5s;
        BOOST_TEST(contest_.longest_wait().time.count() < hung.count());
        contest_.finish(hung);
        contest_.report(title);
        std::cout << "  " << all_.size() << " failovers (least / middle / most): promoted after "
                  << spread(promoted) << ", named by all sentinels " << spread(named)
                  << " later, enough replicas " << spread(ready)
                  << " later, all processes inside again " << spread(working)
                  << " later, all tasks that waited " << spread(served) << std::endl;
    }

    contest_board& board() { return contest_.board(); }

private:
    std::vector<std::size_t> all_but(std::size_t one) const
    {
        std::vector<std::size_t> others;
        for (std::size_t i = 0; i != sentinel_group::servers; ++i)
            if (i != one)
                others.push_back(i);
        return others;
    }

    /// The load is what passes the time.
    void work_for(int ms)
    {
        holds_within(milliseconds{ms}, [] { return false; });
    }

    void take_over(std::size_t old, failover& now, milliseconds limit)
    {
        wait_until("a new primary", 20s, [&] { return is_over(old, now); });
        if (plan_.sync_replicas == static_cast<int>(sentinel_group::servers) - 1) {
            group_.wait_for_failover(old, 20s);
            group_.revive(old);
        }
        wait_until("replicas", 20s, [&] { return replicas() >= plan_.sync_replicas; });
        now.ready = contest_board::now();
        auto const waiting = contest_.waiting();
        now.working = contest_.until_all_enter(now.ready, limit + 10s);
        BOOST_TEST(now.working >= 0, "hung: not all processes work again");
        BOOST_TEST(now.working <= limit.count());
        now.served = contest_.until_served(waiting, now.ready, milliseconds{plan_.lease_ms} + 1s);
        BOOST_TEST(now.served >= 0, "hung: not all tasks work again");
        all_.push_back(now);
        if (!group_.server(old).is_running()) {
            group_.wait_for_failover(old, 20s);
            group_.revive(old);
        }
    }

    bool is_over(std::size_t old, failover& now)
    {
        for (auto const each : all_but(old))
            if (now.promoted == 0 && role(each).at(0).text == "master")
                now.promoted = contest_board::now();
        if (now.promoted == 0 || !agreed())
            return false;
        now.named = contest_board::now();
        return true;
    }

    std::vector<reply> role(std::size_t i)
    {
        // A server whose role changes drops its clients.
        try {
            auto const answer = group_.server(i).ask("ROLE");
            return answer.items.empty() ? std::vector{reply{}} : answer.items;
        } catch (std::exception const&) {
            return {reply{}};
        }
    }

    bool agreed()
    {
        try {
            group_.current_primary();
            return true;
        } catch (std::exception const&) {
            return false;
        }
    }

    /// "master", offset, replicas in step
    int replicas()
    {
        if (!agreed())
            return -1;
        auto const seen = role(group_.current_primary());
        return seen.size() == 3 ? static_cast<int>(seen[2].items.size()) : -1;
    }

    random_numbers dice_;
    sentinel_group group_;
    contest_plan plan_;
    contest contest_{group_.by_sentinel(), plan_};
    std::vector<failover> all_;
};

/// Nobody hears of what the primary does from now on; then it dies.
template <class LastDeed>
asio::awaitable<void> die_unheard(sentinel_group& group, LastDeed last_deed)
{
    auto const old = group.current_primary();
    for (std::size_t i = 0; i != sentinel_group::servers; ++i)
        if (i != old)
            group.pause_replica(i);
    group.server(old).ask("CLIENT", "KILL", "TYPE", "replica");
    co_await last_deed();
    group.server(old).kill();
    for (std::size_t i = 0; i != sentinel_group::servers; ++i)
        if (i != old)
            group.server(i).resume();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sentinel)

BOOST_DATA_TEST_CASE(holders_that_were_not_heard_of_are_told_on_reconnect, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    auto const seen = std::make_shared<diary>();
    settings.lease = 20s;
    settings.links = 1;
    settings.observer = seen;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const first{redis.client, unique_name("heard")};
        lock const second{redis.client, unique_name("unheard")};
        hold heard = co_await first.acquire({.sync_replicas = 2});
        hold unheard;
        co_await die_unheard(group, [&]() -> asio::awaitable<void> {
            unheard = co_await second.acquire();
        });
        auto const token = unheard.fencing_token();
        auto const proven = heard.valid_until();

        bool const told = co_await eventually([&] { return !unheard; }, 15s);
        BOOST_TEST(told);
        BOOST_TEST(seen->losses() == 1);
        std::cout << "told " << seen->told_after().count() << " us after the link was up"
                  << std::endl;
        BOOST_TEST(seen->told_after().count() < 100'000);
        bool const confirmed = co_await eventually([&] { return heard.valid_until() > proven; });
        BOOST_TEST(confirmed);
        BOOST_TEST(bool{heard});
        hold next = co_await second.acquire();
        BOOST_TEST(next.fencing_token() > token);
        co_await next.release();
        co_await heard.release();
    });
}

BOOST_DATA_TEST_CASE(the_primary_is_killed, each_set_up(), kind, sync_replicas)
{
    ordeal all{kind, {.sync_replicas = sync_replicas}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    all.finish("SIGKILL of the primary");
}

// Here two hold one lock, if they don't wait for replicas: what the store is there for.
BOOST_DATA_TEST_CASE(
    the_primary_is_killed_with_news_for_its_replicas, each_set_up(), kind, sync_replicas
)
{
    // Many that stay long enough to be inside still when it is over.
    ordeal all{
        kind, {.sitters = 4, .sitter_keys = 20, .groups = 40, .sync_replicas = sync_replicas}};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill_unheard();
    all.finish("SIGKILL of a primary that was cut off from its replicas for 400 ms");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
