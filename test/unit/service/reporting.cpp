// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/reporting.hpp"
#include "decide/client_report.hpp"
#include "redis/any_command.hpp"
#include "unit/harness.hpp"
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/read_write_lock.hpp>

#include <string>
#include <unistd.h>

namespace colock::test {

namespace {

config labelled(std::string label = "here:1")
{
    auto settings = short_leases();
    settings.label = std::move(label);
    return settings;
}

struct told : harness {
    explicit told(config settings = labelled()) : harness{std::move(settings)}
    {
        redis.attach(*server);
    }

    std::string key() const { return decide::client_report_key(client.id()); }

    std::optional<decide::client_report> report()
    {
        return decide::read_client_report(redis.ask({"GET", key()}).text);
    }

    lock_info inspected(std::string name)
    {
        auto p = client.inspect(std::move(name), settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    }

    script_server redis;
};

struct silent : told {
    silent() : told{labelled("")} {}
};

BOOST_AUTO_TEST_SUITE(service_reporting)

BOOST_FIXTURE_TEST_CASE(what_lives_for_less_than_half_a_second_is_not_told, told)
{
    auto held = acquire();
    time.advance(499ms);
    release(held.value());
    time.advance(20s);
    BOOST_TEST(server->count(any_command) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_last_report_that_may_not_have_come_is_written_again, told)
{
    auto held = acquire();
    time.advance(7s);
    BOOST_TEST_REQUIRE(report()->entries.size() == 1);
    release(held.value());
    auto& last = server->expect(any_command);
    time.advance(5s);
    BOOST_TEST_REQUIRE(last.has_come());
    last.not_now();
    time.advance(5s);
    BOOST_TEST_REQUIRE(report().has_value());
    BOOST_TEST(report()->entries.empty());
}

BOOST_FIXTURE_TEST_CASE(a_report_does_not_wait_for_a_connection, told)
{
    auto const held = acquire({.lease = 60s, .renew = true});
    server->all_down();
    time.advance(20s);
    mend_all();
    BOOST_TEST_REQUIRE(inspected("k").holders.size() == 1U);
    BOOST_TEST_REQUIRE(inspected("k").holders[0].held_for.has_value());
    BOOST_TEST((*inspected("k").holders[0].held_for >= 15s));
}

BOOST_FIXTURE_TEST_CASE(a_report_says_whether_there_is_more, told)
{
    std::vector<pending_hold> held(64);
    for (std::size_t i = 0; i != held.size(); ++i)
        mutex("k" + std::to_string(i)).acquire(held[i].token());
    time.advance(7s);
    BOOST_TEST_REQUIRE(report().has_value());
    BOOST_TEST(report()->entries.size() == 64U);
    BOOST_TEST(report()->is_whole);
    auto const one_more = acquire(mutex("more"));
    time.advance(7s);
    BOOST_TEST(report()->entries.size() == 64U);
    BOOST_TEST(!report()->is_whole);
}

// To look for them would hold up everything else.
BOOST_FIXTURE_TEST_CASE(among_very_many_locks_no_waits_are_told, told)
{
    std::vector<pending_hold> held(10'001);
    for (std::size_t i = 0; i != held.size(); ++i)
        mutex("k" + std::to_string(i)).acquire(held[i].token());
    time.settle();
    auto waits = acquire(mutex("k0"));
    time.advance(7s);
    BOOST_TEST_REQUIRE(report().has_value());
    BOOST_TEST(!report()->is_whole);
    BOOST_TEST(std::ranges::none_of(report()->entries, [](auto const& e) { return e.waits; }));
}

BOOST_FIXTURE_TEST_CASE(a_holder_and_a_waiter_are_told, told)
{
    owner const who;
    auto held = acquire({.as = who});
    auto waits = acquire();
    time.advance(7s);
    auto const all = report()->entries;
    BOOST_TEST_REQUIRE(all.size() == 2);
    BOOST_TEST((!all[0].waits && all[0].key == "k" && all[0].owner == who.number()));
    BOOST_TEST(redis.fields("k").contains(all[0].id));
    BOOST_TEST((all[0].age >= 5'490ms && all[0].age <= 5'510ms));
    BOOST_TEST((all[1].waits && all[1].kind == "lock" && all[1].key == "k"));
    BOOST_TEST(server->count(any_command) == 2);
}

BOOST_FIXTURE_TEST_CASE(after_a_second_it_is_seen_by_whom_a_lock_is_held, told)
{
    time.advance(20'123ms);
    auto const held = acquire();
    time.advance(1s);
    BOOST_TEST(inspected("k").holders.at(0).label == "here:1");
    time.advance(10ms);
    auto const another = acquire(mutex("k2"));
    time.advance(1s);
    BOOST_TEST(inspected("k2").holders.at(0).held_for.has_value());
}

BOOST_FIXTURE_TEST_CASE(what_a_report_that_was_lost_had_is_told_in_a_second_again, told)
{
    auto const held = acquire();
    auto& lost = server->expect(any_command);
    time.advance(600ms);
    BOOST_TEST_REQUIRE(lost.has_come());
    lost.lose();
    time.advance(1s);
    BOOST_TEST(inspected("k").holders.at(0).label == "here:1");
}

BOOST_FIXTURE_TEST_CASE(one_that_makes_room_lets_an_older_one_be_told, told)
{
    std::vector<pending_hold> held(65);
    for (std::size_t i = 0; i != held.size(); ++i)
        mutex("k" + std::to_string(i)).acquire(held[i].token());
    auto const is_told = [&](std::size_t which) {
        return inspected("k" + std::to_string(which)).holders.at(0).held_for.has_value();
    };
    time.advance(3s);
    std::size_t left_out = 0;
    while (left_out != 64 && is_told(left_out))
        ++left_out;
    BOOST_TEST_REQUIRE(!is_told(left_out));
    release(held[(left_out + 1) % 65].value());
    time.advance(1s);
    BOOST_TEST(is_told(left_out));
}

BOOST_FIXTURE_TEST_CASE(however_much_is_new_one_report_a_second_is_written, told)
{
    std::vector<pending_hold> held(40);
    for (std::size_t i = 0; i != held.size(); ++i) {
        mutex("k" + std::to_string(i)).acquire(held[i].token());
        time.advance(100ms);
    }
    time.advance(1s);
    BOOST_TEST(server->count(any_command) <= 5);
    BOOST_TEST(report()->entries.size() >= 35U);
}

BOOST_FIXTURE_TEST_CASE(each_kind_is_seen_as_what_it_is, told)
{
    using content = lock_info::content;
    auto const take = [this](auto const& of) { return of.acquire(settled()); };
    auto const fenced = take(fenced_lock{client, "fenced"});
    BOOST_TEST((inspected("fenced").what == content::fenced));

    auto const fair = take(fair_lock{client, "fair"}), behind = take(fair_lock{client, "fair"});
    auto const line = inspected("fair");
    BOOST_TEST((line.what == content::fair && line.waiting == 1));
    BOOST_TEST(line.holders.size() == 1U);

    read_write_lock const sides{client, "sides"};
    auto const reads = take(sides.read()), reads_too = take(sides.read());
    auto const read = inspected("sides");
    BOOST_TEST((read.what == content::read_write && read.holders.size() == 2U));
    BOOST_TEST((read.holders.at(0).side == "read" && read.holders.at(1).side == "read"));
    auto const writes = take(read_write_lock{client, "written"}.write());
    BOOST_TEST(inspected("written").holders.at(0).side == "write");
}

BOOST_FIXTURE_TEST_CASE(who_holds_it_is_seen, told)
{
    auto held = acquire();
    BOOST_TEST((inspected("k").holders.at(0).label.empty()));
    time.advance(7s);
    auto const found = inspected("k");
    BOOST_TEST((found.what == lock_info::content::lock && found.lease.has_value()));
    BOOST_TEST_REQUIRE(found.holders.size() == 1);
    auto const& holder = found.holders.front();
    BOOST_TEST((holder.label == "here:1" && holder.client == client.id() && holder.depth == 1));
    BOOST_TEST_REQUIRE(holder.held_for.has_value());
    BOOST_TEST((*holder.held_for >= 6'990ms && *holder.held_for <= 7'010ms));
    redis.ask({"SET", "n", "3"});
    BOOST_TEST((inspected("n").what == lock_info::content::counter && inspected("n").value == 3));
    BOOST_TEST((inspected("x").what == lock_info::content::nothing));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_lock_is_an_error, told)
{
    redis.ask({"SET", "text", "five"});
    for (auto const& [name, why] :
         {std::pair{"text", error::wrong_type}, std::pair{"", error::invalid_argument}}) {
        auto p = client.inspect(name, settled());
        BOOST_TEST((p.ec() == why));
    }
}

BOOST_FIXTURE_TEST_CASE(without_a_label_nothing_is_sent, silent)
{
    auto held = acquire();
    time.advance(20s);
    BOOST_TEST(server->count(any_command) == 0);
    BOOST_TEST(!report());
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_said_once, told)
{
    auto held = acquire({.lease = 60s});  // which is not renewed
    server->expect(any_command).reply(reply::error("NOPERM no permissions to access a key"));
    time.advance(20s);
    BOOST_TEST(server->count(any_command) == 1);
    BOOST_TEST(std::ranges::count_if(log, [](auto const& line) {
                   return line.find("~colock_client:*") != line.npos;
               }) == 1);
}

BOOST_FIXTURE_TEST_CASE(after_a_stop_nothing_is_told, told)
{
    auto held = acquire();
    time.advance(7s);
    client.stop();
    auto const before = server->count(any_command);
    time.advance(20s);
    BOOST_TEST(before == 2);
    BOOST_TEST(server->count(any_command) == before);
    BOOST_TEST(!report());
}

BOOST_AUTO_TEST_CASE(without_a_label_of_its_own_a_client_is_known_by_host_and_process)
{
    auto const label = default_label();
    BOOST_TEST(decide::is_label(label), label);
    BOOST_TEST(label.ends_with(":" + std::to_string(::getpid())), label);
    BOOST_TEST(label.find(':') != 0U, label);
}

BOOST_AUTO_TEST_CASE(a_bad_label_is_a_bad_config)
{
    harness with{labelled("a\nb")};
    BOOST_TEST((with.run.ec() == error::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
