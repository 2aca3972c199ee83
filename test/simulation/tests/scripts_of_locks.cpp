// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of plain locks promises.
#include "decide/reply.hpp"
#include "decide/wait_plan.hpp"
#include "simulation/tests/script_bench.hpp"

#include <cstdlib>

namespace colock::simulation {

namespace {

/// The lock `k`, to whose channel somebody listens.
struct plain : script_bench {
    explicit plain(script_place where) : script_bench{where} { listen(channel); }

    reply acquire(std::string const& field, std::string const& lease = "3000")
    {
        return run(scripts::acquire, {"k", "counter"}, {"clock", field, lease, "1", ""});
    }
    /// Without a token, by one that may wait.
    reply acquire_or_wait(std::string const& field, std::string const& place)
    {
        return run(scripts::acquire, {"k"}, {"", field, "3000", "1", place + ':' + channel});
    }
    reply release(std::string const& field, std::string const& joins = "")
    {
        return run(scripts::release, {"k"}, {field, channel, list, joins});
    }
    reply renew(std::string const& field, std::string const& lease)
    {
        return run(scripts::renew, {"k"}, {field, lease});
    }
    reply extend(std::string const& field, std::string const& depth, std::string const& lease)
    {
        return run(scripts::extend, {"k"}, {field, depth, lease});
    }
    std::int64_t fields() { return ask("HLEN", "k").number; }
    std::int64_t length() { return ask("LLEN", list).number; }

