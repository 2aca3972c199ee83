// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The scripts of semaphores, permits and latches, each called as a link calls it: several objects
// a call, and twice. And what the plain lock's script does with the counter of its tokens.
#include "integration/script_calls.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

struct counter_calls : script_calls {
    using script_calls::script_calls;

    std::string get(std::string const& key) { return server.ask("GET", key).text; }
};

/// The same id each time, of 16 bytes with a zero among them.
inline std::string id(char last) { return std::string("\0fedcba98765432", 15) + last; }

BOOST_AUTO_TEST_SUITE(counter_scripts)

BOOST_DATA_TEST_CASE(permits_are_taken_once_for_a_number, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("MSET", "a", "3", "b", "1", "d", "text");
    redis.server.ask("HSET", "e", "f", "1");
    for (int i = 0; i != 2; ++i) {
        auto const got = redis.run(
            scripts::semaphore_acquire,
            {"a", "ra", "b", "rb", "c", "rc", "d", "rd", "e", "re"},
            {"2",  "7", "5000", ":c", "",     "2",  "7", "5000", ":c", "",     "1",  "7", "5000",
             ":c", "",  "1",    "7",  "5000", ":c", "",  "1",    "7",  "5000", ":c", ""}
        );
        BOOST_REQUIRE(got.size() == 5U);
        BOOST_TEST(got[0].number == 1);
        BOOST_TEST(got[1].items.at(0).number == 1);  // too few
        BOOST_TEST(got[2].items.at(0).number == 0);  // not there
        BOOST_TEST(got[3].text.rfind("WRONGTYPE", 0) == 0U);
        BOOST_TEST(got[4].text.rfind("WRONGTYPE", 0) == 0U);
        BOOST_TEST(redis.get("a") == "1");
    }
    BOOST_TEST(redis.get("ra") == "7");
    BOOST_TEST(redis.server.ask("PTTL", "ra").number > 4'000);
    BOOST_TEST(!exists(redis.server, "rb"));
}

BOOST_DATA_TEST_CASE(what_was_taken_is_undone_once_and_never_taken_later, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "a", "3");
    redis.run(scripts::semaphore_acquire, {"a", "ra"}, {"2", "7", "5000", ":c", ""});
    auto got = redis.run(scripts::semaphore_undo, {"a", "ra"}, {"7", "8", "2", "5000", "c"});
    BOOST_TEST(got.at(0).number == 1);
    BOOST_TEST(redis.get("a") == "3");
    got = redis.run(scripts::semaphore_undo, {"a", "ra"}, {"7", "8", "2", "5000", "c"});
    BOOST_TEST(got.at(0).number == 0);
    BOOST_TEST(redis.get("a") == "3");
    // One that had not run when it was undone does not run any more.
    redis.run(scripts::semaphore_undo, {"a", "ra"}, {"9", "10", "1", "5000", "c"});
    got = redis.run(scripts::semaphore_acquire, {"a", "ra"}, {"1", "9", "5000", ":c", ""});
    BOOST_TEST((got.at(0).what == reply::kind::list));
    BOOST_TEST(redis.get("a") == "3");
    // An undo that comes late does not make an earlier request the last one.
    redis.run(scripts::semaphore_acquire, {"a", "ra"}, {"1", "12", "5000", ":c", ""});
    redis.run(scripts::semaphore_undo, {"a", "ra"}, {"9", "10", "1", "5000", "c"});
    BOOST_TEST(redis.get("a") == "2");
    BOOST_TEST(redis.get("ra") == "12");
}

