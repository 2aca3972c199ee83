// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/sentinel_ordeal.hpp"
#include "support/wait_until.hpp"

#include <algorithm>
#include <exception>
#include <iostream>

namespace colock::test {

sentinel_ordeal::sentinel_ordeal(
    server_kind kind, contest_plan const& plan, std::vector<address> const& others_first
)
    : group_{kind}
    , plan_{plan}
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
    contest_.report(title);
    std::cout << "  " << all_.size() << " failovers (least / middle / most): promoted after "
              << spread(promoted) << ", named by all sentinels " << spread(named)
              << " later, enough replicas " << spread(ready)
              << " later, all processes inside again " << spread(working)
              << " later, all tasks that waited " << spread(served) << std::endl;
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
    bool const all_wanted = plan_.sync_replicas == static_cast<int>(sentinel_group::servers) - 1;
    if (all_wanted && !lived) {
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
    }
}

bool sentinel_ordeal::is_over(std::size_t old, failover& now)
{
    for (auto const each : all_but(old))
        if (now.promoted == 0 && is_primary(each))
            now.promoted = contest_board::now();
    if (now.promoted == 0 || group_.agreed_primary().value_or(old) == old)
        return false;
    now.named = contest_board::now();
    return true;
}

// A server whose role changes drops its clients.
bool sentinel_ordeal::is_primary(std::size_t i)
{
    try {
        return group_.server(i).ask("ROLE").items.at(0).text == "master";
    } catch (std::exception const&) {
        return false;
    }
}

bool sentinel_ordeal::is_replicated()
{
    auto const primary = group_.agreed_primary();
    if (!primary)
        return false;
    try {
        auto& server = group_.server(*primary);
        server.ask("SET", "written", "now");
        return server.ask("WAIT", std::to_string(plan_.sync_replicas), "100").number >=
            plan_.sync_replicas;
    } catch (std::exception const&) {
        return false;
    }
}

}  // namespace colock::test
