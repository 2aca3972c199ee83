// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of read-write locks promises.
#include "simulation/tests/scripts.hpp"

namespace colock::simulation {

namespace {

struct sides : bench_of_scripts {
    reply read(std::string_view field, std::string_view lease = "3000")
    {
        return run(scripts::read_acquire, {"k"}, {field, lease, "{k}"});
    }
    reply end_read(std::string_view field)
    {
        return run(scripts::read_release, {"k"}, {field, "c", "{k}"});
    }
    reply renew(std::string_view field, std::string_view lease)
    {
        return run(scripts::read_renew, {"k"}, {field, lease, "{k}"});
    }
    reply extend(std::string_view field, std::string_view depth, std::string_view lease)
    {
        return run(scripts::read_extend, {"k"}, {field, depth, lease, "{k}"});
    }
    reply write(std::string field)
    {
        return run(
            scripts::write_acquire, {"k", "counter"}, {"1", field + ":write", "3000", "1", ""}
        );
    }
    reply end_write(std::string field)
    {
        return run(scripts::write_release, {"k"}, {field + ":write", "c", "w", "", "{k}"});
    }
    reply force(std::string_view side)
    {
        return run(scripts::read_write_force, {"k"}, {side, "c", "{k}"});
    }
    std::string mode() { return text({"HGET", "k", "mode"}); }
    std::int64_t lease_of(std::string_view field, int n = 1)
    {
        return pttl("{k}:" + std::string{field} + ":rwlock_timeout:" + std::to_string(n));
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_read_write_locks, sides)

BOOST_AUTO_TEST_CASE(many_read_and_nobody_writes)
{
    BOOST_TEST(is(read("a"), 0));
    BOOST_TEST(is(read("b", "5000"), 0));
    BOOST_TEST(pttl("k") == 5'000);
    BOOST_TEST(is_refused(write("w"), 5'000));
    BOOST_TEST(is(end_read("b"), 0));
    BOOST_TEST(heard().empty());
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is_refused(write("w"), 3'000));
    BOOST_TEST(is(end_read("a"), 1));
    BOOST_TEST(heard() == "c=0 ");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(is(write("w"), begin + 1));
}

// A hash that is no lock may have any number, and a script that counts up to it stops the server.
BOOST_AUTO_TEST_CASE(no_script_counts_further_than_owners_enter)
{
    auto const add_numbers = [this] {
        for (auto const* const number : {"5000", "9007199254740992", "inf", "nan", "-3"})
            ask({"HSET", "k", std::string{"of "} + number, number});
        ask({"SET", "{k}:of 5000:rwlock_timeout:1001", "1", "PX", "60000"});
    };
    read("a");
    add_numbers();
    BOOST_TEST(is(end_read("a"), 1));
    read("a");
    read("b", "9000");
    add_numbers();
    BOOST_TEST(is(extend("b", "1", "2000"), 1));
    BOOST_TEST(is(force("read"), 1));
    BOOST_TEST(!exists("k"));
    write("w");
    ask({"HSET", "k", "w", "9007199254740992"});
    BOOST_TEST(is(end_write("w"), 1));
    BOOST_TEST(!exists("k"));
    read("a");
    ask({"HSET", "k", "a", "9007199254740992"});
    BOOST_TEST(is(renew("a", "3000"), 1));
    BOOST_TEST(is(end_read("a"), 1));
}

BOOST_AUTO_TEST_CASE(one_writes_and_nobody_reads)
{
    BOOST_TEST(is(write("w"), begin + 1));
    BOOST_TEST(mode() == "write");
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is_refused(read("a"), 3'000));
    BOOST_TEST(is_refused(write("v"), 3'000));
    BOOST_TEST(is(write("w"), begin + 2));
    BOOST_TEST(is_gone(end_write("v")));
    BOOST_TEST(heard().empty());
    BOOST_TEST(is(end_write("w"), 1));
    BOOST_TEST(heard() == "c=1 ");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(is(read("a"), 0));
}

// What the name has in it is not the word of the channel.
BOOST_AUTO_TEST_CASE(the_wait_list_is_that_of_any_name)
{
    std::string const name = "redisson_lock__channel:x";
    std::vector<std::string_view> const keys{name, "counter"};
    std::string const place = "last:redisson_rwlock:{" + name + "}";
    for (std::string_view const field : {"a:write", "b:write"}) {
        std::vector<std::string_view> const arguments{"1", field, "3000", "1", place};
        redis.run(scripts::write_acquire.text, keys, arguments);
    }
    BOOST_TEST(exists("colock_wait:{" + name + "}"));
}

BOOST_AUTO_TEST_CASE(all_leases_end)
{
    read("a");
    pass(3'001);
    BOOST_TEST(!exists("k"));
    write("w");
    pass(3'001);
    BOOST_TEST(is(read("a"), 0));
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_refused_leaves_nothing)
{
    BOOST_TEST((read("a", "9223372036854775807").what == reply::kind::error));
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(a_readers_lease_is_its_own)
{
    read("a", "5000");
    read("b", "1000");
    pass(500);
    BOOST_TEST(is(renew("b", "1000"), 1));
    BOOST_TEST(pttl("k") == 4'500);
    BOOST_TEST(lease_of("b") == 1'000);
    BOOST_TEST(lease_of("a") == 4'500);
    BOOST_TEST(is(renew("b", "9000"), 1));
    BOOST_TEST(pttl("k") == 9'000);
    BOOST_TEST(is(renew("c", "9999"), 0));
    BOOST_TEST(pttl("k") == 9'000);
    BOOST_TEST(lease_of("c") == -2);
    BOOST_TEST(is(end_read("b"), 0));
    BOOST_TEST(pttl("k") == 4'500);
    BOOST_TEST(lease_of("b") == -2);
}

BOOST_AUTO_TEST_CASE(a_reader_enters_again_and_leaves_in_part)
{
    read("a");
    BOOST_TEST(is(extend("a", "2", "4000"), 1));
    BOOST_TEST(text({"HGET", "k", "a"}) == "2");
    BOOST_TEST(lease_of("a", 2) == 4'000);
    BOOST_TEST(pttl("k") == 4'000);
    BOOST_TEST(is(extend("a", "1", "2000"), 1));
    BOOST_TEST(lease_of("a", 2) == -2);
    BOOST_TEST(pttl("k") == 2'000);
    BOOST_TEST(is(extend("b", "2", "9000"), 0));
    BOOST_TEST(pttl("k") == 2'000);
    BOOST_TEST(is_gone(end_read("b")));
    BOOST_TEST(is(end_read("a"), 1));
    BOOST_TEST(is(extend("a", "1", "2000"), 0));
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(who_wrote_and_reads_reads_on)
{
    write("w");
    BOOST_TEST(is(extend("w", "1", "2000"), 1));
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is(end_write("w"), 1));
    BOOST_TEST(heard() == "c=1 ");
    BOOST_TEST(mode() == "read");
    BOOST_TEST(pttl("k") == 2'000);
    BOOST_TEST(is(read("a"), 0));
    BOOST_TEST(is_refused(write("v"), 3'000));
    end_read("a");
    BOOST_TEST(is(end_read("w"), 1));
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(without_memory_renewals_and_releases_go_on)
{
    read("a");
    read("b");
    write("w");
    redis.is_full = true;
    BOOST_TEST(is(renew("a", "4000"), 1));
    BOOST_TEST(is(extend("a", "1", "5000"), 1));
    BOOST_TEST(is(end_read("a"), 0));
    BOOST_TEST(is(end_read("b"), 1));
    redis.is_full = false;
    write("w");
    extend("w", "1", "2000");
    redis.is_full = true;
    BOOST_TEST(is(end_write("w"), 1));
    BOOST_TEST(mode() == "read");
}

BOOST_AUTO_TEST_CASE(a_force_is_of_its_side)
{
    read("a");
    BOOST_TEST(is(force("write"), 0));
    BOOST_TEST(heard().empty());
    BOOST_TEST(is(force("read"), 1));
    BOOST_TEST(heard() == "c=0 ");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(lease_of("a") == -2);
    write("w");
    BOOST_TEST(is(force("read"), 0));
    BOOST_TEST(is(force("write"), 1));
    BOOST_TEST(heard() == "c=1 ");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_SUITE_END()

// What each script of semaphores, permits and latches promises.

struct counting : bench_of_scripts {
    reply change(scripts::script const& by, std::string_view amount, std::string_view number)
    {
        return run(by, {"k", "changes"}, {amount, number, "3600000", "c"});
    }
    reply take(std::string_view permits, std::string_view number)
    {
        return run(
            scripts::semaphore_acquire, {"k", "taken"}, {permits, number, "3600000", ":c", ""}
        );
    }
    reply undo(std::string_view request, std::string_view number, std::string_view permits)
    {
        return run(
            scripts::semaphore_undo, {"k", "taken"}, {request, number, permits, "3600000", "c"}
        );
    }
    std::string left() { return text({"GET", "k"}); }
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_counters, counting)

BOOST_AUTO_TEST_CASE(no_more_permits_are_out_than_there_are)
{
    BOOST_TEST(is_refused(take("1", "1"), 0));
    BOOST_TEST(is(change(scripts::semaphore_set, "3", "2"), 1));
    BOOST_TEST(heard() == "c=3 ");
    BOOST_TEST(is(take("2", "3"), 1));
    BOOST_TEST(is_refused(take("2", "4"), 1));
    BOOST_TEST(is(take("1", "5"), 1));
    BOOST_TEST(is_refused(take("1", "6"), 0));
    BOOST_TEST(left() == "0");
    BOOST_TEST(is(change(scripts::semaphore_set, "9", "7"), 0));
    BOOST_TEST(left() == "0");
}

BOOST_AUTO_TEST_CASE(a_refusal_of_permits_tells_how_many_wait)
{
    redis.subscribers = [](audience, std::string_view channel) { return channel == "c" ? 4 : 0; };
    change(scripts::semaphore_set, "1", "1");
    BOOST_TEST(is_refused(take("2", "2"), 1, 4));
}

BOOST_AUTO_TEST_CASE(each_request_takes_once)
{
    change(scripts::semaphore_set, "5", "1");
    BOOST_TEST(is(take("2", "2"), 1));
    BOOST_TEST(is(take("2", "2"), 1));
    BOOST_TEST(left() == "3");
    BOOST_TEST(is(take("1", "4"), 1));
    BOOST_TEST(is_refused(take("2", "3"), 2));  // it was given up
    BOOST_TEST(left() == "2");
}

BOOST_AUTO_TEST_CASE(each_change_is_made_once_and_tells)
{
    for (auto const* const number : {"1", "1", "2", "2"})
        change(scripts::semaphore_release, "2", number);
    BOOST_TEST(left() == "4");
    BOOST_TEST(heard() == "c=2 c=4 ");
    BOOST_TEST(is(change(scripts::semaphore_release, "2", "2"), 4));
    BOOST_TEST(is(change(scripts::semaphore_drain, "0", "3"), 4));
    BOOST_TEST(left() == "0");
    BOOST_TEST(is(change(scripts::semaphore_drain, "0", "3"), 4));
    BOOST_TEST(is(change(scripts::semaphore_drain, "0", "4"), 0));
}

BOOST_AUTO_TEST_CASE(an_undo_gives_back_what_was_taken_and_bars_it)
{
    change(scripts::semaphore_set, "5", "1");
    heard();
    take("2", "2");
    BOOST_TEST(is(undo("2", "3", "2"), 1));
    BOOST_TEST(heard() == "c=5 ");
    BOOST_TEST(is(undo("2", "3", "2"), 0));
    BOOST_TEST(left() == "5");
    BOOST_TEST(is_refused(take("2", "2"), 5));  // it comes late, and takes nothing
    BOOST_TEST(is(undo("4", "5", "2"), 0));     // it has not come yet
    BOOST_TEST(left() == "5");
    BOOST_TEST(is_refused(take("2", "4"), 5));
    BOOST_TEST(left() == "5");
    BOOST_TEST(is(take("2", "6"), 1));
}

BOOST_AUTO_TEST_CASE(a_latch_opens_at_zero_and_tells)
{
    auto const count_down = [this](std::string_view by, std::string_view number) {
        return change(scripts::latch_count_down, by, number);
    };
    BOOST_TEST(is(change(scripts::latch_set, "3", "1"), 1));
    BOOST_TEST(heard() == "c=1 ");
    BOOST_TEST(is(change(scripts::latch_set, "3", "1"), 1));
    BOOST_TEST(is(change(scripts::latch_set, "9", "2"), 0));
    BOOST_TEST(is(count_down("1", "3"), 2));
    BOOST_TEST(is(count_down("1", "3"), 2));
    BOOST_TEST(left() == "2");
    BOOST_TEST(is(count_down("1", "4"), 1));
    BOOST_TEST(left() == "1");
    BOOST_TEST(heard().empty());
    BOOST_TEST(is(count_down("5", "5"), 0));
    BOOST_TEST(heard() == "c=0 ");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(is(count_down("1", "6"), 0));
    BOOST_TEST(heard().empty());
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_CASE(counters_are_read)
{
    BOOST_TEST(is(run(scripts::count, {"k"}, {}), 0));
    ask({"SET", "k", "7"});
    BOOST_TEST(is(run(scripts::count, {"k"}, {}), 7));
}

BOOST_AUTO_TEST_SUITE_END()

struct leasing : bench_of_scripts {
    leasing() { ask({"SET", "k", "2"}); }

    reply take(std::string_view id, std::string_view lease = "1000")
    {
        return run(scripts::permit_acquire, {"k", "leases"}, {id, lease, ":c", ""});
    }
    reply give(std::string_view id)
    {
        return run(scripts::permit_release, {"k", "leases"}, {id, "c"});
    }
    reply extend(std::string_view id, std::string_view lease)
    {
        return run(scripts::permit_extend, {"leases"}, {id, lease});
    }
    std::int64_t count()
    {
        return run(scripts::permit_count, {"k", "leases"}, {}).items.at(0).number;
    }
    std::string left() { return text({"GET", "k"}); }
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_permits, leasing)

BOOST_AUTO_TEST_CASE(a_refusal_of_a_permit_tells_how_many_wait)
{
    redis.subscribers = [](audience, std::string_view channel) { return channel == "c" ? 4 : 0; };
    take("a");
    take("b");
    BOOST_TEST(is_refused(take("c"), 1'000, 4));
}

BOOST_AUTO_TEST_CASE(no_more_are_out_than_there_are)
{
    BOOST_TEST(is(take("a"), 1));
    BOOST_TEST(is(take("b", "1500"), 1));
    BOOST_TEST(is(take("b", "2000"), 1));  // once
    BOOST_TEST(left() == "0");
    BOOST_TEST(is_refused(take("c"), 1'000));
    BOOST_TEST(count() == 0);
    pass(999);
    BOOST_TEST(is_refused(take("c"), 1));
    pass(1);
    BOOST_TEST(count() == 1);
    BOOST_TEST(is(take("c"), 1));
    BOOST_TEST(heard() == "c=1 ");
    BOOST_TEST(is_refused(take("d"), 1'000));
    BOOST_TEST(left() == "0");
}

BOOST_AUTO_TEST_CASE(what_is_given_back_comes_back_once_and_tells)
{
    take("a");
    BOOST_TEST(is(give("a"), 1));
    BOOST_TEST(heard() == "c=2 ");
    BOOST_TEST(is_gone(give("a")));
    BOOST_TEST(left() == "2");
    BOOST_TEST(heard().empty());
    take("a");
    pass(1'000);
    BOOST_TEST(is_gone(give("a")));  // its lease has ended; nobody has taken it since
    BOOST_TEST(left() == "2");
}

BOOST_AUTO_TEST_CASE(a_lease_is_extended_while_it_runs)
{
    take("a");
    pass(999);
    BOOST_TEST(is(extend("a", "1000"), 1));
    pass(999);
    BOOST_TEST(count() == 1);
    pass(1);
    BOOST_TEST(is(extend("a", "1000"), 0));
    BOOST_TEST(count() == 2);
    BOOST_TEST(is(extend("b", "1000"), 0));
}

BOOST_AUTO_TEST_CASE(without_memory_extensions_and_releases_go_on)
{
    take("a");
    redis.is_full = true;
    BOOST_TEST(is(extend("a", "3000"), 1));
    BOOST_TEST(is(give("a"), 1));
    BOOST_TEST(left() == "2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
