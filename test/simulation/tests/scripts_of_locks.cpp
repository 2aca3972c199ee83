// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of plain locks promises.
#include "decide/reply.hpp"
#include "simulation/tests/script_bench.hpp"

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <utility>

namespace colock::simulation {

namespace {

/// The lock `k`, to whose channel somebody listens.
struct plain : script_bench {
    explicit plain(script_place where) : script_bench{where} { listen(channel); }

    reply acquire(std::string const& field, std::string const& lease = "3000")
    {
        return run(scripts::acquire, {"k", "counter"}, {"clock", field, lease, "1", "", "", ""});
    }
    /// Without a token, by one that may wait; `since`: "" if it takes no place.
    reply wait(std::string const& field, std::string const& since = "0")
    {
        return run(scripts::acquire, {"k"}, {"", field, "3000", "1", list, mailboxes, since});
    }
    reply release(std::string const& field, std::string const& joins = "")
    {
        return run(scripts::release, {"k"}, {mailboxes, field, channel, list, joins});
    }
    /// Of one lock for which a client waits; `sum` as in look.lua. In how many ms it asks.
    std::optional<std::int64_t> look(
        std::string const& entry, std::string const& sum = "0", std::string const& limit = "1000"
    )
    {
        auto const got = run_many(scripts::look, {"k"}, {limit, mailboxes, list, entry, sum});
        BOOST_TEST_REQUIRE((got.empty() || got.size() == 2U));
        return got.empty() ? std::nullopt : std::optional{got[1].number};
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
    std::string entries() { return line(texts("ZRANGE", list, "0", "-1")); }
    void join(std::initializer_list<std::string> all)
    {
        for (auto const& each : all) {
            wait(each);
            set_clock(now() + 1);
        }
    }
    /// Whose turn was told since, and `*` for all that listen to the lock's channel.
    std::string told()
    {
        std::istringstream words{heard()};
        std::string all;
        for (std::string each; words >> each;)
            if (each.starts_with(mailbox_names))
                all += ' ' + each.substr(mailbox_names.size());
            else if (each.starts_with(channel))
                all += '*';
        return all;
    }
    void listen_as(std::initializer_list<std::string> all)
    {
        for (auto const& client : all)
            listen(mailbox_names + client);
    }
    /// The numbers of a refusal but the first.
    static std::string refused(reply const& got)
    {
        return got.items.size() == 3U ? text(got.items[1].number) + ' ' + text(got.items[2].number)
                                      : "granted";
    }

    static constexpr auto channel = "redisson_lock__channel:{k}", list = "colock_wait:{k}:turns";
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
        arguments.insert(arguments.end(), {field, "3000", "1", "", "", ""});
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
    auto const force = [&] {
        return at.run(scripts::force, {"k"}, {plain::channel, plain::list, mailboxes});
    };
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
        BOOST_TEST(is(at.run(scripts::force, {"k"}, {plain::channel, plain::list, mailboxes}), 1));
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

/// Draws blocks of tokens.
struct drawn_blocks : plain {
    using plain::plain;

    /// The last token of so many, below 0 if there was only one.
    std::int64_t draw(std::int64_t tokens = 64)
    {
        auto const got = run(
            scripts::acquire, {"k", "counter"}, {"clock", "a", "30000", text(tokens), "", "", ""}
        );
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
        return at.run(
            scripts::acquire, {"k", counter}, {"redisson", who, "30000", "1", "", "", ""}
        );
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

BOOST_DATA_TEST_CASE(whoever_is_refused_stands_in_the_list, each_place(), where)
{
    plain at{where};
    at.acquire(newer(1));
    auto const since_a = text(at.now());
    BOOST_TEST(at.refused(at.wait("a:1")) == since_a + " 3");
    at.pass(1);
    auto const since_b = text(at.now());
    BOOST_TEST(at.refused(at.wait("b:2")) == since_b + " 1");
    at.pass(1);
    BOOST_TEST(at.refused(at.wait("b:2", since_b)) == since_b + " 1");
    BOOST_TEST(at.refused(at.wait("a:1", "0")) == since_a + " 3");  // the answer was lost
    BOOST_TEST(at.refused(at.wait("x:1", "")) == "0 0");
    BOOST_TEST(at.entries() == "a:1 b:2");
    BOOST_TEST(at.pttl(plain::list) == 600'000);
    at.ask("DEL", plain::list);  // lost: they come back in the order of before
    BOOST_TEST(at.refused(at.wait("b:2", since_b)) == since_b + " 3");
    BOOST_TEST(at.refused(at.wait("a:1", since_a)) == since_a + " 3");
    BOOST_TEST(at.entries() == "a:1 b:2");
}

BOOST_DATA_TEST_CASE(without_memory_who_stands_keeps_its_place, each_place(), where)
{
    plain at{where};
    at.acquire(newer(1));
    auto const since = text(at.now());
    at.wait("a:1");
    at.pass(1);
    at.without_memory([&] {
        BOOST_TEST(at.refused(at.wait("a:1", since)) == since + " 3");
        BOOST_TEST(at.refused(at.wait("a:1")) == since + " 3");  // the answer was lost
        BOOST_TEST(at.refused(at.wait("b:2")) == "0 0");
    });
}

BOOST_DATA_TEST_CASE(a_refusal_says_whether_the_holder_is_foreign, each_place(), where)
{
    plain at{where};
    for (auto const& [holder, sum] : {std::pair{newer(1), "3"}, {ours(1), "7"}, {java(1), "7"}}) {
        at.ask("DEL", "k", plain::list);
        at.acquire(holder);
        BOOST_TEST(at.refused(at.wait("a:1")) == text(at.now()) + ' ' + sum);
    }
}

BOOST_DATA_TEST_CASE(a_release_tells_the_first_alone, each_place(), where)
{
    plain at{where};
    at.listen_as({"a", "b"});
    at.acquire(newer(1));
    at.join({"a:17", "b:2"});
    BOOST_TEST(at.release(newer(1)).items.at(0).number == 1);
    BOOST_TEST(
        at.heard() ==
        "redisson_lock__channel:{k}=0 redisson_lock__channel:{colock}:mailbox:a turn 17 1=k"
    );
    BOOST_TEST(is(at.wait("a:17"), 0));
    BOOST_TEST(at.entries() == "b:2");
    BOOST_TEST(is(at.wait("a:17"), 0));  // a repeat
    at.release("a:17");
    BOOST_TEST(at.told() == "* b");
    BOOST_TEST(is_gone(at.release("a:17")));
    BOOST_TEST(at.told().empty());
    BOOST_TEST(is(at.wait("b:2"), 0));
    BOOST_TEST(!at.exists(plain::list));
}

BOOST_DATA_TEST_CASE(a_turn_is_kept_for_a_tenth_of_a_second, each_place(), where)
{
    plain at{where};
    at.listen_as({"a", "b"});
    at.acquire(newer(1));
    at.join({"a:1"});
    at.release(newer(1));
    auto const behind = at.wait("b:1");
    BOOST_TEST(is(behind.items.at(0), 100));
    BOOST_TEST(at.refused(behind) == text(at.now()) + " 3");
    at.pass(40);
    BOOST_TEST(is(at.wait("b:1").items.at(0), 60));
    at.pass(60);
    BOOST_TEST(is(at.wait("b:1"), 0));
    BOOST_TEST(at.refused(at.wait("a:1", text(at.begin))) == text(at.begin) + " 7");
    at.release("b:1");
    BOOST_TEST(at.told() == "* a* a");
}

// Single tries, and clients that nobody could tell.
BOOST_DATA_TEST_CASE(who_takes_no_place_takes_what_is_free, each_place(), where)
{
    plain at{where};
    at.listen_as({"a"});
    at.acquire(newer(1));
    at.join({"a:1"});
    at.release(newer(1));
    BOOST_TEST(is(at.wait(newer(2), ""), 0));
    BOOST_TEST(at.refused(at.wait("a:1", text(at.begin))) == text(at.begin) + " 3");  // in vain
    BOOST_TEST(is(at.release(newer(2)).items.at(0), 1));
    BOOST_TEST(at.told() == "* a* a");
}

BOOST_DATA_TEST_CASE(a_clock_that_was_ahead_keeps_no_turn, each_place(), where)
{
    plain at{where};
    at.ask("ZADD", plain::list, text(-at.now() - 100'001), "a:1");
    BOOST_TEST(is(at.wait("b:1"), 0));
}

BOOST_DATA_TEST_CASE(a_release_passes_hundreds_of_dead_clients_over, each_place(), where)
{
    plain at{where};
    at.listen_as({"b"});
    at.acquire(newer(1));
    strings all{"ZADD", plain::list};
    for (int n = 0; n != 1'000; ++n)
        all.insert(all.end(), {text(at.begin + n), "dead" + text(n) + ":1"});
    all.insert(all.end(), {text(at.begin + 1'000), "no entry", text(at.begin + 1'001), "b:1"});
    at.command(all);
    at.release(newer(1));
    BOOST_TEST(at.told() == "* b");
    BOOST_TEST(at.entries() == "b:1");
}

// Who was told before may still come; who did not come is taken out.
BOOST_DATA_TEST_CASE(a_release_tells_nobody_beside_one_whose_turn_is_kept, each_place(), where)
{
    plain at{where};
    at.listen_as({"a", "b"});
    at.acquire(newer(1));
    at.join({"a:1", "b:1"});
    at.release(newer(1));
    at.wait(newer(2), "");
    BOOST_TEST(at.told() == "* a");
    BOOST_TEST(at.release(newer(2)).items.size() == 2U);
    BOOST_TEST(at.told() == "*");
    at.wait(newer(3), "");
    at.pass(100);
    at.release(newer(3));
    BOOST_TEST(at.told() == "* b");
    BOOST_TEST(at.entries() == "b:1");
}

BOOST_DATA_TEST_CASE(a_release_of_many_tells_the_first_of_each_list, each_place(), where)
{
    plain at{where};
    strings const keys{"1", "2", "3", "4", "5", "6"};
    strings arguments{mailboxes};
    for (auto const& key : keys)
        arguments.insert(arguments.end(), {"a", plain::channel, decide::wait_list(key), ""});
    at.listen_as({"w"});
    for (bool const waits : {false, true}) {
        for (auto const& key : keys)
            at.ask("HSET", key, "a", "1");
        if (waits)
            at.ask("ZADD", decide::wait_list("3"), "5", "w:1");
        BOOST_TEST(at.run_many(scripts::release, keys, arguments).size() == keys.size());
        bool const is_told = at.heard().find(":w turn 1 1=3") != std::string::npos;
        BOOST_TEST(is_told == waits);
    }
}

BOOST_DATA_TEST_CASE(a_client_with_more_waiters_joins_by_its_release, each_place(), where)
{
    plain at{where};
    at.listen_as({"a", "b"});
    at.acquire(newer(1));
    BOOST_TEST(is(at.release(newer(1), "c:2"), 1));  // nobody has the turn
    BOOST_TEST(!at.exists(plain::list));
    at.acquire(newer(1));
    at.join({"a:1", "b:1"});
    auto const got = at.release(newer(1), "c:2");
    BOOST_TEST_REQUIRE(got.items.size() == 2U);
    BOOST_TEST(is(got.items[1], at.now()));
    BOOST_TEST(at.entries() == "a:1 b:1 c:2");
    BOOST_TEST(at.refused(at.wait("c:2", "0")) == text(at.now()) + " 1");
}

// The same step gives back a hold, a grant that nobody wants, and a place.
BOOST_DATA_TEST_CASE(whoever_leaves_passes_its_turn_on, each_place(), where)
{
    plain at{where};
    at.listen_as({"a", "b", "c"});
    at.acquire(newer(1));
    at.join({"a:1", "b:1", "c:1"});
    BOOST_TEST(is_gone(at.release("c:1")));
    BOOST_TEST(is_gone(at.release("a:1")));  // the holder's release tells the next one
    BOOST_TEST(at.told().empty());
    BOOST_TEST(at.entries() == "b:1");
    at.join({"a:2"});
    at.release(newer(1));
    BOOST_TEST(at.told() == "* b");
    at.release("b:1");
    BOOST_TEST(at.told() == " a");
    // The first that stands leaves while the lock is free, and nobody has the turn.
    at.ask("DEL", plain::list);
    at.ask("ZADD", plain::list, "1", "b:1", "2", "c:1");
    at.release("b:1");
    BOOST_TEST(at.told() == " c");
    // It was granted, but nobody wants it.
    BOOST_TEST(is(at.wait("c:1"), 0));
    at.join({"a:3"});
    BOOST_TEST(at.release("c:1").items.size() == 2U);
    BOOST_TEST(at.told() == "* a");
}

BOOST_DATA_TEST_CASE(
    the_next_one_is_told_if_the_first_leaves_before_a_foreigner, each_place(), where
)
{
    plain at{where};
    at.listen_as({"b"});
    at.acquire(java(1));
    at.join({"a:1", "b:1"});
    at.release("a:1");
    BOOST_TEST(at.told() == " b");  // so that it listens
}

BOOST_DATA_TEST_CASE(a_force_tells_the_first, each_place(), where)
{
    plain at{where};
    at.listen_as({"a"});
    at.acquire(newer(1));
    at.join({"a:1"});
    at.run(scripts::force, {"k"}, {plain::channel, plain::list, mailboxes});
    BOOST_TEST(at.told() == "* a");
}

// Its first may have died, and hears nothing then.
BOOST_DATA_TEST_CASE(whoever_asks_in_vain_behind_a_foreigner_tells_the_first, each_place(), where)
{
    plain at{where};
    at.listen_as({"a"});
    at.acquire(java(1));
    at.join({"dead:1", "a:1", "b:1"});
    BOOST_TEST(at.told().empty());
    BOOST_TEST(at.refused(at.wait("b:1")).ends_with(" 5"));
    BOOST_TEST(at.told() == " a");
    BOOST_TEST(at.entries() == "a:1 b:1");
}

// In a cluster without sharded channels no node knows all that subscribe.
BOOST_DATA_TEST_CASE(where_receivers_are_not_counted_everybody_counts, each_place(), where)
{
    plain at{where};
    at.acquire(newer(1));
    at.join({"far:1", "b:1"});
    auto const got = at.run(
        scripts::release, {"k"}, {'*' + mailbox_names, newer(1), plain::channel, plain::list, ""}
    );
    BOOST_TEST(got.items.size() == 2U);
    BOOST_TEST(at.entries() == "far:1 b:1");
    BOOST_TEST(is(at.wait("b:1").items.at(0), 100));
}

// Where no release comes for weeks, nothing else removes the entries of clients that have died.
BOOST_DATA_TEST_CASE(joining_a_long_list_takes_out_the_dead_behind_the_first, each_place(), where)
{
    plain at{where};
    at.listen_as({"alive"});
    at.acquire(newer(1), "600000");
    for (auto const* const each : {"first:1", "dead:1", "dead:2", "dead:3", "alive:1"})
        at.join({each});
    for (int i = 0; i != 59; ++i)
        at.join({"waiter" + text(i) + ":1"});
    BOOST_TEST(at.members_of(plain::list) == 64);
    at.join({"x:1"});
    BOOST_TEST(at.members_of(plain::list) == 63);
    at.join({"y:1", "z:1", "v:1"});
    BOOST_TEST(at.entries().starts_with("first:1 alive:1 waiter"));
}

BOOST_DATA_TEST_CASE(where_the_list_is_of_another_type_the_lock_goes_on, each_place(), where)
{
    plain at{where};
    at.ask("SET", plain::list, "text");
    BOOST_TEST(is(at.wait(newer(1)), 0));
    BOOST_TEST(at.refused(at.wait("b:1")) == "0 0");
    BOOST_TEST(is(at.release(newer(1)), 1));
    BOOST_TEST(is(at.wait("b:1"), 0));
}

// ---- The look ----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_look_finds_what_is_free, each_place(), where)
{
    plain at{where};
    at.listen_as({"a"});
    BOOST_TEST((at.look("") == 0));
    at.acquire(newer(1));
    BOOST_TEST(!at.look(""));
    at.join({"a:1", "b:1"});
    BOOST_TEST(!at.look("a:1"));
    at.release(newer(1));
    BOOST_TEST((at.look("a:1") == 0));
    auto const rest = at.look("b:1");  // of the turn of another one
    BOOST_TEST((rest && 0 < *rest && *rest <= 100));
    at.pass(100);
    BOOST_TEST((at.look("b:1") == 0));
}

BOOST_DATA_TEST_CASE(a_look_finds_a_place_that_is_lost_or_was_told, each_place(), where)
{
    plain at{where};
    at.listen_as({"a"});
    at.acquire(newer(1));
    at.join({"a:1"});
    BOOST_TEST((at.look("b:1") == 0));
    at.release(newer(1));
    at.wait(newer(2), "");
    BOOST_TEST((at.look("a:1") == 0));
}

BOOST_DATA_TEST_CASE(a_look_says_when_a_lease_ends_to_the_first, each_place(), where)
{
    plain at{where};
    at.acquire(newer(1), "1000");
    at.join({"a:1", "b:1"});
    BOOST_TEST(!at.look("a:1"));
    at.pass(400);
    BOOST_TEST((at.look("a:1") == 600));
    BOOST_TEST(!at.look("b:1"));
    BOOST_TEST((at.look("") == 600));
    at.ask("PERSIST", "k");
    BOOST_TEST((at.look("b:1") == 0));  // the attempt finds out
}

BOOST_DATA_TEST_CASE(a_look_makes_the_first_listen_to_a_foreigner, each_place(), where)
{
    plain at{where};
    at.listen_as({"b"});
    at.acquire(java(1));
    at.join({"dead:1", "b:1", "c:1"});
    BOOST_TEST((at.look("dead:1") == 0));
    BOOST_TEST(!at.look("dead:1", "1"));  // it listens
    BOOST_TEST(at.told().empty());
    BOOST_TEST(!at.look("c:1"));
    BOOST_TEST(at.told() == " b");
    BOOST_TEST(at.entries() == "b:1 c:1");
}

BOOST_DATA_TEST_CASE(a_look_keeps_the_list_alive, each_place(), where)
{
    plain at{where};
    at.acquire(newer(1), "6000000");
    at.join({"a:1"});
    at.pass(100'000);
    at.look("a:1");
    BOOST_TEST(at.pttl(plain::list) < 500'100);
    at.look("a:1", "2");
    BOOST_TEST(at.pttl(plain::list) == 600'000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
