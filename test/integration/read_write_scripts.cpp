// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The scripts of read-write locks and of fenced ones, beside what Redisson's do to the same keys.
#include "integration/script_calls.hpp"

namespace colock::test {

namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(read_write_scripts)

std::string const a = ours(1), b = ours(2), c = ours(3);

BOOST_DATA_TEST_CASE(a_reader_is_redissons, each_server(), kind)
{
    for (auto const* name : {"order:42", "{tag}:order"}) {
        read_write_calls lock{kind, name};
        listener all{lock.server};
        for (int i = 0; i != 2; ++i) {
            auto const got = lock.read(a);
            BOOST_TEST((is_granted(got) && got.number == 0));
            BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
            BOOST_TEST(lock.server.ask("GET", lock.lease_key(a, 1)).text == "1");
            BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 30'000));
            BOOST_TEST(near(lock.pttl(name), 30'000));
            BOOST_TEST(lock.server.ask("DBSIZE").number == 2);
        }
        BOOST_TEST(lock.unread(a).number == 1);  // the listener
        BOOST_TEST(all.heard() == lock.channel + " 0");
        BOOST_TEST(lock.keys().empty());
        BOOST_TEST(is_nil(lock.unread(a)));
        BOOST_TEST(all.heard().empty());
    }
}

BOOST_DATA_TEST_CASE(many_readers_and_the_lease_of_each, each_server(), kind)
{
    read_write_calls lock{kind};
    listener all{lock.server};
    lock.read(a, "60000");
    lock.read(b, "10000");
    lock.read(c, "20000");
    BOOST_TEST(near(lock.pttl(lock.name), 60'000));
    BOOST_TEST(near(lock.pttl(lock.lease_key(b, 1)), 10'000));
    BOOST_TEST(near(refusal(lock.write(ours(9))), 60'000));
    // Who has not the longest lease takes nothing from the lock's; who has it, leaves the next.
    BOOST_TEST(lock.unread(b).number == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 60'000));
    BOOST_TEST(lock.unread(a).number == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 20'000));
    BOOST_TEST(lock.hash() == " mode=read " + c + "=1");
    BOOST_TEST(is_nil(lock.unread(a)));
    BOOST_TEST(all.heard().empty());
    BOOST_TEST(lock.unread(c).number == 1);
    BOOST_TEST(all.heard() == lock.channel + " 0");
    BOOST_TEST(lock.keys().empty());
}

BOOST_DATA_TEST_CASE(depth_and_lease_of_a_reader, each_server(), kind)
{
    read_write_calls lock{kind};
    BOOST_TEST(lock.read_extend(a, "1", "30000").number == 0);  // creates nothing
    BOOST_TEST(lock.read_renew(a, "30000").number == 0);
    BOOST_TEST(lock.keys().empty());
    lock.read(a, "10000");
    lock.read(b, "5000");
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(lock.read_extend(a, "3", "40000").number == 1);
        BOOST_TEST(lock.server.ask("HGET", lock.name, a).text == "3");
        for (int n = 1; n != 4; ++n)
            BOOST_TEST(near(lock.pttl(lock.lease_key(a, n)), 40'000));
        BOOST_TEST(near(lock.pttl(lock.name), 40'000));
    }
    for (int i = 0; i != 2; ++i) {  // a partial release, to a shorter lease
        BOOST_TEST(lock.read_extend(a, "2", "20000").number == 1);
        BOOST_TEST(lock.server.ask("HGET", lock.name, a).text == "2");
        BOOST_TEST(near(lock.pttl(lock.lease_key(a, 2)), 20'000));
        BOOST_TEST(!exists(lock.server, lock.lease_key(a, 3)));
        BOOST_TEST(near(lock.pttl(lock.name), 20'000));
    }
    lock.read_extend(b, "1", "50000");
    BOOST_TEST(near(lock.pttl(lock.name), 50'000));
    for (int i = 0; i != 2; ++i) {  // a renewal keeps what the other has
        BOOST_TEST(lock.read_renew(a, "30000").number == 1);
        BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 30'000));
        BOOST_TEST(near(lock.pttl(lock.lease_key(a, 2)), 30'000));
        BOOST_TEST(near(lock.pttl(lock.name), 50'000));
    }
    // A lease key that ran out or was lost is there again.
    lock.server.ask("DEL", lock.lease_key(a, 1));
    lock.read_renew(a, "60000");
    BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 60'000));
    BOOST_TEST(near(lock.pttl(lock.name), 60'000));
    lock.unread(a);
    BOOST_TEST(near(lock.pttl(lock.name), 50'000));
    BOOST_TEST(lock.server.ask("DBSIZE").number == 2);
    BOOST_TEST(lock.read_renew(a, "60000").number == 0);
    BOOST_TEST(lock.read_extend(a, "1", "60000").number == 0);
    BOOST_TEST(lock.hash() == " mode=read " + b + "=1");
}

BOOST_DATA_TEST_CASE(a_writer_is_redissons, each_server(), kind)
{
    read_write_calls lock{kind};
    listener all{lock.server};
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is_granted(lock.write(a)));
        BOOST_TEST(lock.hash() == " mode=write " + a + ":write=1");
        BOOST_TEST(near(lock.pttl(lock.name), 30'000));
        BOOST_TEST(lock.keys() == lock.name);
    }
    BOOST_TEST(near(refusal(lock.write(b)), 30'000));
    BOOST_TEST(near(refusal(lock.read(b)), 30'000));
    BOOST_TEST(near(refusal(lock.read(a)), 30'000));  // it goes by read_extend
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(
            lock.run(scripts::extend, {lock.name}, {a + ":write", "2", "60000"}).at(0).number == 1
        );
        BOOST_TEST(lock.hash() == " mode=write " + a + ":write=2");
        BOOST_TEST(near(lock.pttl(lock.name), 60'000));
    }
    BOOST_TEST(lock.run(scripts::renew, {lock.name}, {a + ":write", "30000"}).at(0).number == 1);
    BOOST_TEST(near(lock.pttl(lock.name), 30'000));
    BOOST_TEST(is_nil(lock.unwrite(b)));
    BOOST_TEST(lock.unwrite(a).number == 1);
    BOOST_TEST(all.heard() == lock.channel + " 1");
    BOOST_TEST(lock.keys().empty());
    BOOST_TEST(is_nil(lock.unwrite(a)));
    BOOST_TEST(all.heard().empty());
    BOOST_TEST(
        lock.run(scripts::extend, {lock.name}, {a + ":write", "1", "60000"}).at(0).number == 0
    );
}

BOOST_DATA_TEST_CASE(a_writer_reads_and_steps_down, each_server(), kind)
{
    read_write_calls lock{kind};
    listener all{lock.server};
    lock.write(a);
    auto const both = " mode=write " + a + ":write=1 " + a + "=1";
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(lock.read_extend(a, "1", "10000").number == 1);
        BOOST_TEST(lock.hash() == both);
        BOOST_TEST(near(lock.pttl(lock.name), 30'000));  // the writer's
        BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 10'000));
    }
    BOOST_TEST(near(refusal(lock.read(b)), 30'000));
    // It reads no more, and writes on.
    BOOST_TEST(lock.unread(a).number == 0);
    BOOST_TEST(lock.hash() == " mode=write " + a + ":write=1");
    BOOST_TEST(near(lock.pttl(lock.name), 30'000));
    BOOST_TEST(all.heard().empty());
    // It reads again, and writes no more.
    lock.read_extend(a, "1", "40000");
    BOOST_TEST(near(lock.pttl(lock.name), 40'000));
    for (int i = 0; i != 2; ++i) {
        auto const got = lock.unwrite(a);
        BOOST_TEST((i == 0 ? got.number == 1 : is_nil(got)));
        BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
        BOOST_TEST(near(lock.pttl(lock.name), 40'000));
        // Redisson's is silent here; those who may read now are told.
        BOOST_TEST(all.heard() == (i == 0 ? lock.channel + " 1" : ""));
    }
    BOOST_TEST(is_granted(lock.read(b)));
    lock.unread(a);
    BOOST_TEST(lock.unread(b).number == 1);
    BOOST_TEST(lock.keys().empty());
}

BOOST_DATA_TEST_CASE(ours_and_redissons_read_together, each_server(), kind)
{
    read_write_calls lock{kind};
    listener all{lock.server};
    auto const j = java(57);
    BOOST_TEST(!lock.java_read(j, 20'000).has_value());
    BOOST_TEST(is_granted(lock.read(a, "10000")));
    lock.java_read(j, 5'000);
    lock.read(b, "30000");
    BOOST_TEST(lock.hash() == " mode=read " + a + "=1 " + b + "=1 " + j + "=2");
    // Theirs finds ours alive, by the keys of their leases.
    BOOST_TEST(lock.java_unread(j) == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 30'000));
    BOOST_TEST(lock.unread(b).number == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 20'000));
    BOOST_TEST(lock.java_unread(j) == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 10'000));
    lock.java_read(j, 5'000);
    BOOST_TEST(lock.unread(a).number == 0);
    BOOST_TEST(near(lock.pttl(lock.name), 5'000));
    BOOST_TEST(all.heard().empty());
    BOOST_TEST(lock.java_unread(j) == 1);
    BOOST_TEST(all.heard() == lock.channel + " 0");
    BOOST_TEST(lock.keys().empty());
    // And ours finds a reader that is dead.
    lock.java_read(j, 5'000);
    lock.read(a, "10000");
    lock.server.ask("DEL", lock.lease_key(j, 1));
    BOOST_TEST(lock.unread(a).number == 1);
    BOOST_TEST(all.heard() == lock.channel + " 0");
    BOOST_TEST(lock.keys().empty());
    // A writer of theirs.
    lock.server.ask("HSET", lock.name, "mode", "write", j + ":write", "1");
    lock.server.ask("PEXPIRE", lock.name, "30000");
    BOOST_TEST(near(refusal(lock.read(a)), 30'000));
    BOOST_TEST(near(refusal(lock.write(a)), 30'000));
    BOOST_TEST(is_nil(lock.unwrite(a)));
    BOOST_TEST(lock.hash() == " mode=write " + j + ":write=1");
}

BOOST_DATA_TEST_CASE(a_side_is_forced, each_server(), kind)
{
    read_write_calls lock{kind};
    listener all{lock.server};
    BOOST_TEST(lock.force("read").number == 0);
    lock.read(a);
    BOOST_TEST(lock.force("write").number == 0);
    BOOST_TEST(all.heard().empty());
    BOOST_TEST(lock.force("read").number == 1);
    BOOST_TEST(all.heard() == lock.channel + " 0");
    BOOST_TEST(lock.keys() == "");
    BOOST_TEST(is_nil(lock.unread(a)));
    BOOST_TEST(lock.read_renew(a, "30000").number == 0);
    lock.write(a);
    BOOST_TEST(lock.force("read").number == 0);
    BOOST_TEST(lock.force("write").number == 1);
    BOOST_TEST(all.heard() == lock.channel + " 1");
    BOOST_TEST(!exists(lock.server, lock.name));
}

BOOST_DATA_TEST_CASE(many_read_write_locks_in_a_call, each_server(), kind)
{
    read_write_calls lock{kind};
    lock.read(a);
    lock.server.ask("SET", "text", "text");
    std::vector<std::string> const keys{lock.name, "text", "other"};
    auto got = lock.run(
        scripts::read_acquire,
        keys,
        {b, "10000", lock.prefix, b, "10000", "{text}", b, "20000", "{other}"}
    );
    BOOST_TEST_REQUIRE(got.size() == 3U);
    BOOST_TEST(is_granted(got[0]));
    BOOST_TEST(is_wrong_type(got[1]));
    BOOST_TEST(is_granted(got[2]));
    BOOST_TEST(near(lock.pttl("{other}:" + b + ":rwlock_timeout:1"), 20'000));
    got = lock.run(
        scripts::read_renew,
        keys,
        {b, "50000", lock.prefix, b, "50000", "{text}", a, "50000", "{other}"}
    );
    BOOST_TEST_REQUIRE(got.size() == 3U);
    BOOST_TEST(got[0].number == 1);
    BOOST_TEST(got[1].number == 0);
    BOOST_TEST(got[2].number == 0);
    got = lock.run(
        scripts::read_release,
        keys,
        {b, lock.channel, lock.prefix, b, "x", "{text}", b, "x", "{other}"}
    );
    BOOST_TEST_REQUIRE(got.size() == 3U);
    BOOST_TEST(got[0].number == 0);
    BOOST_TEST(is_wrong_type(got[1]));
    BOOST_TEST(is_granted(got[2]));
    got = lock.run(
        scripts::write_acquire,
        keys,
        {"",
         b + ":write",
         "10000",
         "1",
         "",
         b + ":write",
         "10000",
         "1",
         "",
         b + ":write",
         "20000",
         "1",
         ""}
    );
    BOOST_TEST_REQUIRE(got.size() == 3U);
    BOOST_TEST(refusal(got[0]) > 0);
    BOOST_TEST(is_wrong_type(got[1]));
    BOOST_TEST(is_granted(got[2]));
    got = lock.run(
        scripts::write_release,
        keys,
        {b + ":write",
         "x",
         "w",
         "",
         "p",
         b + ":write",
         "x",
         "w",
         "",
         "p",
         b + ":write",
         "x",
         "w",
         "",
         "p"}
    );
    BOOST_TEST_REQUIRE(got.size() == 3U);
    BOOST_TEST(is_nil(got[0]));
    BOOST_TEST(is_wrong_type(got[1]));
    BOOST_TEST(is_granted(got[2]));
    BOOST_TEST(is_wrong_type(lock.run(scripts::read_write_force, {"text"}, {"read", "x", "p"}).at(0)
    ));
    BOOST_TEST(
        lock.run(scripts::read_extend, {"text"}, {a, "1", "100", "{text}"}).at(0).number == 0
    );
    BOOST_TEST(lock.server.ask("GET", "text").text == "text");
    BOOST_TEST(!exists(lock.server, "other"));
}

BOOST_DATA_TEST_CASE(full_memory_takes_no_side, each_server(), kind)
{
    read_write_calls lock{kind};
    lock.without_memory([&] {
        BOOST_TEST(is_error(lock.read(a)));
        BOOST_TEST(is_error(lock.write(a)));
        BOOST_TEST(lock.keys().empty());
    });
    lock.read(a, "10000");
    lock.without_memory([&] {  // what is held can be kept, and given back
        BOOST_TEST(lock.read_renew(a, "30000").number == 1);
        BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 30'000));
        BOOST_TEST(near(lock.pttl(lock.name), 30'000));
        BOOST_TEST(lock.read_extend(a, "1", "20000").number == 1);
        BOOST_TEST(near(lock.pttl(lock.name), 20'000));
        BOOST_TEST(is_granted(lock.unread(a)));
        BOOST_TEST(lock.keys().empty());
    });
    lock.write(a);
    lock.read_extend(a, "1", "10000");
    lock.without_memory([&] {
        BOOST_TEST(is_granted(lock.unwrite(a)));
        BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
        BOOST_TEST(is_granted(lock.unread(a)));
        BOOST_TEST(lock.keys().empty());
    });
}

// The other reader's lease is longer, so the lock's need not be set.
BOOST_DATA_TEST_CASE(a_renewal_that_is_refused_says_so, each_server(), kind)
{
    read_write_calls lock{kind};
    lock.read(a, "20000");
    lock.read(b, "60000");
    lock.without_replicas([&] {
        auto const got = lock.read_renew(a, "30000");
        BOOST_TEST(is_error(got));
        BOOST_TEST(got.text.starts_with("NOREPLICAS"), got.text);
    });
    BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 20'000));
    BOOST_TEST(lock.read_renew(a, "30000").number == 1);
    BOOST_TEST(near(lock.pttl(lock.lease_key(a, 1)), 30'000));
}

BOOST_DATA_TEST_CASE(a_lock_that_was_made_to_stay_stays_with_its_readers, each_server(), kind)
{
    read_write_calls lock{kind};
    lock.read(a, "30000");
    lock.read(b, "30000");
    lock.server.ask("PERSIST", lock.name);
    BOOST_TEST(lock.unread(b).number == 0);
    BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
    BOOST_TEST(lock.read_renew(a, "30000").number == 1);
    BOOST_TEST(lock.unread(a).number == 0);
    BOOST_TEST(lock.keys().empty());
}

// A lock of another kind looks locked to both sides, and stays as it is.
BOOST_DATA_TEST_CASE(a_hash_that_is_no_read_write_lock, each_server(), kind)
{
    read_write_calls lock{kind};
    lock.server.ask("HSET", lock.name, java(57), "1");
    lock.server.ask("PEXPIRE", lock.name, "30000");
    BOOST_TEST(near(refusal(lock.read(a)), 30'000));
    BOOST_TEST(near(refusal(lock.write(a)), 30'000));
    BOOST_TEST(is_nil(lock.unread(a)));
    BOOST_TEST(is_nil(lock.unwrite(a)));
    BOOST_TEST(lock.force("read").number == 0);
    BOOST_TEST(lock.hash() == java(57) + "=1");
    BOOST_TEST(lock.keys() == lock.name);
}

BOOST_DATA_TEST_CASE(a_writers_tokens, each_server(), kind)
{
    read_write_calls lock{kind};
    auto const floor = 1'763'700'000'000'000;
    auto const write = [&](std::string const& who) {
        return lock
            .run(
                scripts::write_acquire,
                {lock.name, "counter"},
                {text(floor), who + ":write", "30000", "1", ""}
            )
            .at(0);
    };
    auto const first = write(a).number;
    BOOST_TEST(first > floor);
    BOOST_TEST(lock.server.ask("GET", "counter").text == text(first));
    BOOST_TEST(refusal(write(b)) > 0);
    lock.unwrite(a);
    BOOST_TEST(write(b).number == first + 1);
    lock.unwrite(b);
    lock.server.ask("SET", "counter", "text");
    BOOST_TEST(is_error(write(a)));
    BOOST_TEST(lock.keys() == "counter");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
