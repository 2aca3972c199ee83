// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/ordeals.hpp"
#include "support/fixture.hpp"
#include "support/patience.hpp"
#include "support/sentinel_group.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

sentinel_ordeal::sentinel_ordeal(
    server_kind kind,
    contest_plan const& plan,
    std::vector<address> const& others_first,
    std::vector<std::string> const& data_lines
)
    : group_{kind, data_lines}
    , plan_{plan}
    , refuses_{!data_lines.empty()}
    , needs_all_servers_{refuses_ || plan.sync_replicas == static_cast<int>(sentinel_group::servers) - 1}
    , contest_{group_.by_sentinel(), others_first, plan_, dice_.seed()}
{}

void sentinel_ordeal::kill()
{
    work_for(300 + dice_.below(700));
    failover now;
    auto const old = group_.current_primary();
    now.killed = contest_board::now();
    group_.server(old).kill();
    take_over(old, now);
}

// A connection that was just begun to the old primary takes its whole time.
void sentinel_ordeal::hang()
{
    work_for(300 + dice_.below(700));
    failover now;
    auto const old = group_.current_primary();
    now.killed = contest_board::now();
    group_.server(old).pause();
    take_over(old, now, back_to_work + time_to_connect());
}

void sentinel_ordeal::power_off()
{
    work_for(300 + dice_.below(700));
    failover now;
    auto const old = group_.current_primary();
    now.killed = contest_board::now();
    group_.server(old).kill();
    gone_.emplace("127.0.0.1", group_.server(old).port());
    take_over(old, now, back_to_work + time_to_connect());
}

void sentinel_ordeal::kill_unheard()
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
    take_over(old, now);
}

void sentinel_ordeal::switch_over()
{
    work_for(300 + dice_.below(700));
    failover now;
    auto const old = group_.current_primary();
    now.killed = contest_board::now();
    // One that is given up is not tried again by itself: the old primary is well.
    contest::time asked = 0;
    wait_until("a new primary", group_.patience, [&] {
        bool const is_idle = asked == 0 || ms_between(asked, contest_board::now()) > 5'000;
        if (is_idle && group_.agreed_primary() == old) {
            group_.sentinel(0).ask("SENTINEL", "FAILOVER", group_.name());
            asked = contest_board::now();
            now.promoted = 0;
        }
        return is_over(old, now);
    });
    take_over(old, now);
    group_.wait_until_calm();
}

void sentinel_ordeal::finish(std::string const& title)
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
    if (!refuses_)
        BOOST_TEST(board().count().refusals == 0);
    contest_.report(title);
    std::cout << "  " << all_.size() << " failovers (least / middle / most): promoted after "
              << spread(promoted) << ", named by all sentinels " << spread(named)
              << " later, enough replicas " << spread(ready)
              << " later, all processes inside again " << spread(working)
              << " later, all tasks that waited " << spread(served) << "; locks without a holder "
              << orphans_ << std::endl;
}

std::vector<std::size_t> sentinel_ordeal::all_but(std::size_t one) const
{
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i != sentinel_group::servers; ++i)
        if (i != one)
            others.push_back(i);
    return others;
}

void sentinel_ordeal::work_for(int ms)
{
    holds_within(milliseconds{ms}, [] { return false; });
}

void sentinel_ordeal::revive(std::size_t old)
{
    gone_.reset();
    group_.revive(old);
}

void sentinel_ordeal::take_over(std::size_t old, failover& now, milliseconds back)
{
    bool const lived = group_.server(old).is_running();
    wait_until("a new primary", group_.patience, [&] { return is_over(old, now); });
    if (needs_all_servers_ && !lived) {
        group_.wait_for_failover(old);
        revive(old);
    }
    wait_until("replicas", group_.patience, [&] { return is_replicated(); });
    now.ready = contest_board::now();
    auto const waiting = contest_.waiting();
    now.working = contest_.until_all_enter(now.ready, back);
    if (now.working < 0) {
        see_off(contest_.unserved(waiting), lived ? now.promoted : now.killed);
        now.working = contest_.until_all_enter(now.ready, milliseconds{plan_.lease_ms} + 1s);
        BOOST_TEST(now.working >= 0, "hung: not all processes work again");
    }
    now.served = contest_.until_served(waiting, now.ready, milliseconds{plan_.lease_ms} + 1s);
    BOOST_TEST(now.served >= 0, "hung: not all tasks work again");
    all_.push_back(now);
    if (!group_.server(old).is_running()) {
        group_.wait_for_failover(old);
        revive(old);
    }
}

