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
        return run(scripts::write_release, {"k"}, {field + ":write", "c", "{k}"});
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

}  // namespace

}  // namespace colock::simulation
