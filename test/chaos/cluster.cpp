// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/ordeals.hpp"
#include "support/patience.hpp"

#include <algorithm>
#include <iostream>

namespace colock::test {

cluster_ordeal::cluster_ordeal(
    server_kind kind, std::vector<address> const& others_first, contest_plan const& plan
)
    : cluster_{kind}
    , plan_{plan}
    , contest_{cluster_.by_cluster(), others_first, plan_, dice_.seed()}
{}

void cluster_ordeal::see_off(
    std::vector<contest::waiting_task> const& unserved, contest::time killed
)
{
    for (auto const& each : unserved) {
        auto const name = plan_.name_of(each.key);
        auto& server = cluster_.node(cluster_.primary_of(cluster_.slot_of(name)));
        auto const left = server.ask("PTTL", name).number;
        auto const most = plan_.lease_ms - ms_between(killed, contest_board::now());
        BOOST_TEST(
            (left > 0 && left <= most + 20),
            name << " can be had, and isn't; what is left of it: " << left
        );
        unheard_.insert(each.key);
    }
    auto const limit = milliseconds{plan_.lease_ms};
    BOOST_TEST(contest_.until_served(unserved, 0, limit) >= 0, "hung: a task waits yet");
}

void cluster_ordeal::migrate(int half_moved_ms)
{
    int const group = dice_.below(plan_.groups);
    auto const keys = quick_keys_of({group});
    auto const slot = slot_of(group);
    auto const to = another_primary(cluster_.primary_of(slot));

    stands_still(keys);
    work_for(500);
    before_.push_back(stands_still(keys));
    cluster_.begin_migration(slot, to);
    if (half_moved_ms != 0) {
        cluster_.move_key(plan_.name_of(keys.front()), to);
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

void cluster_ordeal::kill() { fail_over(loss::killed); }

void cluster_ordeal::hang() { fail_over(loss::hanging); }

void cluster_ordeal::power_off() { fail_over(loss::without_power); }

void cluster_ordeal::switch_over() { fail_over(loss::replaced); }

void cluster_ordeal::take_away(std::size_t node, loss how)
{
    if (how == loss::replaced)
        return cluster_.replace(node);
    if (how == loss::hanging)
        return cluster_.node(node).pause();
    cluster_.kill(node);
    if (how == loss::without_power)
        gone_.emplace("127.0.0.1", cluster_.node(node).port());
}

void cluster_ordeal::fail_over(loss how)
{
    work_for(300 + dice_.below(700));
    auto const slot = slot_of(dice_.below(plan_.groups));
    auto const old = cluster_.primary_of(slot);
    auto const groups = groups_at(old);
    auto const keys = quick_keys_of(groups);
    auto const killed = contest_board::now();
    if (how != loss::replaced)
        losses_.push_back({{groups.begin(), groups.end()}, killed});
    take_away(old, how);
    cluster_.wait_for_failover(slot, old, 20s);
    auto const ready = contest_board::now();
    outages_.push_back(ms_between(killed, ready));
    auto const waiting = contest_.waiting(keys);
    waiting_.push_back(static_cast<std::int64_t>(waiting.size()));
    // A connection that was just begun to a node that answers nothing takes its whole time.
    bool const is_silent = how == loss::hanging || how == loss::without_power;
    milliseconds const to_connect{is_silent ? plan_.lease_ms / 3 : 0};
    auto const working = contest_.until_served(waiting, ready, back_to_work + to_connect);
    if (working >= 0)
        working_.push_back(working);
    else
        see_off(contest_.unserved(waiting), killed);
    gone_.reset();
    cluster_.revive(old);
}

void cluster_ordeal::finish(std::string const& title)
{
    work_for(500);
    auto const outage = outages_.empty() ? 0 : std::ranges::max(outages_);
    auto const hung = milliseconds{outage + plan_.lease_ms} + 5s;
    BOOST_TEST(contest_.longest_wait().time.count() < hung.count());
    contest_.finish(hung);
    contest_.report(title);
    // What a primary had answered last its replica may lack.
    BOOST_TEST(contest_.overlapped_only(losses_), "two were inside though no primary was lost");
}

void cluster_ordeal::report_moves()
{
    std::cout << "  longest acquire in the slot (least / middle / most of the moves): "
              << spread(before_) << " in the 500 ms before, " << spread(whole_)
              << " while it moves at once, " << spread(half_)
              << " while it stays half moved; who waited for one of its keys had it "
              << spread(again_) << " after the end of the move" << std::endl;
}

void cluster_ordeal::report_kills()
{
    std::cout << "  failovers (least / middle / most): over " << spread(outages_)
              << " after the kill; the " << spread(waiting_, "tasks")
              << " that waited for it all served " << spread(working_) << " later, but for "
              << unheard_.size() << " keys whose release was not replicated" << std::endl;
}

void cluster_ordeal::work_for(int ms)
{
    holds_within(milliseconds{ms}, [] { return false; });
}

std::vector<int> cluster_ordeal::quick_keys_of(std::vector<int> const& groups) const
{
    std::vector<int> keys;
    for (int key = 0; key != plan_.quick_keys; ++key)
        if (std::ranges::count(groups, key % plan_.groups) != 0)
            keys.push_back(key);
    return keys;
}

std::vector<int> cluster_ordeal::groups_at(std::size_t node)
{
    std::vector<int> found;
    for (int group = 0; group != plan_.groups; ++group)
        if (cluster_.primary_of(slot_of(group)) == node)
            found.push_back(group);
    return found;
}

std::size_t cluster_ordeal::another_primary(std::size_t than)
{
    std::vector<std::size_t> others;
    for (auto const* primary : cluster_.primaries())
        for (std::size_t i = 0; i != cluster_.size(); ++i)
            if (&cluster_.node(i) == primary && i != than)
                others.push_back(i);
    return others.at(static_cast<std::size_t>(dice_.below(static_cast<int>(others.size()))));
}

std::int64_t cluster_ordeal::stands_still(std::vector<int> const& keys)
{
    return contest_.take_longest_wait(keys).count();
}

// Slots move, and primaries are killed, while processes work.

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

// It pauses its clients until its replica has all that it has.
BOOST_DATA_TEST_CASE(primaries_are_replaced_while_they_live, each_server(), kind)
{
    auto plan = many_slots;
    plan.sync_replicas = 1;  // a majority of one
    cluster_ordeal all{kind, {}, plan};
    for (int i = 0; i != (chaos_rounds() + 1) / 2; ++i)
        all.switch_over();
    all.finish("CLUSTER FAILOVER");
    all.report_kills();
    BOOST_TEST(all.board().count().overlaps == 0);
    BOOST_TEST(all.board().count().lost == 0);
    BOOST_TEST(all.board().count().gone == 0);
    BOOST_TEST(all.orphans() == 0);
}

// Its links have never been up, so none of them is lost.
BOOST_DATA_TEST_CASE(a_primary_has_died_before_it_is_needed, each_server(), kind)
{
    redis_cluster servers{kind};
    lab at{servers};
    auto settings = brief(at.settings());
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
        co_await time_passes(300ms);
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
