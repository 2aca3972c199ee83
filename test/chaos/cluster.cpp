// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Slots move, and primaries are killed, while processes work.
#include "chaos/contest.hpp"
#include "support/redis_cluster.hpp"
#include "support/wait_until.hpp"
#include "unit/random_seed.hpp"

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// 64 tasks on 200 keys, four of them in each of 50 slots.
constexpr contest_plan many_slots{
    .processes = 8,
    .quick_tasks = 7,
    .sitters = 1,
    .quick_keys = 184,
    .sitter_keys = 16,
    .groups = 50,
    .lease_ms = 8'000,
    .sync_replicas = 0,
    .longest_break_ms = 40};

class cluster_ordeal {
public:
    explicit cluster_ordeal(server_kind kind) : cluster_{kind}
    {
        std::cout << "seed " << dice_.seed() << std::endl;
    }

    /// Those that wait yet wait for what was given back at the last moment, which the replica
    /// hasn't heard: it is nobody's, until its lease ends.
    void see_off(std::vector<contest::waiting_task> const& unserved, contest::time killed)
    {
        for (auto const& each : unserved) {
            auto const name = many_slots.name_of(each.key);
            auto& server = cluster_.node(cluster_.primary_of(cluster_.slot_of(name)));
            auto const left = server.ask("PTTL", name).number;
            auto const most = many_slots.lease_ms - ms_between(killed, contest_board::now());
            BOOST_TEST(
                (left > 0 && left <= most + 20),
                name << " can be had, and isn't; what is left of it: " << left
            );
            unheard_.insert(each.key);
        }
        auto const limit = milliseconds{many_slots.lease_ms};
        BOOST_TEST(contest_.until_served(unserved, 0, limit) >= 0, "hung: a task waits yet");
    }

    /// A slot whose keys are in use goes elsewhere. For a while some are here and some are there.
    void migrate(int half_moved_ms)
    {
        int const group = dice_.below(many_slots.groups);
        auto const keys = quick_keys_of({group});
        auto const slot = slot_of(group);
        auto const to = another_primary(cluster_.primary_of(slot));

        stands_still(keys);
        work_for(500);
        before_.push_back(stands_still(keys));
        cluster_.begin_migration(slot, to);
        if (half_moved_ms != 0) {
            cluster_.move_key(many_slots.name_of(keys.front()), to);
            work_for(half_moved_ms);
        }
        cluster_.move_keys(slot, to);
        cluster_.end_migration(slot, to);
        auto const end = contest_board::now();
        auto const again = contest_.until_served(contest_.waiting(keys), end, 10s);
        BOOST_TEST(again >= 0, "hung: a key in a slot that has moved");
        again_.push_back(again);
        (half_moved_ms != 0 ? half_ : whole_).push_back(stands_still(keys));
    }

    /// The primary of a slot, and with it those of a third of all slots.
    void kill()
    {
        work_for(300 + dice_.below(700));
        auto const slot = slot_of(dice_.below(many_slots.groups));
        auto const old = cluster_.primary_of(slot);
        auto const keys = quick_keys_of(groups_at(old));
        auto const killed = contest_board::now();
        cluster_.kill(old);
        cluster_.wait_for_failover(slot, old, 20s);
        auto const ready = contest_board::now();
        outages_.push_back(ms_between(killed, ready));
        auto const waiting = contest_.waiting(keys);
        waiting_.push_back(static_cast<std::int64_t>(waiting.size()));
        auto const working = contest_.until_served(waiting, ready, back_to_work);
        if (working >= 0)
            working_.push_back(working);
        else
            see_off(contest_.unserved(waiting), killed);
        cluster_.revive(old);
    }

    void finish(std::string const& title)
    {
        work_for(500);
        auto const outage = outages_.empty() ? 0 : std::ranges::max(outages_);
        auto const hung = milliseconds{outage + many_slots.lease_ms} + 5s;
        BOOST_TEST(contest_.longest_wait().time.count() < hung.count());
        contest_.finish(hung);
        contest_.report(title);
    }