void sentinel_ordeal::see_off(
    std::vector<contest::waiting_task> const& unserved, contest::time unheard_since
)
{
    for (auto const& each : unserved) {
        auto const name = plan_.name_of(each.key);
        std::int64_t left = 0;
        auto const is_nobodys = [&] {
            auto const primary = group_.agreed_primary();
            left = primary ? group_.server(*primary).ask("PTTL", name).number : 0;
            auto const most = plan_.lease_ms - ms_between(unheard_since, contest_board::now());
            return left > 0 && left <= most + 20;
        };
        // Or it is served in the end.
        bool const is_explained =
            holds_within(1s, [&] { return is_nobodys() || contest_.unserved({each}).empty(); });
        BOOST_TEST(is_explained, name << " can be had, and isn't; what is left of it: " << left);
        if (!contest_.unserved({each}).empty())
            ++orphans_;
    }
}

bool sentinel_ordeal::is_over(std::size_t old, failover& now)
{
    for (auto const each : all_but(old))
        if (now.promoted == 0 && group_.is_primary(each))
            now.promoted = contest_board::now();
    if (now.promoted == 0 || group_.agreed_primary().value_or(old) == old)
        return false;
    now.named = contest_board::now();
    return true;
}

bool sentinel_ordeal::is_replicated()
{
    auto const primary = group_.agreed_primary();
    if (!primary)
        return false;
    try {
        auto& server = group_.server(*primary);
        return server.ask("SET", "written", "now").text == "OK" &&
            server.ask("WAIT", std::to_string(plan_.sync_replicas), "100").number >=
            plan_.sync_replicas;
    } catch (std::exception const&) {
        return false;
    }
}

namespace {

// The primary is killed, again and again, while processes work.

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
        // Its renewals need no replicas, of which one is missing later on.
        hold heard = co_await first.acquire();
        bool const is_everywhere = co_await eventually([&] {
            std::int64_t there = 0;
            for (std::size_t n = 0; n != sentinel_group::servers; ++n)
                there += group.server(n).ask("EXISTS", first.name()).number;
            return there == sentinel_group::servers;
        });
        BOOST_TEST(is_everywhere);
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
        BOOST_TEST(seen->told_after().count() >= 0);
        BOOST_TEST((seen->told_after() < within(500ms)));
        BOOST_TEST(co_await eventually([&] { return heard.valid_until() > proven; }));
        BOOST_TEST(bool{heard});
        hold next = co_await second.acquire();
        BOOST_TEST(next.fencing_token() > token);
        co_await next.release();
        co_await heard.release();
    });
}

BOOST_DATA_TEST_CASE(the_primary_is_killed, each_set_up(), kind, sync_replicas)
{
    sentinel_ordeal all{kind, {.sync_replicas = sync_replicas}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    all.finish("SIGKILL of the primary");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

// The servers are as `colock doctor` demands it for the profile, and the killed one is back soon.
BOOST_DATA_TEST_CASE(what_a_majority_has_outlives_the_primary, each_server(), kind)
{
    sentinel_ordeal all{
        kind,
        {.sync_replicas = 1},
        {},
        {"min-replicas-to-write 2", "min-replicas-max-lag 2", "appendonly yes"}};
    for (int i = 0; i != chaos_rounds(); ++i)
        all.kill();
    all.finish("SIGKILL of the primary, with a majority");
    BOOST_TEST(all.board().count().overlaps == 0);
    BOOST_TEST(all.board().count().lost == 0);
    BOOST_TEST(all.board().count().gone == 0);
    BOOST_TEST(all.orphans() == 0);
}

// The old primary goes on until the sentinels have told it, with a replica that acknowledges: where
// all have to, two can't hold one lock.
BOOST_DATA_TEST_CASE(the_primary_is_replaced_while_it_lives, each_set_up(), kind, sync_replicas)
{
    sentinel_ordeal all{kind, {.sync_replicas = sync_replicas}};
    for (int i = 0; i != (chaos_rounds() + 1) / 2; ++i)
        all.switch_over();
    all.finish("SENTINEL FAILOVER");
    if (sync_replicas == 2)
        BOOST_TEST(all.board().count().overlaps == 0);
}

// Here two hold one lock, if they don't wait for replicas: what the store is there for.
BOOST_DATA_TEST_CASE(
    the_primary_is_killed_with_news_for_its_replicas, each_set_up(), kind, sync_replicas
)
{
    // Many that stay long enough to be inside still when it is over.
    sentinel_ordeal all{
        kind, {.sitters = 4, .sitter_keys = 20, .groups = 40, .sync_replicas = sync_replicas}};
    for (int i = 0; i != (chaos_rounds() + 3) / 4; ++i)
        all.kill_unheard();
    all.finish("SIGKILL of a primary that was cut off from its replicas for 400 ms");
    if (sync_replicas != 0)
        BOOST_TEST(all.board().count().overlaps == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