BOOST_DATA_TEST_CASE(each_change_is_made_once, each_server(), kind)
{
    counter_calls redis{kind};
    auto const twice = [&](scripts::script const& what,
                           std::string const& amount,
                           std::string const& number,
                           std::int64_t result,
                           std::string const& then) {
        for (int i = 0; i != 2; ++i) {
            auto const got = redis.run(what, {"a", "ra"}, {amount, number, "5000", "channel"});
            BOOST_TEST(got.at(0).number == result, what.name << " " << got.at(0).text);
            BOOST_TEST(redis.get("a") == then);
        }
    };
    twice(scripts::semaphore_set, "5", "1", 1, "5");
    twice(scripts::semaphore_set, "6", "2", 0, "5");
    twice(scripts::semaphore_release, "2", "3", 7, "7");
    twice(scripts::semaphore_drain, "0", "4", 7, "0");
    twice(scripts::semaphore_release, "1", "5", 1, "1");
    redis.server.ask("DEL", "a");
    twice(scripts::semaphore_drain, "0", "6", 0, "");
    twice(scripts::semaphore_release_existing, "1", "6", 0, "");
    twice(scripts::latch_set, "3", "7", 1, "3");
    twice(scripts::latch_set, "9", "8", 0, "3");
    twice(scripts::latch_count_down, "1", "9", 2, "2");
    twice(scripts::latch_count_down, "5", "10", 0, "");
    twice(scripts::latch_count_down, "1", "11", 0, "");
    twice(scripts::latch_set, "3", "12", 1, "3");
    twice(scripts::latch_remove, "0", "13", 1, "");
    twice(scripts::latch_remove, "0", "14", 0, "");
    twice(scripts::semaphore_set, "5:60000", "15", 1, "5");
    BOOST_TEST(redis.pttl("a") > 50'000);
    twice(scripts::semaphore_release_existing, "2", "16", 1, "7");
    twice(scripts::semaphore_release, "-9", "17", -2, "-2");
    twice(scripts::semaphore_drain, "0", "18", -2, "0");
    BOOST_TEST(redis.pttl("a") > 50'000);
    redis.server.ask("DEL", "a");
    // An older one that comes late does nothing.
    redis.run(scripts::semaphore_release, {"a", "ra"}, {"2", "3", "5000", "channel"});
    BOOST_TEST(!exists(redis.server, "a"));
}

BOOST_DATA_TEST_CASE(messages_are_redissons, each_server(), kind)
{
    counter_calls redis{kind};
    redis_cli listens{redis.server.unix_socket()};
    listens("SUBSCRIBE", "c");
    auto const next = [&] { return listens.read().items.at(2).text; };
    redis.run(scripts::semaphore_set, {"a", "r"}, {"5", "1", "5000", "c"});
    BOOST_TEST(next() == "5");
    redis.run(scripts::semaphore_release, {"a", "r"}, {"2", "2", "5000", "c"});
    BOOST_TEST(next() == "7");
    redis.run(scripts::latch_set, {"l", "r"}, {"2", "3", "5000", "c"});
    BOOST_TEST(next() == "1");
    redis.run(scripts::latch_count_down, {"l", "r"}, {"1", "4", "5000", "c"});
    redis.run(scripts::latch_count_down, {"l", "r"}, {"1", "5", "5000", "c"});
    BOOST_TEST(next() == "0");
    redis.server.ask("SET", "p", "1");
    redis.run(scripts::permit_acquire, {"p", "t"}, {id('a'), "5000", ":c", ""});
    redis.run(scripts::permit_release, {"p", "t"}, {id('a'), "c"});
    BOOST_TEST(next() == "1");
}

BOOST_DATA_TEST_CASE(permits_by_their_ids, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "p", "2");
    auto const acquire = [&](char last, std::string const& lease) {
        return redis.run(scripts::permit_acquire, {"p", "t"}, {id(last), lease, ":c", ""}).at(0);
    };
    BOOST_TEST(acquire('a', "10000").number == 1);
    BOOST_TEST(acquire('a', "20000").number == 1);  // a repeat sets the lease
    BOOST_TEST(redis.get("p") == "1");
    BOOST_TEST(acquire('b', "5000").number == 1);
    auto const refused = acquire('c', "5000");
    BOOST_REQUIRE(refused.items.size() == 3U);
    BOOST_TEST(refused.items[0].number > 4'000);
    BOOST_TEST(refused.items[0].number <= 5'000);

    auto extended =
        redis.run(scripts::permit_extend, {"t", "t"}, {id('a'), "30000", id('x'), "30000"});
    BOOST_TEST(extended.at(0).number == 1);
    BOOST_TEST(extended.at(1).number == 0);
    auto released =
        redis.run(scripts::permit_release, {"p", "t", "p", "t"}, {id('a'), "c", id('a'), "c"});
    BOOST_TEST((released.at(0).what == reply::kind::integer));
    BOOST_TEST((released.at(1).what == reply::kind::nil));
    BOOST_TEST(redis.get("p") == "1");
}

BOOST_DATA_TEST_CASE(a_repeat_whose_permits_went_in_part_takes_all_or_none, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "p", "2");
    auto const acquire = [&](std::string const& ids) {
        return redis.run(scripts::permit_acquire, {"p", "t"}, {ids, "20000", ":c", ""}).at(0);
    };
    auto const two = id('a') + id('b');
    BOOST_TEST(acquire(two).number == 1);
    // Their lease has ended, and one of them was taken back and given to somebody else.
    redis.server.ask("ZREM", "t", id('a'));
    redis.server.ask("INCR", "p");
    BOOST_TEST(acquire(id('c')).number == 1);
    BOOST_TEST((acquire(two).what == reply::kind::list));
    BOOST_TEST(redis.get("p") == "1");
    BOOST_TEST(redis.server.ask("ZCARD", "t").number == 1);
}

BOOST_DATA_TEST_CASE(a_thousand_permits_in_one_step, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "p", "1500");
    std::string ids, few;
    for (int i = 0; i != 1'000; ++i)
        ids += std::string("fedcba98765", 11) + std::to_string(10'000 + i);
    few = ids.substr(0, 32);
    auto const acquire = [&](std::string const& some) {
        return redis.run(scripts::permit_acquire, {"p", "t"}, {some, "20000", ":c", ""}).at(0);
    };
    BOOST_TEST(acquire(ids).number == 1);
    BOOST_TEST(acquire(ids).number == 1);
    BOOST_TEST(redis.get("p") == "500");
    BOOST_TEST(redis.server.ask("ZCARD", "t").number == 1'000);
    // A repeat that finds only some takes all of them anew.
    redis.server.ask("ZREM", "t", few.substr(0, 16));
    BOOST_TEST(acquire(ids).number == 1);
    BOOST_TEST(redis.server.ask("ZCARD", "t").number == 1'000);
    BOOST_TEST(redis.get("p") == "499");
    redis.server.ask("ZREM", "t", few.substr(0, 16));
    auto const back = [&](std::string const& some, std::string const& number) {
        return redis.run(scripts::permit_return, {"p", "r", "t"}, {some, number, "5000", "c"})
            .at(0)
            .number;
    };
    BOOST_TEST(back(few, "1") == 0);
    BOOST_TEST(back(ids.substr(16), "2") == 999);
    BOOST_TEST(back(ids.substr(16), "2") == 999);
    BOOST_TEST(redis.get("p") == "1498");
    auto const set = [&](std::string const& permits, std::string const& number) {
        return redis.run(scripts::permit_set, {"p", "r", "t"}, {permits, number, "5000", "c"})
            .at(0)
            .number;
    };
    acquire(few);
    BOOST_TEST(set("1", "3") == -1);
    BOOST_TEST(set("9", "3") == -1);
    redis.run(scripts::permit_release, {"p", "t"}, {ids.substr(0, 48), "c"});  // one is not out
    BOOST_TEST(redis.get("p") == "1");
}

BOOST_DATA_TEST_CASE(a_permit_is_kept_and_given_back_under_full_memory, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "p", "2");
    redis.run(scripts::permit_acquire, {"p", "t"}, {id('a'), "10000", ":c", ""});
    redis.server.ask("CONFIG", "SET", "maxmemory", "1");
    auto const refused =
        redis.run(scripts::permit_acquire, {"p", "t"}, {id('b'), "10000", ":c", ""});
    auto const extended = redis.run(scripts::permit_extend, {"t"}, {id('a'), "90000"});
    auto const released = redis.run(scripts::permit_release, {"p", "t"}, {id('a'), "c"});
    redis.server.ask("CONFIG", "SET", "maxmemory", "0");
    BOOST_TEST_REQUIRE(refused.size() == 1U);
    BOOST_TEST(is_error(refused[0]));  // for all
    BOOST_TEST_REQUIRE(extended.size() == 1U);
    BOOST_TEST(extended[0].number == 1);
    BOOST_TEST_REQUIRE(released.size() == 1U);
    BOOST_TEST((released[0].what == reply::kind::integer));
    BOOST_TEST(redis.get("p") == "2");
    BOOST_TEST(!exists(redis.server, "t"));
}

BOOST_DATA_TEST_CASE(what_is_no_semaphore_has_no_permits, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("MSET", "p", "text", "q", "1");
    redis.server.ask("ZADD", "t", "1000", "old");
    auto const got = redis.run(
        scripts::permit_acquire,
        {"p", "t", "q", "u"},
        {id('a'), "5000", ":c", "", id('b'), "5000", ":c", ""}
    );
    BOOST_TEST_REQUIRE(got.size() == 2U);
    BOOST_TEST(got[0].text.rfind("WRONGTYPE", 0) == 0U);
    BOOST_TEST(got[1].number == 1);
    BOOST_TEST(redis.server.ask("ZCARD", "t").number == 1);  // nothing was taken on the way
}

BOOST_DATA_TEST_CASE(permits_whose_lease_has_ended_come_back, each_server(), kind)
{
    counter_calls redis{kind};
    redis.server.ask("SET", "p", "0");
    for (int i = 0; i != 1'500; ++i)  // more than one step takes
        redis.server.ask("ZADD", "t", std::to_string(1'000 + i), "old" + std::to_string(i));
    redis.server.ask("ZADD", "t", "922337203685477", "never");
    auto const counted = redis.run(scripts::permit_count, {"p", "t"}, {}).at(0);
    BOOST_TEST_REQUIRE(counted.items.size() == 2U);
    BOOST_TEST(counted.items[0].number == 1'500);
    BOOST_TEST(counted.items[1].number == 1);
    BOOST_TEST(redis.run(scripts::permit_extend, {"t"}, {"old7", "5000"}).at(0).number == 0);
    BOOST_TEST(
        redis.run(scripts::permit_acquire, {"p", "t"}, {id('a'), "5000", ":c", ""}).at(0).number ==
        1
    );
    BOOST_TEST(redis.get("p") == "999");
    BOOST_TEST(
        redis.run(scripts::permit_acquire, {"p", "t"}, {id('b'), "5000", ":c", ""}).at(0).number ==
        1
    );
    BOOST_TEST(redis.get("p") == "1498");
    // One that has ended is given back, and reported as gone.
    redis.server.ask("ZADD", "t", "1000", "late");
    auto const late = redis.run(scripts::permit_release, {"p", "t"}, {"late", "c"});
    BOOST_TEST((late.at(0).what == reply::kind::nil));
    BOOST_TEST(redis.get("p") == "1499");
    // Only those are out that never end: nothing is to be waited for but a message.
    redis.server.ask("SET", "p", "0");
    redis.server.ask("ZREM", "t", id('a'), id('b'));
    auto const refused =
        redis.run(scripts::permit_acquire, {"p", "t"}, {id('c'), "5000", ":c", ""});
    BOOST_TEST(refused.at(0).items.at(0).number == -1);
    // The leases live as long as the semaphore.
    redis.server.ask("SET", "p", "1", "PX", "60000");
    redis.run(scripts::permit_acquire, {"p", "t"}, {id('c'), "5000", ":c", ""});
    BOOST_TEST(redis.server.ask("PTTL", "t").number > 50'000);
}

BOOST_AUTO_TEST_SUITE_END()

// The plain lock's scripts with Redisson's counter, which knows no floor.
// The arguments of a release.
inline std::vector<std::string> release_of(std::string const& lock, std::string const& field)
{
    return {field, decide::lock_channel(lock), decide::wait_list(lock), ""};
}

BOOST_AUTO_TEST_SUITE(fenced_scripts)

std::string const a = ours(1), b = ours(2);

BOOST_DATA_TEST_CASE(the_counter_is_redissons, each_server(), kind)
{
    script_calls redis{kind};
    auto const counter = decide::token_counter("order:42");
    BOOST_TEST(counter == "redisson_lock_token:{order:42}");
    auto const acquire = [&](std::string const& who) {
        return redis.run(scripts::acquire, {"order:42", counter}, {"0", who, "30000", "1", ""})
            .at(0);
    };
    auto const release = [&](std::string const& who) {
        redis.run(scripts::release, {"order:42"}, release_of("order:42", who));
    };
    BOOST_TEST(acquire(a).number == 1);
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    BOOST_TEST(redis.pttl(counter) == -1);
    BOOST_TEST(refusal(acquire(b)) > 0);
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    redis.run(scripts::extend, {"order:42"}, {a, "2", "30000"});  // re-entry takes none
    BOOST_TEST(redis.server.ask("GET", counter).text == "1");
    release(a);
    redis.server.ask("INCR", counter);  // Redisson takes it in between
    BOOST_TEST(acquire(b).number == 3);
    release(b);
    redis.server.ask("PEXPIRE", counter, "60000");  // Redisson's MultiLock with a lease
    BOOST_TEST(acquire(a).number == 4);
    BOOST_TEST(redis.pttl(counter) == -1);
    BOOST_TEST(redis.server.ask("GET", counter).text == "4");
    release(a);
    redis.server.ask("DEL", counter);  // no floor: they begin again
    BOOST_TEST(acquire(a).number == 1);
    release(a);
    BOOST_TEST(redis.keys() == counter);
    redis.server.ask("SET", counter, "text");
    BOOST_TEST(is_error(acquire(a)));
    BOOST_TEST(redis.keys() == counter);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fencing_counter)

std::string const a = ours(1);

// The server's clock, or the one from which a client has its floor, was ahead and is set right.
BOOST_DATA_TEST_CASE(falls_below_nothing_that_is_known, each_server(), kind)
{
    script_calls redis{kind};
    std::int64_t const now = redis.now() * 1'000, second = 1'000'000;
    auto const draw = [&](std::int64_t floor) {
        auto const got = redis.run(
            scripts::acquire, {"order:42", "counter"}, {text(floor), a, "30000", "64", ""}
        );
        redis.run(scripts::release, {"order:42"}, release_of("order:42", a));
        BOOST_TEST(redis.server.ask("GET", "counter").text == text(got.at(0).number));
        return got.at(0).number;
    };
    BOOST_TEST(draw(now - second) > now);  // it begins by the clock
    redis.server.ask("SET", "counter", text(now + 20 * second));
    BOOST_TEST(draw(now) == now + 20 * second + 64);
    BOOST_TEST(draw(now + 40 * second) == now + 40 * second + 64);
    redis.server.ask("SET", "counter", text(now - 20 * second));
    BOOST_TEST(draw(now - 10 * second) > now);
    redis.server.ask("DEL", "counter");
    BOOST_TEST(draw(now + 40 * second) == now + 40 * second + 64);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

std::string const a = ours(1);

}  // namespace

// What all locks of one hash share.
BOOST_AUTO_TEST_SUITE(lock_scripts)

BOOST_DATA_TEST_CASE(an_inner_hold_goes_under_full_memory, each_server(), kind)
{
    script_calls redis{kind};
    redis.server.ask("HSET", "order:42", a, "2");
    redis.server.ask("PEXPIRE", "order:42", "10000");
    redis.without_memory([&] {
        auto const got = redis.run(scripts::extend, {"order:42"}, {a, "1", "30000"});
        BOOST_TEST(got.at(0).number == 1);
    });
    BOOST_TEST(redis.server.ask("HGET", "order:42", a).text == "1");
    BOOST_TEST(redis.pttl("order:42") > 20'000);
}

BOOST_DATA_TEST_CASE(a_leave_that_is_refused_says_so, each_server(), kind)
{
    script_calls redis{kind};
    std::string const channel = "redisson_lock__channel:{k}", list = "colock_wait:{k}";
    redis.server.ask("RPUSH", list, a);
    redis.without_replicas([&] {
        BOOST_TEST(is_error(redis.run(scripts::leave, {"k"}, {channel, a}).at(0)));
    });
    BOOST_TEST(redis.run(scripts::leave, {"k"}, {channel, a}).at(0).number == 1);
    BOOST_TEST(!exists(redis.server, list));
}

BOOST_DATA_TEST_CASE(a_lock_with_many_fields_is_looked_at, each_server(), kind)
{
    script_calls redis{kind};
    redis.server.ask(
        "EVAL",
        "redis.call('hset', KEYS[1], 'mode', 'read') "
        "for i = 1, 100000 do redis.call('hset', KEYS[1], 'reader:' .. i, 1) end",
        "1",
        "order:42"
    );
    auto const got = redis.run(scripts::inspect, {"order:42", "nothing"}, {});
    BOOST_TEST_REQUIRE(got.size() == 2U);
    auto const seen = decide::read_inspect(got[0]);
    BOOST_TEST((seen.well_formed && seen.locked && seen.is_read && !seen.is_written));
    auto const unseen = decide::read_inspect(got[1]);
    BOOST_TEST((unseen.well_formed && !unseen.locked && !unseen.is_read && !unseen.is_written));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
