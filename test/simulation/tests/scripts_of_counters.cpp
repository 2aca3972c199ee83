// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of semaphores, of their permits, and of latches promises.
#include "simulation/tests/script_bench.hpp"

#include <initializer_list>
#include <sstream>

namespace colock::simulation {

namespace {

/// The counter `k`, to whose channel `c` somebody listens.
struct counting : script_bench {
    explicit counting(script_place where) : script_bench{where} { listen("c"); }

    reply change(scripts::script const& by, std::string const& amount, std::string const& number)
    {
        return run(by, {"k", "changes"}, {amount, number, "5000", "c", "w", "b:"});
    }
    reply take(std::string const& permits, std::string const& number, std::string const& limit = "")
    {
        return run(
            scripts::semaphore_acquire,
            {"k", "taken"},
            {permits, number, "5000", "c", "w", "b:", "", "", limit}
        );
    }
    reply undo(std::string const& request, std::string const& number, std::string const& permits)
    {
        return run(
            scripts::semaphore_undo,
            {"k", "taken"},
            {request, number, permits, "5000", "c", "w", "b:", ""}
        );
    }
    std::string left() { return get("k"); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_of_counters)

BOOST_DATA_TEST_CASE(no_more_permits_are_out_than_there_are, each_place(), where)
{
    counting at{where};
    BOOST_TEST(refusal(at.take("1", "1")) == -1);
    BOOST_TEST(is(at.change(scripts::semaphore_set, "3", "2"), 1));
    BOOST_TEST(is(at.take("2", "3"), 1));
    BOOST_TEST(is_refused(at.take("2", "4")));
    BOOST_TEST(is(at.take("1", "5"), 1));
    BOOST_TEST(is_refused(at.take("1", "6")));
    BOOST_TEST(at.left() == "0");
    BOOST_TEST(is(at.change(scripts::semaphore_set, "9", "7"), 0));
    BOOST_TEST(at.left() == "0");
}

BOOST_DATA_TEST_CASE(each_request_takes_once, each_place(), where)
{
    counting at{where};
    at.ask("SET", "k", "5");
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is(at.take("2", "2"), 1));
        BOOST_TEST(at.left() == "3");
        BOOST_TEST(at.get("taken") == "2");
        BOOST_TEST(at.pttl("taken") == 5'000);
    }
    BOOST_TEST(is(at.take("1", "4"), 1));
    BOOST_TEST(is_refused(at.take("2", "3")));  // it was given up
    BOOST_TEST(at.left() == "2");
    at.take("9", "5");
    BOOST_TEST(at.get("taken") == "4");
    at.run(
        scripts::semaphore_acquire,
        {"k", "taken"},
        {"9", "3", "5000", "c", "w", "b:", "0", "x:3:9", ""}
    );
    BOOST_TEST(at.keys() == "k taken");  // nobody waits for it any more
}

BOOST_DATA_TEST_CASE(a_limit_makes_the_semaphore_that_does_not_exist, each_place(), where)
{
    counting at{where};
    auto const missing = at.take("2", "1");
    BOOST_TEST_REQUIRE(missing.items.size() == 3U);
    BOOST_TEST(is(missing.items[2], 8));
    BOOST_TEST(!at.exists("k"));
    BOOST_TEST(is(at.take("2", "2", "5"), 1));
    BOOST_TEST(at.left() == "3");
    BOOST_TEST(at.pttl("k") == -1);  // an ordinary number, as Redisson's
    BOOST_TEST(at.heard() == "c=3");
    BOOST_TEST(is(at.take("2", "2", "5"), 1));  // a repeat
    BOOST_TEST(is(at.take("3", "3", "5"), 1));
    BOOST_TEST(at.left() == "0");
    BOOST_TEST(at.heard().empty());
    BOOST_TEST(is_refused(at.take("1", "4", "5")));
    // Lost while permits are out: all are there again.
    at.ask("DEL", "k");
    BOOST_TEST(is(at.take("1", "5", "5"), 1));
    BOOST_TEST(at.left() == "4");
    at.ask("DEL", "k");
    BOOST_TEST(is_refused(at.take("1", "3", "5")));  // an older one
    BOOST_TEST(is_refused(at.take("6", "6", "5")));  // never enough
    BOOST_TEST(!at.exists("k"));
}

BOOST_DATA_TEST_CASE(what_is_there_wins_over_a_limit, each_place(), where)
{
    counting at{where};
    at.ask("SET", "k", "7");
    BOOST_TEST(is(at.take("1", "1", "5"), -7));
    BOOST_TEST(at.left() == "6");
    auto const refused = at.take("9", "2", "5");
    BOOST_TEST_REQUIRE(refused.items.size() == 4U);
    BOOST_TEST(is(refused.items[2], 16));
    BOOST_TEST(is(refused.items[3], 6));
    BOOST_TEST(is(at.take("2", "3", "5"), -6));
    BOOST_TEST(is(at.take("1", "4", "5"), 1));  // it could be 5 now
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(at.take("1", "5", "5")));
    BOOST_TEST(at.left() == "text");
}

BOOST_DATA_TEST_CASE(an_undo_gives_back_what_was_taken_and_bars_it, each_place(), where)
{
    counting at{where};
    at.ask("SET", "k", "5");
    at.take("2", "2");
    BOOST_TEST(is(at.undo("2", "3", "2"), 1));
    BOOST_TEST(at.heard() == "c=5");
    BOOST_TEST(is(at.undo("2", "3", "2"), 0));
    BOOST_TEST(at.left() == "5");
    BOOST_TEST(is_refused(at.take("2", "2")));  // it comes late, and takes nothing
    BOOST_TEST(is(at.undo("4", "5", "2"), 0));  // it has not come yet
    BOOST_TEST(at.left() == "5");
    BOOST_TEST(is_refused(at.take("2", "4")));
    BOOST_TEST(at.left() == "5");
    // An undo that comes late does not make an earlier request the last one.
    BOOST_TEST(is(at.take("2", "7"), 1));
    BOOST_TEST(is(at.undo("4", "5", "2"), 0));
    BOOST_TEST(at.left() == "3");
    BOOST_TEST(at.get("taken") == "7");
    at.ask("DEL", "k");
    BOOST_TEST(is(at.undo("7", "8", "2"), 0));
    BOOST_TEST(!at.exists("k"));
}

BOOST_DATA_TEST_CASE(each_change_is_made_once_and_tells, each_place(), where)
{
    counting at{where};
    int number = 0;
    auto const twice = [&](scripts::script const& what,
                           std::string const& amount,
                           std::int64_t result,
                           std::string const& then,
                           std::string const& told) {
        ++number;
        for (int i = 0; i != 2; ++i) {
            auto const got = at.change(what, amount, text(number));
            BOOST_TEST(is(got, result), what.name << " gives " << to_string(got));
            BOOST_TEST(at.left() == then);
            BOOST_TEST(at.heard() == (i == 0 ? told : ""), what.name);
        }
    };
    twice(scripts::semaphore_set, "5", 1, "5", "c=5");
    twice(scripts::semaphore_set, "6", 0, "5", "");
    twice(scripts::semaphore_release, "2", 7, "7", "c=7");
    twice(scripts::semaphore_drain, "0", 7, "0", "");
    twice(scripts::semaphore_drain, "0", 0, "0", "");
    twice(scripts::semaphore_release, "1", 1, "1", "c=1");
    at.ask("DEL", "k");
    twice(scripts::semaphore_drain, "0", 0, "", "");
    twice(scripts::semaphore_release_existing, "1", 0, "", "");
    twice(scripts::latch_set, "3", 1, "3", "c=1");
    twice(scripts::latch_set, "9", 0, "3", "");
    twice(scripts::latch_count_down, "1", 2, "2", "");
    twice(scripts::latch_count_down, "1", 1, "1", "");
    twice(scripts::latch_count_down, "5", 0, "", "c=0");
    twice(scripts::latch_count_down, "1", 0, "", "");
    twice(scripts::latch_set, "3", 1, "3", "c=1");
    twice(scripts::latch_remove, "0", 1, "", "c=0");
    twice(scripts::latch_remove, "0", 0, "", "");
    twice(scripts::semaphore_set, "5:60000", 1, "5", "c=5");
    BOOST_TEST(at.pttl("k") == 60'000);
    twice(scripts::semaphore_release_existing, "2", 1, "7", "c=7");
    twice(scripts::semaphore_release, "-9", -2, "-2", "");
    twice(scripts::semaphore_drain, "0", -2, "0", "");
    BOOST_TEST(at.pttl("k") == 60'000);
    at.ask("DEL", "k");
    // An older one that comes late does nothing.
    at.change(scripts::semaphore_release, "2", "3");
    BOOST_TEST(!at.exists("k"));
}

BOOST_DATA_TEST_CASE(counters_are_read, each_place(), where)
{
    counting at{where};
    BOOST_TEST(is(at.run(scripts::count, {"k"}, {}), 0));
    at.ask("SET", "k", "7");
    BOOST_TEST(is(at.run(scripts::count, {"k"}, {}), 7));
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(at.run(scripts::count, {"k"}, {})));
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// The permits of `k`, two at first, each with an id and a lease.
struct leasing : script_bench {
    explicit leasing(script_place where) : script_bench{where}
    {
        listen("c");
        ask("SET", "k", "2");
    }

    /// One of 16 bytes with a zero among them.
    static std::string id(char last) { return std::string("\0fedcba98765432", 15) + last; }

    reply take(
        std::string const& ids, std::string const& lease = "1000", std::string const& limit = ""
    )
    {
        return run(
            scripts::permit_acquire, {"k", "leases"}, {ids, lease, "c", "w", "b:", "", "", limit}
        );
    }
    reply give(std::string const& ids)
    {
        return run(scripts::permit_release, {"k", "leases"}, {"b:", ids, "c", "w", ""});
    }
    reply extend(std::string const& ids, std::string const& lease)
    {
        return run(scripts::permit_extend, {"leases"}, {ids, lease});
    }
    reply change(scripts::script const& by, std::string const& what, std::string const& number)
    {
        return run(by, {"k", "changes", "leases"}, {what, number, "5000", "c", "w", "b:"});
    }
    /// Those that are available, and those that are out.
    std::string count()
    {
        auto const got = run(scripts::permit_count, {"k", "leases"}, {});
        return text(got.items.at(0).number) + " " + text(got.items.at(1).number);
    }
    std::string left() { return get("k"); }
    std::int64_t out() { return members_of("leases"); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_of_permits)

std::string const a = leasing::id('a'), b = leasing::id('b'), c = leasing::id('c');

BOOST_DATA_TEST_CASE(no_more_are_out_than_there_are, each_place(), where)
{
    leasing at{where};
    BOOST_TEST(is(at.take(a), 1));
    BOOST_TEST(is(at.take(b, "1500"), 1));
    BOOST_TEST(is(at.take(b, "2000"), 1));  // a repeat sets the lease
    BOOST_TEST(at.left() == "0");
    BOOST_TEST(is_refused(at.take(c), 1'000));
    BOOST_TEST(at.count() == "0 2");
    at.pass(999);
    BOOST_TEST(refusal(at.take(c)) == 1);
    at.pass(1);
    BOOST_TEST(at.count() == "1 1");
    BOOST_TEST(is(at.take(c), 1));
    BOOST_TEST(at.heard() == "c=1");
    BOOST_TEST(refusal(at.take(a)) == 1'000);
    BOOST_TEST(at.left() == "0");
}

BOOST_DATA_TEST_CASE(a_limit_makes_the_permits_that_do_not_exist, each_place(), where)
{
    leasing at{where};
    at.ask("DEL", "k");
    auto const missing = at.take(a);
    BOOST_TEST_REQUIRE(missing.items.size() == 3U);
    BOOST_TEST(is(missing.items[2], 8));
    BOOST_TEST(!at.exists("k"));
    BOOST_TEST(is(at.take(a, "1000", "3"), 1));
    BOOST_TEST(at.heard() == "c=3");
    BOOST_TEST(at.count() == "2 1");
    BOOST_TEST(at.pttl("k") == -1);
    // Lost with permits that are out: those count still.
    at.ask("DEL", "k");
    BOOST_TEST(is_refused(at.take(b + c + leasing::id('d'), "1000", "3"), 1'000));
    BOOST_TEST(at.count() == "2 1");
    at.ask("DEL", "k");
    at.pass(1'000);
    BOOST_TEST(is(at.take(b + c, "1000", "3"), 1));
    BOOST_TEST(at.count() == "1 2");
    at.ask("DEL", "k", "leases");
    BOOST_TEST(is(at.take(a, "1000", "3"), 1));
    BOOST_TEST(at.count() == "2 1");
}

BOOST_DATA_TEST_CASE(the_permits_that_are_there_win_over_a_limit, each_place(), where)
{
    leasing at{where};
    BOOST_TEST(is(at.take(a, "1000", "3"), -2));
    BOOST_TEST(is(at.take(b, "1000", "2"), 1));
    BOOST_TEST(is(at.take(b, "1000", "3"), 1));  // a repeat
    auto const refused = at.take(c, "1000", "1");
    BOOST_TEST_REQUIRE(refused.items.size() == 4U);
    BOOST_TEST(is(refused.items[2], 16));
    BOOST_TEST(is(refused.items[3], 2));
    BOOST_TEST(is_refused(at.take(c, "1000", "2"), 1'000));
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(at.take(c, "1000", "2")));
    BOOST_TEST(at.left() == "text");
}

BOOST_DATA_TEST_CASE(what_is_given_back_comes_back_once_and_tells, each_place(), where)
{
    leasing at{where};
    at.take(a);
    BOOST_TEST(is(at.give(a), 1));
    BOOST_TEST(at.heard() == "c=2");
    BOOST_TEST(is_gone(at.give(a)));
    BOOST_TEST(at.left() == "2");
    BOOST_TEST(at.heard().empty());
    at.take(a);
    at.pass(1'000);
    BOOST_TEST(is_gone(at.give(a)));  // its lease has ended; nobody has taken it since
    BOOST_TEST(at.left() == "2");
}

BOOST_DATA_TEST_CASE(a_lease_is_extended_while_it_runs, each_place(), where)
{
    leasing at{where};
    at.take(a);
    at.pass(999);
    auto const both =
        at.run_many(scripts::permit_extend, {"leases", "leases"}, {a, "1000", b, "1000"});
    BOOST_TEST_REQUIRE(both.size() == 2U);
    BOOST_TEST((is(both[0], 1) && is(both[1], 0)));
    at.pass(999);
    BOOST_TEST(at.count() == "1 1");
    at.pass(1);
    BOOST_TEST(is(at.extend(a, "1000"), 0));
    BOOST_TEST(at.count() == "2 0");
}

BOOST_DATA_TEST_CASE(a_late_repeat_does_not_shorten_a_lease, each_place(), where)
{
    leasing at{where};
    at.take(a + b);
    at.extend(a, "9000");
    BOOST_TEST(is(at.take(a + b, "2000"), 1));
    at.pass(2'000);
    BOOST_TEST(at.count() == "1 1");
    at.pass(7'000);
    BOOST_TEST(at.count() == "2 0");
}

BOOST_DATA_TEST_CASE(a_permit_is_kept_and_given_back_under_full_memory, each_place(), where)
{
    leasing at{where};
    at.take(a);
    at.without_memory([&] {
        BOOST_TEST(is_error(at.take(b)));
        BOOST_TEST(is(at.extend(a, "9000"), 1));
        BOOST_TEST(at.count() == "1 1");
        BOOST_TEST(is(at.give(a), 1));
    });
    BOOST_TEST(at.left() == "2");
    BOOST_TEST(!at.exists("leases"));
}

BOOST_DATA_TEST_CASE(a_repeat_whose_permits_went_in_part_takes_all_or_none, each_place(), where)
{
    leasing at{where};
    BOOST_TEST(is(at.take(a + b), 1));
    // One of them was given back, and somebody else has it.
    at.ask("ZREM", "leases", a);
    at.ask("INCR", "k");
    BOOST_TEST(is(at.take(c), 1));
    BOOST_TEST(refusal(at.take(a + b)) == 1'000);
    BOOST_TEST(at.left() == "0");
    BOOST_TEST(at.out() == 2);
    at.ask("ZADD", "leases", "XX", "1", b);  // its lease has ended
    BOOST_TEST(refusal(at.take(a + b)) == 1'000);
    BOOST_TEST(at.left() == "1");
    BOOST_TEST(at.out() == 1);
}

BOOST_DATA_TEST_CASE(a_thousand_permits_in_one_step, each_place(), where)
{
    leasing at{where};
    at.ask("SET", "k", "1500");
    std::string ids;
    for (int i = 0; i != 1'000; ++i)
        ids += "fedcba98765" + text(10'000 + i);
    auto const first = ids.substr(0, 16), two = ids.substr(0, 32), rest = ids.substr(16);
    BOOST_TEST(is(at.take(ids), 1));
    BOOST_TEST(is(at.take(ids), 1));
    BOOST_TEST(at.left() == "500");
    BOOST_TEST(at.out() == 1'000);
    // A late call finds only some, and leaves all as it is.
    at.ask("ZREM", "leases", first);
    BOOST_TEST(!is(at.take(ids), 1));
    BOOST_TEST(at.out() == 999);
    BOOST_TEST(at.left() == "500");
    BOOST_TEST(is(at.change(scripts::permit_return, two, "1"), 0));
    BOOST_TEST(is(at.change(scripts::permit_return, rest, "2"), 999));
    BOOST_TEST(is(at.change(scripts::permit_return, rest, "2"), 999));
    BOOST_TEST(at.left() == "1499");
    at.take(two);
    BOOST_TEST(is(at.change(scripts::permit_set, "1", "3"), -1));
    BOOST_TEST(is(at.change(scripts::permit_set, "9", "3"), -1));
    BOOST_TEST(is_gone(at.give(ids.substr(0, 48))));  // one is not out
    BOOST_TEST(at.left() == "1");
}

BOOST_DATA_TEST_CASE(a_removed_semaphore_is_gone_with_its_permits, each_place(), where)
{
    leasing at{where};
    at.ask("DEL", "k");
    BOOST_TEST(is(at.change(scripts::permit_remove, "0", "1"), 0));
    at.ask("SET", "k", "2");
    BOOST_TEST(is(at.take(a), 1));
    BOOST_TEST(is(at.change(scripts::permit_remove, "0", "2"), 1));
    BOOST_TEST(is(at.ask("EXISTS", "k", "leases"), 0));
    at.ask("SET", "k", "3");
    BOOST_TEST(is(at.change(scripts::permit_remove, "0", "2"), 1));  // a repeat
    BOOST_TEST(at.left() == "3");
    at.ask("SET", "k", "text");
    BOOST_TEST(is_wrong_type(at.change(scripts::permit_remove, "0", "3")));
    BOOST_TEST(is(at.ask("EXISTS", "k"), 1));
}

BOOST_DATA_TEST_CASE(a_key_of_another_type_has_no_permits, each_place(), where)
{
    leasing at{where};
    at.ask("SET", "k", "text");
    at.ask("SET", "other", "1");
    at.ask("ZADD", "leases", "1000", "old");
    auto const got = at.run_many(
        scripts::permit_acquire,
        {"k", "leases", "other", "more"},
        {a, "5000", "c", "w", "b:", "", "", "", b, "5000", "c", "v", "b:", "", "", ""}
    );
    BOOST_TEST_REQUIRE(got.size() == 2U);
    BOOST_TEST(is_wrong_type(got[0]));
    BOOST_TEST(is(got[1], 1));
    BOOST_TEST(at.out() == 1);  // nothing was taken on the way
}

BOOST_DATA_TEST_CASE(permits_whose_lease_has_ended_come_back, each_place(), where)
{
    leasing at{where};
    at.ask("SET", "k", "0");
    strings old{"ZADD", "leases"};
    for (int i = 0; i != 1'500; ++i)  // more than one step takes
        old.insert(old.end(), {text(1'000 + i), "old" + text(i)});
    at.command(old);
    at.ask("ZADD", "leases", "922337203685477", "never");
    BOOST_TEST(at.count() == "1500 1");
    BOOST_TEST(is(at.extend("old7", "5000"), 0));
    BOOST_TEST(is(at.take(a), 1));
    BOOST_TEST(at.left() == "999");
    BOOST_TEST(is(at.take(b), 1));
    BOOST_TEST(at.left() == "1498");
    // Only those are out that never end: nothing is to be waited for but a message.
    at.ask("SET", "k", "0");
    at.ask("ZREM", "leases", a, b);
    BOOST_TEST(refusal(at.take(c)) == -1);
    // The leases live as long as the semaphore.
    at.ask("SET", "k", "1", "PX", "60000");
    at.take(c);
    BOOST_TEST(at.pttl("leases") == 60'000);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// Clients that wait for permits of `k` in its list, each with a mailbox. Somebody listens to the
/// semaphore's channel.
struct permit_waiters : script_bench {
    explicit permit_waiters(script_place where) : script_bench{where}
    {
        ask("SET", "k", "0");
        listen(channel);
    }
    void join(std::initializer_list<std::string> all)
    {
        for (auto const& client : all)
            take(client);
    }
    void listen_as(std::initializer_list<std::string> all)
    {
        for (auto const& client : all)
            listen(mailbox_names + client);
    }
    static std::string entry(std::string const& client, std::string const& permits)
    {
        return client + ":1" + (permits == "1" ? "" : ':' + permits);
    }

    /// `since`: "" for one that takes no place.
    reply take(
        std::string const& client,
        std::string const& permits = "1",
        std::string const& since = "0",
        std::string const& limit = ""
    )
    {
        return run(
            scripts::semaphore_acquire,
            {"k", "taken by " + client},
            {permits,
             text(++number_),
             "3600000",
             channel,
             list,
             mailboxes,
             since,
             entry(client, permits),
             limit}
        );
    }
    reply lease(
        std::string const& client,
        std::string const& id,
        std::string const& since = "0",
        std::string const& limit = ""
    )
    {
        return run(
            scripts::permit_acquire,
            {"k", "leases"},
            {id, "1000", channel, list, mailboxes, since, entry(client, "1"), limit}
        );
    }
    reply give(std::string const& permits) { return give(scripts::semaphore_release, permits); }
    reply give(scripts::script const& by, std::string const& permits)
    {
        return run(
            by, {"k", "changes"}, {permits, text(++number_), "3600000", channel, list, mailboxes}
        );
    }
    /// The end of a wait.
    reply leave(std::string const& client, std::string const& permits = "1")
    {
        return run(
            scripts::semaphore_undo,
            {"k", "taken by " + client},
            {"0",
             text(++number_),
             permits,
             "3600000",
             channel,
             list,
             mailboxes,
             entry(client, permits)}
        );
    }

    /// Who was told; `*` stands for all that listen to the semaphore's channel.
    std::string told()
    {
        std::istringstream words{heard()};
        std::string all;
        for (std::string each; words >> each;)
            if (each.starts_with(channel))
                all += '*';
            else if (each.starts_with(mailbox_names))
                all += each.substr(mailbox_names.size());
        return all;
    }
    std::string entries() { return line(texts("ZRANGE", list, "0", "-1")); }
    static bool stands(reply const& got, std::int64_t what)
    {
        return got.what == reply::kind::list && got.items.size() == 3 && is(got.items[2], what);
    }

    std::string const channel = "redisson_sc:{k}", list = decide::wait_list("k");

private:
    int number_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_of_permit_waiters)

BOOST_DATA_TEST_CASE(the_first_is_told_that_it_is, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    BOOST_TEST(at.stands(at.take("x", "1", ""), 0));
    auto const first = at.take("a");
    BOOST_TEST(at.stands(first, 3));
    BOOST_TEST(is(first.items[1], at.now()));
    at.pass(1);
    BOOST_TEST(at.stands(at.take("b", "2"), 1));
    at.pass(1);
    BOOST_TEST(at.stands(at.take("a"), 3));
    BOOST_TEST(at.stands(at.take("b", "2"), 1));
    BOOST_TEST(at.stands(at.take("c", "1", text(at.begin - 5)), 3));  // it stood there before
    BOOST_TEST(at.entries() == "c:1 a:1 b:1:2");
    BOOST_TEST(at.pttl(at.list) == 600'000);
}

BOOST_DATA_TEST_CASE(a_release_tells_those_that_can_get_in, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c", "d"});
    at.join({"a", "b", "c", "d"});
    at.give("1");
    BOOST_TEST(at.told() == "*a");
    BOOST_TEST(is(at.take("a"), 1));
    at.give("2");
    BOOST_TEST(at.told() == "*bc");
    BOOST_TEST(is(at.take("b"), 1));
    BOOST_TEST(is(at.take("c"), 1));
    BOOST_TEST(at.entries() == "d:1");
    at.give("-1");
    BOOST_TEST(at.told().empty());
}

// Those who were told and have not come yet count.
BOOST_DATA_TEST_CASE(no_more_are_told_than_can_get_in, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    at.join({"a", "b", "c"});
    at.give("1");
    at.give("1");
    BOOST_TEST(at.told() == "*a*b");
    at.ask("SET", "k", "3");
    at.give("0");
    BOOST_TEST(at.told() == "*c");
}

BOOST_DATA_TEST_CASE(what_others_were_told_of_is_theirs_for_a_while, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b"});
    at.join({"a"});
    at.give("1");
    auto const behind = at.take("b");
    BOOST_TEST(at.stands(behind, 3));
    BOOST_TEST(is(behind.items[0], 100));
    BOOST_TEST(is(at.take("x", "1", ""), 1));  // who takes no place takes what is there
    BOOST_TEST(at.stands(at.take("a", "1", text(at.begin)), 3));
    at.give("2");
    BOOST_TEST(is(at.take("b"), 1));
    BOOST_TEST(is(at.take("a"), 1));
    at.join({"a"});
    at.give("1");
    at.pass(100);
    BOOST_TEST(is(at.take("b"), 1));
}

BOOST_DATA_TEST_CASE(one_that_wants_more_keeps_its_place, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c", "d"});
    at.take("a", "3");
    at.take("b", "2");
    at.join({"c", "d"});
    at.give("1");
    BOOST_TEST(at.told() == "*c");
    BOOST_TEST(is(at.take("c"), 1));
    at.give("1");
    BOOST_TEST(at.told() == "*d");
    at.give("1");  // d has not come yet
    BOOST_TEST(at.told() == "*");
    BOOST_TEST(is(at.take("d"), 1));
    at.give("1");
    BOOST_TEST(at.told() == "*b");
    BOOST_TEST(is(at.take("b", "2"), 1));
    BOOST_TEST(at.entries() == "a:1:3");
}

BOOST_DATA_TEST_CASE(a_release_looks_past_64_that_want_more, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"near", "far"});
    for (int i = 1; i <= 64; ++i) {
        auto const big = "big" + text(10 + i);
        at.listen_as({big});
        if (i == 64)
            at.join({"near"});
        at.pass(1);
        at.take(big, "3");
        at.pass(1);
    }
    at.join({"far"});
    at.give("1");
    BOOST_TEST(at.told() == "*near");  // behind 63
    BOOST_TEST(is(at.take("near"), 1));
    at.give("1");
    BOOST_TEST(at.told() == "*");
    BOOST_TEST(at.entries().ends_with("big74:1:3 far:1"));
}

BOOST_DATA_TEST_CASE(the_dead_are_passed_over, each_place(), where)
{
    permit_waiters at{where};
    at.join({"a", "b", "c"});
    at.listen_as({"c"});
    at.give("1");
    BOOST_TEST(at.told() == "*c");
    BOOST_TEST(at.entries() == "c:1");
}

BOOST_DATA_TEST_CASE(
    one_that_gets_in_untold_gives_its_place_up_and_tells_the_next, each_place(), where
)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    at.join({"a", "b", "c"});
    at.ask("SET", "k", "1");  // by somebody who does not know the list
    BOOST_TEST(is(at.take("a"), 1));
    BOOST_TEST(at.told() == "b");  // so that it listens
    BOOST_TEST(at.stands(at.take("b", "1", text(at.begin)), 3));
    BOOST_TEST(at.entries() == "b:1 c:1");
}

BOOST_DATA_TEST_CASE(one_that_leaves_passes_its_turn_on, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    at.join({"a", "b", "c"});
    BOOST_TEST(is(at.leave("c"), 0));
    BOOST_TEST(at.told().empty());
    at.give("1");
    BOOST_TEST(at.told() == "*a");
    BOOST_TEST(is(at.leave("a"), 0));
    BOOST_TEST(at.told() == "b");
    at.leave("x");  // was never there
    BOOST_TEST(at.told().empty());
}

BOOST_DATA_TEST_CASE(the_next_one_listens_when_the_first_leaves, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b"});
    at.join({"a"});
    at.take("b", "2");
    at.leave("a");
    BOOST_TEST(at.told() == "b");
    BOOST_TEST(at.stands(at.take("b", "2"), 3));
    BOOST_TEST(at.entries() == "b:1:2");
}

BOOST_DATA_TEST_CASE(the_next_one_listens_even_if_too_few_are_left_for_it, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b"});
    at.take("a", "2");
    at.take("b", "2");
    at.ask("SET", "k", "3");  // by somebody who does not know the list
    BOOST_TEST(is(at.take("a", "2"), 1));
    BOOST_TEST(at.told() == "b");
}

BOOST_DATA_TEST_CASE(what_is_too_little_for_the_first_is_told_to_others, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    at.take("a", "3");
    at.join({"b", "c"});
    at.ask("SET", "k", "1");  // by somebody who does not know the list
    BOOST_TEST(at.stands(at.take("a", "3"), 3));
    BOOST_TEST(at.told() == "b");
}

BOOST_DATA_TEST_CASE(a_limit_tells_those_that_waited_for_a_semaphore, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b", "c"});
    at.ask("DEL", "k");
    BOOST_TEST(at.stands(at.take("a"), 3 + 8));
    at.pass(1);  // each that stands since the same microsecond counts as the first
    BOOST_TEST(at.stands(at.take("b"), 1 + 8));
    BOOST_TEST(is(at.take("c", "1", "0", "2"), 1));
    BOOST_TEST(at.told() == "*a");
    at.ask("DEL", "k", at.list);
    at.join({"b"});
    BOOST_TEST(is(at.lease("c", std::string(16, '1'), "0", "2"), 1));
    BOOST_TEST(at.told() == "*b");
}

BOOST_DATA_TEST_CASE(permits_whose_lease_has_ended_are_told, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b"});
    at.ask("SET", "k", "2");
    std::string const one(16, '1'), two(16, '2'), three(16, '3');
    BOOST_TEST(is(at.lease("x", one, ""), 1));
    BOOST_TEST(is(at.lease("x", two, ""), 1));
    at.lease("a", three);
    at.lease("b", three);
    at.pass(1'000);
    BOOST_TEST(is(at.lease("b", three), 1));
    BOOST_TEST(at.told() == "*a");
    BOOST_TEST(at.entries() == "a:1");
}

BOOST_DATA_TEST_CASE(a_permit_that_nobody_wants_takes_its_place_with_it, each_place(), where)
{
    permit_waiters at{where};
    at.listen_as({"a", "b"});
    at.lease("a", std::string(16, '1'));
    at.lease("b", std::string(16, '2'));
    at.run(
        scripts::permit_release,
        {"k", "leases"},
        {mailboxes, std::string(16, '1'), at.channel, at.list, "a:1"}
    );
    BOOST_TEST(at.told() == "b");
    BOOST_TEST(at.entries() == "b:1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
