// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The primary is killed, again and again, while processes work.
#include "chaos/contest.hpp"
#include "support/sentinel_group.hpp"
#include "support/wait_until.hpp"
#include "unit/random_seed.hpp"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace colock::test {

namespace {

auto each_sync() { return boost::unit_test::data::make({0, 1, 2}); }

/// Times of one failover.
struct failover {
    contest::time killed = 0;
    contest::time promoted = 0;  ///< the new primary says that it is one
    contest::time named = 0;     ///< and all sentinels do
    contest::time ready = 0;     ///< and it has as many replicas as acquires want
    std::int64_t working = -1;   ///< milliseconds from `ready` until all processes were inside
};

/// A sentinel group that goes through it.
class ordeal {
public:
    ordeal(server_kind kind, int sync_replicas)
        : group_{kind}
        , plan_{.sync_replicas = sync_replicas}
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
        take_over(old, now, 1s);
    }

    /// The replicas have heard nothing for the last 150 ms.
    void kill_unheard()
    {
        work_for(300 + dice_.below(700));
        failover now;
        auto const old = group_.current_primary();
        auto const others = all_but(old);
        for (auto const each : others)
            group_.pause_replica(each);
        group_.server(old).ask("CLIENT", "KILL", "TYPE", "replica");
        work_for(150);
        now.killed = contest_board::now();
        group_.server(old).kill();
        for (auto const each : others)
            group_.server(each).resume();
        // Also what was given back is held again, by nobody, until its lease ends.
        take_over(old, now, 1s + milliseconds{plan_.lease_ms});
    }

    void finish(std::string const& title)
    {
        work_for(500);
        milliseconds outage{0};
        std::vector<std::int64_t> promoted, named, ready, working;
        for (auto const& each : all_) {
            promoted.push_back(ms_between(each.killed, each.promoted));
            named.push_back(ms_between(each.promoted, each.named));
            ready.push_back(ms_between(each.named, each.ready));
            working.push_back(each.working);
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
                  << " later, all processes inside again " << spread(working) << " later"
                  << std::endl;
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
        now.working = contest_.until_all_enter(now.ready, limit + 10s);
        BOOST_TEST(now.working >= 0, "hung: not all processes work again");
        BOOST_TEST(now.working <= limit.count());
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

}  // namespace

BOOST_AUTO_TEST_SUITE(sentinel)

BOOST_DATA_TEST_CASE(the_primary_is_killed, each_server() * each_sync(), kind, sync_replicas)
{
    ordeal all{kind, sync_replicas};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    all.finish("SIGKILL of the primary");
}

// Here two hold one lock, if they don't wait for replicas: what the store is there for.
BOOST_DATA_TEST_CASE(
    the_primary_is_killed_with_news_for_its_replicas,
    each_server() * each_sync(),
    kind,
    sync_replicas
)
{
    ordeal all{kind, sync_replicas};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill_unheard();
    all.finish("SIGKILL of a primary that was cut off from its replicas for 150 ms");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