    void report_moves()
    {
        std::cout << "  longest acquire in the slot (least / middle / most of the moves): "
                  << spread(before_) << " in the 500 ms before, " << spread(whole_)
                  << " while it moves at once, " << spread(half_)
                  << " while it stays half moved; who waited for one of its keys had it "
                  << spread(again_) << " after the end of the move" << std::endl;
    }

    void report_kills()
    {
        std::cout << "  failovers (least / middle / most): over " << spread(outages_)
                  << " after the kill; the " << spread(waiting_, "tasks")
                  << " that waited for it all served " << spread(working_) << " later, but for "
                  << unheard_.size() << " keys whose release was not replicated" << std::endl;
    }

    contest_board& board() { return contest_.board(); }

private:
    void work_for(int ms)
    {
        holds_within(milliseconds{ms}, [] { return false; });
    }

    unsigned slot_of(int group) { return cluster_.slot_of(many_slots.name_of(group)); }

    std::vector<int> quick_keys_of(std::vector<int> const& groups) const
    {
        std::vector<int> keys;
        for (int key = 0; key != many_slots.quick_keys; ++key)
            if (std::ranges::count(groups, key % many_slots.groups) != 0)
                keys.push_back(key);
        return keys;
    }

    std::vector<int> groups_at(std::size_t node)
    {
        std::vector<int> found;
        for (int group = 0; group != many_slots.groups; ++group)
            if (cluster_.primary_of(slot_of(group)) == node)
                found.push_back(group);
        return found;
    }

    std::size_t another_primary(std::size_t than)
    {
        std::vector<std::size_t> others;
        for (auto const* primary : cluster_.primaries())
            for (std::size_t i = 0; i != cluster_.size(); ++i)
                if (&cluster_.node(i) == primary && i != than)
                    others.push_back(i);
        return others.at(static_cast<std::size_t>(dice_.below(static_cast<int>(others.size()))));
    }

    std::int64_t stands_still(std::vector<int> const& keys)
    {
        return contest_.take_longest_wait(keys).count();
    }

    random_numbers dice_;
    redis_cluster cluster_;
    contest contest_{cluster_.by_cluster(), many_slots, dice_.seed()};
    std::vector<std::int64_t> before_, whole_, half_, again_;
    std::vector<std::int64_t> outages_, waiting_, working_;
    std::set<int> unheard_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cluster)

BOOST_DATA_TEST_CASE(slots_move, each_server(), kind)
{
    cluster_ordeal all{kind};
    for (int i = 0; i != chaos_rounds() + 1; ++i)
        all.migrate(i % 2 == 0 ? 0 : 300);
    all.finish("slots that move");
    all.report_moves();
    BOOST_TEST(all.board().count().overlaps == 0);
    BOOST_TEST(all.board().count().refused == 0);
    BOOST_TEST(all.board().count().lost == 0);
    BOOST_TEST(all.board().count().gone == 0);
}

BOOST_DATA_TEST_CASE(primaries_are_killed, each_server(), kind)
{
    cluster_ordeal all{kind};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill();
    all.finish("SIGKILL of primaries");
    all.report_kills();
}

// Its links have never been up, so none of them is lost.
BOOST_DATA_TEST_CASE(a_primary_has_died_before_it_is_needed, each_server(), kind)
{
    redis_cluster servers{kind};
    lab at{servers};
    auto settings = at.settings();
    settings.silence_timeout = 30s;  // the client stands still while the test waits for the servers
    auto& redis = at.connect(settings);
    auto const on = [&](std::size_t node) {
        auto name = unique_name("needed");
        while (servers.primary_of(servers.slot_of(name)) != node)
            name = unique_name("needed");
        return name;
    };
    auto const near = on(0), far = on(2);  // the first node is the one that is asked for the others
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{redis.client, near}.acquire();
        co_await held.release();
        // While links come up, the cluster is asked again and again.
        co_await eventually([] { return false; }, 300ms);
        auto const slot = servers.slot_of(far);
        servers.kill(2);
        servers.wait_for_failover(slot, 2, 20s);
        stopwatch const watch;
        auto next = co_await lock{redis.client, far}.try_acquire_for(5s);
        BOOST_TEST(next.has_value());
        BOOST_TEST(watch.ms() < 1'000);
        if (next)
            co_await next->release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
