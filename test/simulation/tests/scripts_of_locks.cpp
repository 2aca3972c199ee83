// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of plain locks promises.
#include "decide/wait_plan.hpp"
#include "simulation/tests/scripts.hpp"

namespace colock::simulation {

namespace {

struct plain : bench_of_scripts {
    reply acquire(
        std::string_view field, std::string_view lease = "3000", std::string_view floor = "1"
    )
    {
        return run(scripts::acquire, {"k", "counter"}, {floor, field, lease, "1", ""});
    }
    reply release(std::string_view field)
    {
        return run(scripts::release, {"k"}, {field, "c", "w", ""});
    }
    reply renew(std::string_view field, std::string_view lease)
    {
        return run(scripts::renew, {"k"}, {field, lease});
    }
    reply extend(std::string_view field, std::string_view depth, std::string_view lease)
    {
        return run(scripts::extend, {"k"}, {field, depth, lease});
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_plain_locks, plain)

BOOST_AUTO_TEST_CASE(one_owner_at_a_time_until_its_lease_ends)
{
    BOOST_TEST(is(acquire("a"), begin + 1));
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is_refused(acquire("b"), 3'000));
    BOOST_TEST(text({"HGET", "k", "a"}) == "1");
    BOOST_TEST(number({"HLEN", "k"}) == 1);
    pass(3'000);  // a key lives through its last millisecond
    BOOST_TEST(is_refused(acquire("b"), 0));
    pass(1);
    BOOST_TEST(is(acquire("b"), begin + 2));
}

BOOST_AUTO_TEST_CASE(one_owner_at_a_time_though_a_call_asks_twice)
{
    std::vector<std::string_view> const keys{"1", "2", "3", "4", "5", "6", "1"};
    std::vector<std::string_view> arguments{""};
    for (auto const* const field : {"a", "b", "c", "d", "e", "f", "g"})
        arguments.insert(arguments.end(), {field, "3000", "1", ""});
    auto const got = redis.run(scripts::acquire.text, keys, arguments);
    BOOST_TEST_REQUIRE(got.items.size() == keys.size());
    for (std::size_t i = 0; i != keys.size(); ++i)
        BOOST_TEST((i < 6 ? is(got.items[i], 0) : is_refused(got.items[i], 3'000)));
}

BOOST_AUTO_TEST_CASE(a_release_of_many_tells_those_who_wait)
{
    std::vector<std::string_view> const keys{"1", "2", "3", "4", "5", "6"};
    std::vector<std::string_view> arguments;
    for (auto const key : keys) {
        ask({"HSET", key, "a", "1"});
        arguments.insert(
            arguments.end(), {"a", "redisson_lock__channel:{k}", "colock_wait:{k}", ""}
        );
    }
    BOOST_TEST(redis.run(scripts::release.text, keys, arguments).items.size() == keys.size());
    BOOST_TEST(heard().find("{k}:w") == std::string::npos);
    for (auto const key : keys)
        ask({"HSET", key, "a", "1"});
    ask({"RPUSH", "colock_wait:{k}", "w"});
    redis.run(scripts::release.text, keys, arguments);
    BOOST_TEST(heard().find("redisson_lock__channel:{k}:w=1") != std::string::npos);
}

// A key that an element leaves or joins keeps the time that it has left.
BOOST_AUTO_TEST_CASE(a_list_that_clients_take_turns_in_lives_on)
{
    std::string_view const clients[]{"a", "b", "c"}, channel = "redisson_lock__channel:{k}",
                                                     list = "colock_wait:{k}",
                                                     first = "first:redisson_lock__channel:{k}";
    acquire("a");
    for (auto const* const each : {"b", "c"})
        run(scripts::acquire, {"k"}, {"", each, "3000", "1", "last:redisson_lock__channel:{k}"});
    for (std::size_t i = 0; i != 700; ++i) {
        pass(100);
        auto const from = clients[i % 3], to = clients[(i + 1) % 3];
        run(scripts::release, {"k"}, {from, channel, list, from});
        BOOST_TEST_REQUIRE(number({"LLEN", list}) == 2, "after " << i << " turns");
        BOOST_TEST_REQUIRE(is(run(scripts::acquire, {"k"}, {"", to, "3000", "1", first}), 0));
    }
}

BOOST_AUTO_TEST_CASE(a_list_that_a_client_finds_itself_in_lives_on)
{
    acquire("a", "600000");
    auto const ask_for = [this](std::string_view place) {
        return run(scripts::acquire, {"k"}, {"", "b", "3000", "1", place});
    };
    ask_for("last:redisson_lock__channel:{k}");
    for (int i = 0; i != 12; ++i) {
        pass(20'000);
        auto const got = ask_for("check:redisson_lock__channel:{k}");
        BOOST_TEST_REQUIRE(got.items.size() == 3U);
        BOOST_TEST(is(got.items[1], 0));  // it has not joined again
    }
}

// Whatever was left when the client asked for the first time.
BOOST_AUTO_TEST_CASE(a_list_lives_on_if_its_client_asks_as_seldom_as_it_may)
{
    std::string_view const list = "colock_wait:{k}", keys[]{"k"},
                           arguments[]{"30000", "b:colock_wait:{k}"};
    auto const seldom = decide::longest_unkept.count();
    for (auto first = std::int64_t{1}; first < seldom; first += 499) {
        ask({"DEL", "k", list});
        acquire("a", "600000");
        run(scripts::acquire, {"k"}, {"", "b", "3000", "1", "last:redisson_lock__channel:{k}"});
        auto const named = 4 * seldom;  // see `decide::list_unnamed`
        for (auto const pause : {first, named, named, named}) {
            pass(pause + 5'000);  // the server was slow
            redis.run(scripts::expiring.text, keys, arguments);
            BOOST_TEST_REQUIRE(exists(list), "first asked for after " << first << " ms");
        }
    }
}

// Where no release comes for weeks, nothing else removes the entries of clients that have died.
BOOST_AUTO_TEST_CASE(what_joins_a_long_list_takes_out_the_dead_behind_the_first)
{
    std::string_view const list = "colock_wait:{k}";
    redis.subscribers = [](audience, std::string_view to) { return to.ends_with(":dead") ? 0 : 1; };
    acquire("a", "600000");
    ask({"RPUSH", list, "first", "dead", "dead", "dead", "alive"});
    auto const join = [this](std::string const& who) {
        run(scripts::acquire, {"k"}, {"", who, "3000", "1", "last:redisson_lock__channel:{k}"});
    };
    for (int i = 0; i != 59; ++i)
        join("waiter" + std::to_string(i));
    BOOST_TEST(number({"LLEN", list}) == 64);
    join("x");
    BOOST_TEST(number({"LLEN", list}) == 63);
    join("y");
    BOOST_TEST(number({"LLEN", list}) == 64);
    for (auto const* who : {"z", "v", "w"})
        join(who);
    BOOST_TEST(text({"LINDEX", list, "0"}) == "first");
    BOOST_TEST(text({"LINDEX", list, "1"}) == "alive");
    BOOST_TEST(number({"LLEN", list}) == 66);
}

// As after a crash of a whole fleet that waited for one name.
BOOST_AUTO_TEST_CASE(a_release_passes_hundreds_of_dead_clients_over)
{
    std::string_view const list = "colock_wait:{k}", channel = "redisson_lock__channel:{k}";
    acquire("a");
    for (int n = 0; n != 1'000; ++n)
        ask({"RPUSH", list, "dead" + std::to_string(n)});
    ask({"RPUSH", list, "b"});
    redis.publish = [this](audience, std::string_view to, std::string_view payload) {
        if (to.ends_with(":b"))
            told.append(to).append("=").append(payload);
        return to.ends_with(":b") ? 1 : 0;
    };
    run(scripts::release, {"k"}, {"a", channel, list, ""});
    BOOST_TEST(heard() == "redisson_lock__channel:{k}:b=0");
    BOOST_TEST(!exists(list));
}

BOOST_AUTO_TEST_CASE(a_refusal_tells_how_many_wait)
{
    redis.subscribers = [](audience to, std::string_view channel) {
        return channel != "c" ? 0 : to == audience::channel ? 7 : 5;
    };
    acquire("a");
    auto const refused_by = [this](scripts::script const& form) {
        auto const got = run(form, {"k", "counter"}, {"1", "b", "3000", "1", ":c"});
        BOOST_TEST_REQUIRE(got.items.size() == 3U);
        BOOST_TEST(is(got.items[0], 3'000));
        return got.items[1].number;
    };
    BOOST_TEST(refused_by(scripts::acquire) == 7);
    BOOST_TEST(refused_by(*scripts::acquire.sharded) == 5);
    BOOST_TEST(refused_by(*scripts::acquire.both) == 7);
}

BOOST_AUTO_TEST_CASE(a_repeat_renews_the_lease)
{
    acquire("a");
    pass(1'000);
    BOOST_TEST(is(acquire("a"), begin + 2));
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(number({"HLEN", "k"}) == 1);
}

BOOST_AUTO_TEST_CASE(a_refused_lease_leaves_no_lock)
{
    BOOST_TEST((acquire("a", "9223372036854775807").what == reply::kind::error));
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(tokens_rise_whatever_is_lost)
{
    BOOST_TEST(is(acquire("a"), begin + 1));
    release("a");
    ask({"DEL", "counter"});
    pass(10);
    BOOST_TEST(is(acquire("b"), now + 1));
    release("b");
    // The floor of another server, whose clock is ahead.
    auto const ahead = std::to_string(now + 5'000'000);
    BOOST_TEST(is(acquire("c", "3000", ahead), now + 5'000'001));
    release("c");
    // A counter that was lost, and a clock that was set back.
    ask({"DEL", "counter"});
    now -= 1'000'000;
    BOOST_TEST(is(acquire("d", "3000", std::to_string(begin + 9'000'000)), begin + 9'000'001));
    release("d");
    BOOST_TEST(is(acquire("e", "3000", std::to_string(begin + 9'000'000)), begin + 9'000'002));
}

BOOST_AUTO_TEST_CASE(a_release_is_of_its_own_and_tells)
{
    acquire("a");
    BOOST_TEST(is_gone(release("b")));
    BOOST_TEST(exists("k"));
    BOOST_TEST(heard().empty());
    BOOST_TEST(is(release("a"), 1));
    BOOST_TEST(!exists("k"));
    BOOST_TEST(heard() == "c=0 ");
    BOOST_TEST(is_gone(release("a")));
    BOOST_TEST(heard().empty());
}

BOOST_AUTO_TEST_CASE(a_renewal_is_of_its_own_and_takes_nothing)
{
    BOOST_TEST(is(renew("a", "3000"), 0));
    BOOST_TEST(!exists("k"));
    acquire("a");
    pass(1'000);
    BOOST_TEST(is(renew("b", "9000"), 0));
    BOOST_TEST(pttl("k") == 2'000);
    BOOST_TEST(number({"HLEN", "k"}) == 1);
    BOOST_TEST(is(renew("a", "3000"), 1));
    BOOST_TEST(pttl("k") == 3'000);
}

BOOST_AUTO_TEST_CASE(an_extension_is_of_its_own_and_takes_nothing)
{
    BOOST_TEST(is(extend("a", "2", "3000"), 0));
    BOOST_TEST(!exists("k"));
    acquire("a");
    BOOST_TEST(is(extend("b", "2", "9000"), 0));
    BOOST_TEST(number({"HLEN", "k"}) == 1);
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is(extend("a", "2", "5000"), 1));
    BOOST_TEST(text({"HGET", "k", "a"}) == "2");
    BOOST_TEST(pttl("k") == 5'000);
}

BOOST_AUTO_TEST_CASE(without_memory_renewals_and_releases_go_on)
{
    acquire("a");
    extend("a", "2", "3000");
    redis.is_full = true;
    BOOST_TEST((acquire("a").what == reply::kind::error));
    BOOST_TEST(is(renew("a", "4000"), 1));
    BOOST_TEST(is(extend("a", "1", "5000"), 1));
    BOOST_TEST(text({"HGET", "k", "a"}) == "1");
    BOOST_TEST(pttl("k") == 5'000);
    BOOST_TEST(is(release("a"), 1));
}

BOOST_AUTO_TEST_CASE(a_force_takes_it_away_and_tells)
{
    BOOST_TEST(is(run(scripts::force, {"k"}, {"c"}), 0));
    BOOST_TEST(heard().empty());
    acquire("a");
    BOOST_TEST(is(run(scripts::force, {"k"}, {"c"}), 1));
    BOOST_TEST(!exists("k"));
    BOOST_TEST(heard() == "c=0 ");
}

BOOST_AUTO_TEST_CASE(who_looks_sees_what_is_there)
{
    auto const looked = [this] { return run(scripts::inspect, {"k"}, {}).items; };
    BOOST_TEST(looked().at(0).number == -2);
    acquire("a");
    BOOST_TEST(looked().at(0).number == 3'000);
    BOOST_TEST(looked().at(2).number == 1);
    ask({"DEL", "k"});
    ask({"HSET", "k", "mode", "read"});
    for (int i = 0; i != 10'000; ++i)
        ask({"HSET", "k", std::to_string(i), "1"});
    BOOST_TEST(looked().at(1).text == "read");
    BOOST_TEST(looked().at(2).number == 10'001);
}

BOOST_AUTO_TEST_CASE(what_is_free_soon_is_said)
{
    auto const expiring = [this](std::string_view limit) {
        std::string_view const keys[]{"k", "l"}, arguments[]{limit, "", ""};
        return redis.run(scripts::expiring.text, keys, arguments).items;
    };
    acquire("a");
    auto found = expiring("3000");
    BOOST_TEST_REQUIRE(found.size() == 2U);
    BOOST_TEST(found[0].number == 2);
    BOOST_TEST(found[1].number == -2);
    found = expiring("3001");
    BOOST_TEST_REQUIRE(found.size() == 4U);
    BOOST_TEST(found[0].number == 1);
    BOOST_TEST(found[1].number == 3'000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