    static constexpr auto channel = "redisson_lock__channel:{k}", list = "colock_wait:{k}";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_of_plain_locks)

BOOST_DATA_TEST_CASE(one_owner_at_a_time_until_its_lease_ends, each_place(), where)
{
    plain at{where};
    BOOST_TEST(is(at.acquire("a"), at.begin));
    BOOST_TEST(at.pttl("k") == 3'000);
    BOOST_TEST(refusal(at.acquire("b")) == 3'000);
    BOOST_TEST(at.ask("HGET", "k", "a").text == "1");
    BOOST_TEST(at.fields() == 1);
    at.pass(3'000);  // a key lives through its last millisecond
    BOOST_TEST(refusal(at.acquire("b")) == 0);
    at.pass(1);
    BOOST_TEST(is(at.acquire("b"), at.now()));
}

BOOST_DATA_TEST_CASE(one_owner_at_a_time_though_a_call_asks_twice, each_place(), where)
{
    plain at{where};
    strings arguments{""};
    for (auto const* const field : {"a", "b", "c", "d", "e", "f", "g"})
        arguments.insert(arguments.end(), {field, "3000", "1", ""});
    auto const got = at.run_many(scripts::acquire, {"1", "2", "3", "4", "5", "6", "1"}, arguments);
    BOOST_TEST_REQUIRE(got.size() == 7U);
    for (std::size_t i = 0; i != 7; ++i)
        BOOST_TEST((i < 6 ? is(got[i], 0) : refusal(got[i]) == 3'000));
}

BOOST_DATA_TEST_CASE(a_repeat_renews_the_lease, each_place(), where)
{
    plain at{where};
    at.acquire("a");
    at.pass(1'000);
    BOOST_TEST(is(at.acquire("a"), at.now()));
    BOOST_TEST(at.pttl("k") == 3'000);
    BOOST_TEST(at.fields() == 1);
}

BOOST_DATA_TEST_CASE(a_refused_lease_leaves_no_lock, each_place(), where)
{
    plain at{where};
    BOOST_TEST(is_error(at.acquire("a", "9223372036854775807")));
    BOOST_TEST(!at.exists("k"));
}

BOOST_DATA_TEST_CASE(a_release_is_of_its_own_and_tells, each_place(), where)
{
    plain at{where};
    at.acquire("a");
    BOOST_TEST(is_gone(at.release("b")));
    BOOST_TEST(at.exists("k"));
    BOOST_TEST(at.heard().empty());
    BOOST_TEST(is(at.release("a"), 1));
    BOOST_TEST(!at.exists("k"));
    BOOST_TEST(at.heard() == "redisson_lock__channel:{k}=0");
    BOOST_TEST(is_gone(at.release("a")));
    BOOST_TEST(at.heard().empty());
}

BOOST_DATA_TEST_CASE(a_renewal_is_of_its_own_and_takes_nothing, each_place(), where)
{
    plain at{where};
    BOOST_TEST(is(at.renew("a", "3000"), 0));
    BOOST_TEST(!at.exists("k"));
    at.acquire("a");
    at.pass(1'000);
    BOOST_TEST(is(at.renew("b", "9000"), 0));
    BOOST_TEST(at.pttl("k") == 2'000);
    BOOST_TEST(at.fields() == 1);
    BOOST_TEST(is(at.renew("a", "3000"), 1));
    BOOST_TEST(at.pttl("k") == 3'000);
}

BOOST_DATA_TEST_CASE(an_extension_is_of_its_own_and_takes_nothing, each_place(), where)
{
    plain at{where};
    BOOST_TEST(is(at.extend("a", "2", "3000"), 0));
    BOOST_TEST(!at.exists("k"));
    at.acquire("a");
    BOOST_TEST(is(at.extend("b", "2", "9000"), 0));
    BOOST_TEST(at.fields() == 1);
    BOOST_TEST(at.pttl("k") == 3'000);
    BOOST_TEST(is(at.extend("a", "2", "5000"), 1));
    BOOST_TEST(at.ask("HGET", "k", "a").text == "2");
    BOOST_TEST(at.pttl("k") == 5'000);
}

BOOST_DATA_TEST_CASE(without_memory_renewals_and_releases_go_on, each_place(), where)
{
    plain at{where};
    at.acquire("a");
    at.extend("a", "2", "3000");
    at.without_memory([&] {
        BOOST_TEST(is_error(at.acquire("a")));
        BOOST_TEST(is(at.renew("a", "4000"), 1));
        BOOST_TEST(is(at.extend("a", "1", "5000"), 1));
        BOOST_TEST(at.ask("HGET", "k", "a").text == "1");
        BOOST_TEST(at.pttl("k") == 5'000);
        BOOST_TEST(is(at.release("a"), 1));
    });
}

BOOST_DATA_TEST_CASE(a_force_takes_it_away_and_tells, each_place(), where)
{
    plain at{where};
    auto const force = [&] { return at.run(scripts::force, {"k"}, {plain::channel, mailboxes}); };
    BOOST_TEST(is(force(), 0));
    BOOST_TEST(at.heard().empty());
    at.acquire("a");
    BOOST_TEST(is(force(), 1));
    BOOST_TEST(!at.exists("k"));
    BOOST_TEST(at.heard() == "redisson_lock__channel:{k}=0");
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(force()));
    BOOST_TEST(at.heard().empty());
}

// Redisson and older versions have no mailbox.
BOOST_DATA_TEST_CASE(a_force_tells_the_holder_by_its_mailbox, each_place(), where)
{
    plain at{where};
    at.listen(mailbox_of(newer(7)));
    for (auto const& holder : {ours(7), newer(7)}) {
        at.acquire(holder);
        BOOST_TEST(is(at.run(scripts::force, {"k"}, {plain::channel, mailboxes}), 1));
        auto const letter = holder == newer(7) ? letter_to(holder, "k") + ' ' : std::string{};
        BOOST_TEST(at.heard() == letter + plain::channel + "=0");
    }
}

BOOST_DATA_TEST_CASE(a_look_sees_what_is_there, each_place(), where)
{
    plain at{where};
    auto const looked = [&](std::string const& key) {
        return decide::read_inspect(at.run(scripts::inspect, {key}, {}));
    };
    BOOST_TEST((looked("k").well_formed && !looked("k").locked));
    at.acquire("a");
    BOOST_TEST(looked("k").pttl == 3'000);
    BOOST_TEST((looked("k").locked && !looked("k").is_read && !looked("k").is_written));
    strings many{"HSET", "r", "mode", "read"};
    for (int i = 0; i != 10'000; ++i)
        many.insert(many.end(), {text(i), "1"});
    at.command(many);
    auto const read = looked("r");
    BOOST_TEST((read.well_formed && read.locked && read.is_read && !read.is_written));
    BOOST_TEST(is(at.run(scripts::inspect, {"r"}, {}).items.at(2), 10'001));
    at.ask("SET", "text", "text");
    BOOST_TEST(is_wrong_type(at.run(scripts::inspect, {"text"}, {})));
}

BOOST_DATA_TEST_CASE(what_is_free_soon_is_said, each_place(), where)
{
    plain at{where};
    auto const expiring = [&](std::string const& limit) {
        std::string all;
        for (auto const& each : at.run_many(scripts::expiring, {"k", "l"}, {limit, "", ""}))
            all += text(each.number) + ' ';
        return all;
    };
    at.acquire("a");
    BOOST_TEST(expiring("3000") == "2 -2 ");
    BOOST_TEST(expiring("3001") == "1 3000 2 -2 ");
}

/// Draws blocks of tokens.
struct drawn_blocks : plain {
    using plain::plain;

    /// The last token of so many, below 0 if there was only one.
    std::int64_t draw(std::int64_t tokens = 64)
    {
        auto const got =
            run(scripts::acquire, {"k", "counter"}, {"clock", "a", "30000", text(tokens), ""});
        release("a");
        BOOST_TEST(get("counter") == text(std::abs(got.number)));
        return got.number;
    }
};

BOOST_DATA_TEST_CASE(tokens_follow_the_clock, each_place(), where)
{
    drawn_blocks at{where};
    BOOST_TEST(at.draw() == at.begin + 63);
    at.pass(10);
    BOOST_TEST(at.draw() == at.begin + 127);
    at.pass(1);
    BOOST_TEST(at.draw() == at.now() + 63);
    at.ask("DEL", "counter");
    at.pass(1);
    BOOST_TEST(at.draw() == at.now() + 63);
    // The clock was ahead and is set right.
    auto const ahead = at.now() + 20'000'000;
    at.ask("SET", "counter", text(ahead));
    BOOST_TEST(at.draw(1) == ahead + 1);
    at.pass(20'020);
    BOOST_TEST(at.draw(1) == at.now());
}

// The largest block, as soon as the clock has passed the last token.
BOOST_DATA_TEST_CASE(no_block_reaches_below_a_token_of_a_lost_counter, each_place(), where)
{
    drawn_blocks at{where};
    auto const lost = at.draw(1);
    at.pass(1);
    at.ask("DEL", "counter");
    BOOST_TEST(at.draw(4'096) - 4'096 >= lost);
    BOOST_TEST(at.draw(4'096) < 0);  // and no other one follows before the clock
}

// However often they draw: the clock has to pass every token before the counter may be lost.
BOOST_DATA_TEST_CASE(no_block_takes_a_counter_further_ahead, each_place(), where)
{
    drawn_blocks at{where};
    BOOST_TEST(at.draw(1) == at.begin);
    BOOST_TEST(at.draw() == at.begin + 64);
    BOOST_TEST(at.draw() == -(at.begin + 65));
    BOOST_TEST(at.draw() == -(at.begin + 66));
    BOOST_TEST(at.draw(1) == at.begin + 67);
    at.pass(1);
    BOOST_TEST(at.draw() == at.begin + 67 + 64);
}

// A replica that was behind takes over, under a link that knows nothing of it: a proxy keeps that
// one, or a server that was the primary before.
BOOST_DATA_TEST_CASE(tokens_rise_through_a_failover_that_no_link_notices, each_place(), where)
{
    drawn_blocks at{where};
    auto const replicated = at.draw();
    at.pass(5);
    auto const lost = at.draw();
    BOOST_TEST(lost > replicated);
    at.ask("SET", "counter", text(replicated));
    at.pass(20);
    BOOST_TEST(at.draw() - 64 >= lost);
}

BOOST_DATA_TEST_CASE(a_counter_is_raised_while_the_lock_is_held, each_place(), where)
{
    plain at{where};
    auto const raise = [&](std::string const& who, std::int64_t token) {
        auto const got = at.run(scripts::raise, {"k", "counter"}, {who, text(token)});
        return got.what == reply::kind::list ? got.items.at(0).number : got.number;
    };
    at.acquire("a");
    at.pass(5);
    BOOST_TEST(raise("a", at.begin + 3'000) == at.begin + 3'000);
    BOOST_TEST(at.get("counter") == text(at.begin + 3'000));
    BOOST_TEST(raise("a", at.begin + 1'000) == at.begin + 3'000);  // it never falls
    BOOST_TEST(raise("b", at.now()) == 0);
    BOOST_TEST(raise("a", at.now() + 7'000) == -7'000);  // the clock is behind
    BOOST_TEST(at.get("counter") == text(at.begin + 3'000));
    BOOST_TEST(raise("a", 0) == at.begin + 3'000);
    at.ask("DEL", "counter");
    BOOST_TEST(raise("a", 0) == 1);
    BOOST_TEST(!at.exists("counter"));
    auto const up = at.run(scripts::raise, {"k", "counter"}, {"a", "0"}).items.at(1).number;
    BOOST_TEST(up >= 0);
    at.ask("SET", "text", "text");
    BOOST_TEST(is(at.run(scripts::raise, {"text", "counter"}, {"a", "1"}).items.at(0), 0));
}

// The scripts with Redisson's counter, which follows no clock.
BOOST_DATA_TEST_CASE(the_counter_is_redissons, each_place(), where)
{
    plain at{where};
    auto const counter = decide::token_counter("k");
    BOOST_TEST(counter == "redisson_lock_token:{k}");
    auto const acquire = [&](std::string const& who) {
        return at.run(scripts::acquire, {"k", counter}, {"redisson", who, "30000", "1", ""});
    };
    BOOST_TEST(is(acquire("a"), 1));
    BOOST_TEST(at.get(counter) == "1");
    BOOST_TEST(at.pttl(counter) == -1);
    BOOST_TEST(refusal(acquire("b")) == 30'000);
    at.extend("a", "2", "30000");
    BOOST_TEST(at.get(counter) == "1");  // re-entry takes none
    at.release("a");
    at.ask("INCR", counter);  // Redisson takes it in between
    BOOST_TEST(is(acquire("b"), 3));
    at.release("b");
    at.ask("PEXPIRE", counter, "60000");  // Redisson's MultiLock with a lease
    BOOST_TEST(is(acquire("a"), 4));
    BOOST_TEST(at.pttl(counter) == -1);
    BOOST_TEST(at.get(counter) == "4");
    at.release("a");
    at.ask("DEL", counter);  // they begin again
    BOOST_TEST(is(acquire("a"), 1));
    at.release("a");
    BOOST_TEST(at.keys() == counter);
    at.ask("SET", counter, "text");
    BOOST_TEST(is_error(acquire("a")));
    BOOST_TEST(at.keys() == counter);
}

BOOST_DATA_TEST_CASE(a_claim_moves_the_lock, each_place(), where)
{
    plain at{where};
    auto const adopt = [&](std::string const& from, std::string const& to) {
        return at.run(scripts::adopt, {"k", "counter"}, {"clock", from, to, "9000"});
    };
    BOOST_TEST(refusal(adopt("a", "b")) == -2);
    at.acquire("a");
    for (int const n : {1, 2}) {  // a repeat finds it moved
        BOOST_TEST(is(adopt("a", "b"), at.begin + n));
        BOOST_TEST(line(at.texts("HGETALL", "k")) == "b 1");
        BOOST_TEST(at.pttl("k") == 9'000);
    }
    BOOST_TEST(refusal(adopt("a", "c")) == 9'000);
    BOOST_TEST(line(at.texts("HGETALL", "k")) == "b 1");
}

BOOST_DATA_TEST_CASE(a_leader_says_what_it_says_while_it_leads, each_place(), where)
{
    plain at{where};
    auto const read = [&] { return at.run(scripts::leader_read, {"k", "words"}, {}); };
    auto const publish = [&](std::string const& field, std::string const& words) {
        return at.run(scripts::leader_publish, {"k", "words"}, {field, "7", words, "60000"});
    };
    BOOST_TEST(is(read(), 0));
    BOOST_TEST(is(publish("a", "here"), 0));
    BOOST_TEST(at.keys().empty());
    at.acquire("a");
    BOOST_TEST(is(read(), 1));
    for (int i = 0; i != 2; ++i)
        BOOST_TEST(is(publish("a", "here"), 1));
    BOOST_TEST(at.pttl("words") == 60'000);
    BOOST_TEST_REQUIRE(read().items.size() == 2U);
    BOOST_TEST(is(read().items[0], 7));
    BOOST_TEST(read().items[1].text == "here");
    at.pass(3'001);
    BOOST_TEST(is(read(), 0));
    at.acquire("b");
    BOOST_TEST(is(read(), 1));  // the words of another
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(read()));
    BOOST_TEST(is_wrong_type(publish("a", "here")));
}

// ---- The wait list -----------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_refusal_tells_how_many_wait, each_place(), where)
{
    plain at{where};
    at.unlisten(plain::channel);
    at.listen("c");
    at.listen("s", audience::shard_channel);
    at.acquire("a");
    auto const counted = [&](scripts::script const& form, std::string const& channel) {
        auto const got = at.run(form, {"k", "counter"}, {"clock", "b", "3000", "1", channel});
        BOOST_TEST_REQUIRE(got.items.size() == 3U);
        BOOST_TEST(is(got.items[0], 3'000));
        return got.items[1].number;
    };
    BOOST_TEST(counted(scripts::acquire, ":c") == 1);
    BOOST_TEST(counted(scripts::acquire, ":s") == 0);
    BOOST_TEST(counted(*scripts::acquire.sharded, ":c") == 0);
    BOOST_TEST(counted(*scripts::acquire.sharded, ":s") == 1);
    BOOST_TEST(counted(*scripts::acquire.both, ":c") == 1);
    BOOST_TEST(counted(*scripts::acquire.both, ":s") == 1);
}

BOOST_DATA_TEST_CASE(a_release_of_many_tells_the_first_of_the_list, each_place(), where)
{
    plain at{where};
    strings const keys{"1", "2", "3", "4", "5", "6"};
    strings arguments;
    for (std::size_t i = 0; i != keys.size(); ++i)
        arguments.insert(arguments.end(), {"a", plain::channel, plain::list, ""});
    at.listen("redisson_lock__channel:{k}:w");
    for (bool const waits : {false, true}) {
        for (auto const& key : keys)
            at.ask("HSET", key, "a", "1");
        if (waits)
            at.ask("RPUSH", plain::list, "w");
        BOOST_TEST(at.run_many(scripts::release, keys, arguments).size() == keys.size());
        bool const is_told = at.heard().find("{k}:w=1") != std::string::npos;
        BOOST_TEST(is_told == waits);
    }
}

// The release of a client of an earlier version, or of Redisson, tells no list.
BOOST_DATA_TEST_CASE(a_refusal_says_who_is_told_and_who_is_first, each_place(), where)
{
    plain at{where};
    for (bool const knows_lists : {false, true}) {
        auto holder = ours(1);
        holder[14] = knows_lists ? '9' : '4';
        at.ask("DEL", "k", plain::list);
        at.acquire(holder);
        auto const sum = [&](std::string const& who, std::string const& place) {
            return at.acquire_or_wait(who, place).items.at(2).number - (knows_lists ? 2 : 0);
        };
        BOOST_TEST(sum("a", "") == 0);
        BOOST_TEST(sum("a", "last") == 5);
        BOOST_TEST(sum("b", "last") == 1);
        BOOST_TEST(sum("b", "check") == 1);
        BOOST_TEST(sum("a", "check") == 5);
        BOOST_TEST(sum("c", "first") == 5);
        BOOST_TEST(line(at.texts("LRANGE", plain::list, "0", "-1")) == "c a b");
        at.ask("DEL", "k");
        BOOST_TEST(is(at.acquire_or_wait("a", "check"), 0));  // untold: it leaves the list
        BOOST_TEST(line(at.texts("LRANGE", plain::list, "0", "-1")) == "c b");
    }
}

// A key that an element leaves or joins keeps the time that it has left.
BOOST_DATA_TEST_CASE(a_list_that_clients_take_turns_in_lives_on, each_place(), where)
{
    plain at{where};
    std::string const clients[]{"a", "b", "c"};
    for (auto const& each : clients)
        at.listen(std::string{plain::channel} + ':' + each);
    at.acquire("a");
    for (auto const* const each : {"b", "c"})
        at.acquire_or_wait(each, "last");
    for (std::size_t i = 0; i != 700; ++i) {
        at.pass(200);
        auto const& from = clients[i % 3];
        at.release(from, from);
        BOOST_TEST_REQUIRE(at.length() == 2, "after " << i << " turns");
        BOOST_TEST_REQUIRE(is(at.acquire_or_wait(clients[(i + 1) % 3], "first"), 0));
    }
}

BOOST_DATA_TEST_CASE(a_list_that_a_client_finds_itself_in_lives_on, each_place(), where)
{
    plain at{where};
    at.acquire("a", "600000");
    at.acquire_or_wait("b", "last");
    for (int i = 0; i != 12; ++i) {
        at.pass(20'000);
        auto const got = at.acquire_or_wait("b", "check");
        BOOST_TEST_REQUIRE(got.items.size() == 3U);
        BOOST_TEST(is(got.items[1], 0));  // it has not joined again
    }
}

// Whatever was left when the client asked for the first time.
BOOST_DATA_TEST_CASE(a_list_lives_on_if_its_client_asks_as_seldom_as_it_may, each_place(), where)
{
    plain at{where};
    auto const seldom = decide::longest_unkept.count();
    for (auto first = std::int64_t{1}; first < seldom; first += 499) {
        at.ask("DEL", "k", plain::list);
        at.acquire("a", "600000");
        at.acquire_or_wait("b", "last");
        auto const named = 4 * seldom;  // see `decide::list_unnamed`
        for (auto const pause : {first, named, named, named}) {
            at.pass(pause + 5'000);  // the server was slow
            at.run_many(scripts::expiring, {"k"}, {"30000", "b:colock_wait:{k}"});
            BOOST_TEST_REQUIRE(at.exists(plain::list), "first asked for after " << first << " ms");
        }
    }
}

// Where no release comes for weeks, nothing else removes the entries of clients that have died.
BOOST_DATA_TEST_CASE(joining_a_long_list_takes_out_the_dead_behind_the_first, each_place(), where)
{
    plain at{where};
    at.listen("redisson_lock__channel:{k}:alive");
    at.acquire("a", "600000");
    at.ask("RPUSH", plain::list, "first", "dead", "dead", "dead", "alive");
    for (int i = 0; i != 59; ++i)
        at.acquire_or_wait("waiter" + text(i), "last");
    BOOST_TEST(at.length() == 64);
    at.acquire_or_wait("x", "last");
    BOOST_TEST(at.length() == 63);
    at.acquire_or_wait("y", "last");
    BOOST_TEST(at.length() == 64);
    for (auto const* who : {"z", "v", "w"})
        at.acquire_or_wait(who, "last");
    BOOST_TEST(at.ask("LINDEX", plain::list, "0").text == "first");
    BOOST_TEST(at.ask("LINDEX", plain::list, "1").text == "alive");
    BOOST_TEST(at.length() == 66);
}

// As after a crash of a whole fleet that waited for one name.
BOOST_DATA_TEST_CASE(a_release_passes_hundreds_of_dead_clients_over, each_place(), where)
{
    plain at{where};
    at.listen("redisson_lock__channel:{k}:b");
    at.acquire("a");
    strings all{"RPUSH", plain::list};
    for (int n = 0; n != 1'000; ++n)
        all.push_back("dead" + text(n));
    all.push_back("b");
    at.command(all);
    at.release("a");
    BOOST_TEST(at.heard() == "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:b=1");
    BOOST_TEST(!at.exists(plain::list));
}

BOOST_DATA_TEST_CASE(a_leave_that_is_refused_says_so, each_server(), kind)
{
    plain at{{kind}};
    auto const leave = [&] { return at.run(scripts::leave, {"k"}, {plain::channel, "a"}); };
    at.ask("RPUSH", plain::list, "a");
    at.ask("CONFIG", "SET", "min-replicas-to-write", "1");
    BOOST_TEST(is_error(leave()));
    at.ask("CONFIG", "SET", "min-replicas-to-write", "0");
    BOOST_TEST(is(leave(), 1));
    BOOST_TEST(is(leave(), 0));
    BOOST_TEST(!at.exists(plain::list));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
