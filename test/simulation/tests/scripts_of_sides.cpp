// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of read-write locks promises, beside what Redisson's do to the same keys.
#include "simulation/tests/script_bench.hpp"

#include <optional>

namespace colock::simulation {

namespace {

/// One read-write lock, and those who want it. Somebody listens to its channel.
struct sides : script_bench {
    explicit sides(script_place where, std::string called = "order:42")
        : script_bench{where}
        , name{std::move(called)}
        , channel{decide::read_write_channel(name)}
        , prefix{decide::lease_prefix(name)}
    {
        listen(channel);
    }

    reply read(std::string const& who, std::string const& lease = "30000")
    {
        return run(scripts::read_acquire, {name}, {who, lease, prefix});
    }
    reply extend(std::string const& who, std::string const& depth, std::string const& lease)
    {
        return run(scripts::read_extend, {name}, {who, depth, lease, prefix});
    }
    reply renew(std::string const& who, std::string const& lease)
    {
        return run(scripts::read_renew, {name}, {who, lease, prefix});
    }
    reply unread(std::string const& who)
    {
        return run(scripts::read_release, {name}, {mailboxes, who, channel, list, prefix});
    }
    reply write(std::string const& who)
    {
        return run(
            scripts::write_acquire,
            {name, "counter"},
            {"clock", who + ":write", "30000", "1", list, mailboxes, ""}
        );
    }
    reply unwrite(std::string const& who)
    {
        return run(
            scripts::write_release, {name}, {mailboxes, who + ":write", channel, list, "", prefix}
        );
    }
    reply force(std::string const& side)
    {
        return run(scripts::read_write_force, {name}, {side, channel, list, mailboxes, prefix});
    }

    // ---- Redisson, step by step ----------------------------------------------------------------

    std::optional<std::int64_t> java_read(std::string const& who, std::int64_t lease)
    {
        auto const mode = ask("HGET", name, "mode").text;
        if (!mode.empty() && mode != "read" && ask("HEXISTS", name, who + ":write").number == 0)
            return pttl(name);
        auto const before = ask("HGET", name, who).text;
        auto const n = before.empty() ? 1 : std::stoll(before) + 1;
        if (mode.empty())
            ask("HSET", name, "mode", "read");
        ask("HSET", name, who, text(n));
        ask("SET", lease_key(who, n), "1", "PX", text(lease));
        ask("PEXPIRE", name, text(std::max(pttl(name), lease)));
        return {};
    }
    /// As Redisson's script answers it.
    std::int64_t java_unread(std::string const& who)
    {
        auto const count = std::stoll(ask("HGET", name, who).text) - 1;
        if (count == 0)
            ask("HDEL", name, who);
        else
            ask("HSET", name, who, text(count));
        ask("DEL", lease_key(who, count + 1));
        if (ask("HLEN", name).number > 1) {
            std::int64_t most = -3;
            auto const all = texts("HGETALL", name);
            for (std::size_t f = 0; f != all.size(); f += 2)
                if (all[f] != "mode")
                    for (auto n = std::stoll(all[f + 1]); n != 0; --n)
                        most = std::max(most, pttl(lease_key(all[f], n)));
            if (most > 0) {
                ask("PEXPIRE", name, text(most));
                return 0;
            }
            if (ask("HGET", name, "mode").text == "write")
                return 0;
        }
        ask("DEL", name);
        ask("PUBLISH", channel, "0");
        return 1;
    }

    // ---- What is there -------------------------------------------------------------------------

    std::string lease_key(std::string const& who, std::int64_t n) const
    {
        return prefix + ":" + who + ":rwlock_timeout:" + text(n);
    }
    std::int64_t lease_of(std::string const& who, std::int64_t n = 1)
    {
        return pttl(lease_key(who, n));
    }
    std::int64_t lease() { return pttl(name); }
    /// Fields and values, the mode first, the others in their order.
    std::string hash()
    {
        auto const all = texts("HGETALL", name);
        strings found;
        for (std::size_t i = 0; i != all.size(); i += 2)
            found.push_back((all[i] == "mode" ? " " : "") + all[i] + "=" + all[i + 1]);
        std::ranges::sort(found);
        return line(found);
    }
    bool is_empty() { return keys().empty() || keys() == "counter"; }

    std::string const name, channel, prefix, list = decide::wait_list(name);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_of_read_write_locks)

std::string const a = ours(1), b = ours(2), c = ours(3);

BOOST_DATA_TEST_CASE(a_reader_is_redissons, each_place(), where)
{
    for (auto const* name : {"order:42", "{tag}:order"}) {
        sides lock{where, name};
        auto const key =
            (name[0] == '{' ? std::string{name} : "{order:42}") + ":" + a + ":rwlock_timeout:1";
        for (int i = 0; i != 2; ++i) {
            BOOST_TEST(is(lock.read(a), 0));
            BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
            BOOST_TEST(lock.get(key) == "1");
            BOOST_TEST(lock.pttl(key) == 30'000);
            BOOST_TEST(lock.lease() == 30'000);
            BOOST_TEST(lock.texts("KEYS", "*").size() == 2U);
        }
        BOOST_TEST(is(lock.unread(a), 1));
        BOOST_TEST(lock.heard() == lock.channel + "=0");
        BOOST_TEST(lock.keys().empty());
        BOOST_TEST(is_gone(lock.unread(a)));
        BOOST_TEST(lock.heard().empty());
    }
}

BOOST_DATA_TEST_CASE(many_readers_and_the_lease_of_each, each_place(), where)
{
    sides lock{where};
    lock.read(a, "60000");
    lock.read(b, "10000");
    lock.read(c, "20000");
    BOOST_TEST(lock.lease() == 60'000);
    BOOST_TEST(lock.lease_of(b) == 10'000);
    BOOST_TEST(refusal(lock.write(ours(9))) == 60'000);
    // A reader without the longest lease takes nothing from the lock's; the one with it leaves the
    // next.
    BOOST_TEST(is(lock.unread(b), 0));
    BOOST_TEST(lock.lease() == 60'000);
    BOOST_TEST(is(lock.unread(a), 0));
    BOOST_TEST(lock.lease() == 20'000);
    BOOST_TEST(lock.hash() == " mode=read " + c + "=1");
    BOOST_TEST(is_gone(lock.unread(a)));
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(is(lock.unread(c), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=0");
    BOOST_TEST(lock.is_empty());
}

BOOST_DATA_TEST_CASE(all_leases_end, each_place(), where)
{
    sides lock{where};
    lock.read(a);
    lock.pass(30'001);
    BOOST_TEST(lock.is_empty());
    lock.write(b);
    lock.pass(30'001);
    BOOST_TEST(is(lock.read(a), 0));
}

BOOST_DATA_TEST_CASE(a_lease_that_is_refused_leaves_nothing, each_place(), where)
{
    sides lock{where};
    BOOST_TEST(is_error(lock.read(a, "9223372036854775807")));
    BOOST_TEST(!lock.exists(lock.name));
}

BOOST_DATA_TEST_CASE(depth_and_lease_of_a_reader, each_place(), where)
{
    sides lock{where};
    BOOST_TEST(is(lock.extend(a, "1", "30000"), 0));  // creates nothing
    BOOST_TEST(is(lock.renew(a, "30000"), 0));
    BOOST_TEST(lock.keys().empty());
    lock.read(a, "10000");
    lock.read(b, "5000");
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is(lock.extend(a, "3", "40000"), 1));
        BOOST_TEST(lock.ask("HGET", lock.name, a).text == "3");
        for (int n = 1; n != 4; ++n)
            BOOST_TEST(lock.lease_of(a, n) == 40'000);
        BOOST_TEST(lock.lease() == 40'000);
    }
    for (int i = 0; i != 2; ++i) {  // a partial release, to a shorter lease
        BOOST_TEST(is(lock.extend(a, "2", "20000"), 1));
        BOOST_TEST(lock.ask("HGET", lock.name, a).text == "2");
        BOOST_TEST(lock.lease_of(a, 2) == 20'000);
        BOOST_TEST(lock.lease_of(a, 3) == -2);
        BOOST_TEST(lock.lease() == 20'000);
    }
    lock.extend(b, "1", "50000");
    BOOST_TEST(lock.lease() == 50'000);
    for (int i = 0; i != 2; ++i) {  // a renewal keeps what the other has
        BOOST_TEST(is(lock.renew(a, "30000"), 1));
        BOOST_TEST(lock.lease_of(a, 1) == 30'000);
        BOOST_TEST(lock.lease_of(a, 2) == 30'000);
        BOOST_TEST(lock.lease() == 50'000);
    }
    lock.pass(1'000);
    BOOST_TEST(is(lock.renew(c, "99999"), 0));
    BOOST_TEST(lock.lease() == 49'000);
    BOOST_TEST(lock.lease_of(b) == 49'000);
    // A lease key that ran out or was lost is there again.
    lock.ask("DEL", lock.lease_key(a, 1));
    lock.renew(a, "60000");
    BOOST_TEST(lock.lease_of(a, 1) == 60'000);
    BOOST_TEST(lock.lease() == 60'000);
    lock.unread(a);
    BOOST_TEST(lock.lease() == 49'000);
    BOOST_TEST(lock.texts("KEYS", "*").size() == 2U);
    BOOST_TEST(is(lock.renew(a, "60000"), 0));
    BOOST_TEST(is(lock.extend(a, "1", "60000"), 0));
    BOOST_TEST(lock.hash() == " mode=read " + b + "=1");
}

BOOST_DATA_TEST_CASE(a_writer_is_redissons, each_place(), where)
{
    sides lock{where};
    auto const extend = [&](std::string const& depth) {
        return lock.run(scripts::extend, {lock.name}, {a + ":write", depth, "60000"});
    };
    for (int const n : {0, 1}) {
        BOOST_TEST(is(lock.write(a), lock.begin + n));
        BOOST_TEST(lock.hash() == " mode=write " + a + ":write=1");
        BOOST_TEST(lock.lease() == 30'000);
        BOOST_TEST(lock.keys() == "counter " + lock.name);
    }
    BOOST_TEST(refusal(lock.write(b)) == 30'000);
    BOOST_TEST(refusal(lock.read(b)) == 30'000);
    BOOST_TEST(refusal(lock.read(a)) == 30'000);  // it goes by read_extend
    BOOST_TEST(lock.get("counter") == text(lock.begin + 1));
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is(extend("2"), 1));
        BOOST_TEST(lock.hash() == " mode=write " + a + ":write=2");
        BOOST_TEST(lock.lease() == 60'000);
    }
    BOOST_TEST(is(lock.run(scripts::renew, {lock.name}, {a + ":write", "30000"}), 1));
    BOOST_TEST(lock.lease() == 30'000);
    BOOST_TEST(is_gone(lock.unwrite(b)));
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(is(lock.unwrite(a), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=1");
    BOOST_TEST(lock.is_empty());
    BOOST_TEST(is_gone(lock.unwrite(a)));
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(is(extend("1"), 0));
    BOOST_TEST(is(lock.write(b), lock.begin + 2));
    lock.unwrite(b);
    lock.ask("SET", "counter", "text");
    BOOST_TEST(is_error(lock.write(a)));
    BOOST_TEST(lock.keys() == "counter");
}

BOOST_DATA_TEST_CASE(a_writer_reads_and_steps_down, each_place(), where)
{
    sides lock{where};
    lock.write(a);
    auto const both = " mode=write " + a + ":write=1 " + a + "=1";
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is(lock.extend(a, "1", "10000"), 1));
        BOOST_TEST(lock.hash() == both);
        BOOST_TEST(lock.lease() == 30'000);  // the writer's
        BOOST_TEST(lock.lease_of(a) == 10'000);
    }
    BOOST_TEST(refusal(lock.read(b)) == 30'000);
    // It reads no more, and writes on.
    BOOST_TEST(is(lock.unread(a), 0));
    BOOST_TEST(lock.hash() == " mode=write " + a + ":write=1");
    BOOST_TEST(lock.lease() == 30'000);
    BOOST_TEST(lock.heard().empty());
    // It reads again, and writes no more.
    for (auto const* const lease : {"40000", "20000"}) {
        lock.write(a);
        lock.extend(a, "1", lease);
        BOOST_TEST(is(lock.unwrite(a), 1));
        // Redisson's is silent here; those who may read now are told.
        BOOST_TEST(lock.heard() == lock.channel + "=1");
        BOOST_TEST(is_gone(lock.unwrite(a)));
        BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
        BOOST_TEST(lock.lease() == std::stoll(lease));
        BOOST_TEST(lock.heard().empty());
        BOOST_TEST(is(lock.read(b, "10000"), 0));
        BOOST_TEST(refusal(lock.write(c)) == std::stoll(lease));
        lock.unread(a);
        BOOST_TEST(is(lock.unread(b), 1));
        BOOST_TEST(lock.heard() == lock.channel + "=0");
        BOOST_TEST(lock.is_empty());
    }
}

BOOST_DATA_TEST_CASE(ours_and_redissons_read_together, each_place(), where)
{
    sides lock{where};
    auto const j = java(57);
    BOOST_TEST(!lock.java_read(j, 20'000).has_value());
    BOOST_TEST(is(lock.read(a, "10000"), 0));
    lock.java_read(j, 5'000);
    lock.read(b, "30000");
    BOOST_TEST(lock.hash() == " mode=read " + a + "=1 " + b + "=1 " + j + "=2");
    // Theirs finds ours alive, by the keys of their leases.
    BOOST_TEST(lock.java_unread(j) == 0);
    BOOST_TEST(lock.lease() == 30'000);
    BOOST_TEST(is(lock.unread(b), 0));
    BOOST_TEST(lock.lease() == 20'000);
    BOOST_TEST(lock.java_unread(j) == 0);
    BOOST_TEST(lock.lease() == 10'000);
    lock.java_read(j, 5'000);
    BOOST_TEST(is(lock.unread(a), 0));
    BOOST_TEST(lock.lease() == 5'000);
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(lock.java_unread(j) == 1);
    BOOST_TEST(lock.heard() == lock.channel + "=0");
    BOOST_TEST(lock.keys().empty());
    // And ours finds a reader that is dead.
    lock.java_read(j, 5'000);
    lock.read(a, "10000");
    lock.ask("DEL", lock.lease_key(j, 1));
    BOOST_TEST(is(lock.unread(a), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=0");
    BOOST_TEST(lock.keys().empty());
    // A writer of theirs.
    lock.ask("HSET", lock.name, "mode", "write", j + ":write", "1");
    lock.ask("PEXPIRE", lock.name, "30000");
    BOOST_TEST(refusal(lock.read(a)) == 30'000);
    BOOST_TEST(refusal(lock.write(a)) == 30'000);
    BOOST_TEST(is_gone(lock.unwrite(a)));
    BOOST_TEST(lock.hash() == " mode=write " + j + ":write=1");
}

BOOST_DATA_TEST_CASE(a_force_is_of_its_side, each_place(), where)
{
    sides lock{where};
    BOOST_TEST(is(lock.force("read"), 0));
    lock.read(a);
    BOOST_TEST(is(lock.force("write"), 0));
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(is(lock.force("read"), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=0");
    BOOST_TEST(lock.keys().empty());
    BOOST_TEST(is_gone(lock.unread(a)));
    BOOST_TEST(is(lock.renew(a, "30000"), 0));
    lock.write(a);
    BOOST_TEST(is(lock.force("read"), 0));
    BOOST_TEST(is(lock.force("write"), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=1");
    BOOST_TEST(lock.is_empty());
}

BOOST_DATA_TEST_CASE(a_force_tells_all_holders_of_its_side, each_place(), where)
{
    sides lock{where};
    lock.listen(mailbox_of(newer(1)));
    lock.read(newer(1));
    lock.read(newer(2));
    lock.read(a);
    BOOST_TEST(is(lock.force("read"), 1));
    auto const told = letter_to(newer(1), lock.name) + ' ' + letter_to(newer(2), lock.name);
    BOOST_TEST(lock.heard() == told + ' ' + lock.channel + "=0");
    lock.write(newer(3));
    BOOST_TEST(is(lock.force("write"), 1));
    BOOST_TEST(lock.heard() == letter_to(newer(3), lock.name) + ' ' + lock.channel + "=1");
}

/// The entry of a writer, and the letter that tells it.
std::string turn_of(std::string const& who, sides const& at, int listening)
{
    return mailbox_of(who) + " turn " + who.substr(who.find(':') + 1) + ' ' + text(listening) +
        '=' + at.name;
}

BOOST_DATA_TEST_CASE(
    the_first_writer_is_told_when_the_side_that_was_held_is_free, each_place(), where
)
{
    sides lock{where};
    auto const wait = [&](std::string const& who) {
        auto const got = lock.run(
            scripts::write_acquire,
            {lock.name},
            {"", who + ":write", "3000", "1", lock.list, mailboxes, "0"}
        );
        return got.items.size() == 3U ? got.items[2].number : -1;
    };
    lock.listen(mailbox_of(newer(1)));
    lock.read(newer(1));
    lock.read(a);
    BOOST_TEST(wait(newer(2)) == 1 + 2 + 4);  // a reader may not know the list
    lock.pass(1);
    BOOST_TEST(wait(newer(3)) == 1 + 4);
    BOOST_TEST(is(lock.unread(newer(1)), 0));
    BOOST_TEST(lock.heard().empty());
    BOOST_TEST(is(lock.unread(a), 1));
    BOOST_TEST(lock.heard() == lock.channel + "=0 " + turn_of(newer(2), lock, 1));
    BOOST_TEST(wait(newer(2)) == -1);
    BOOST_TEST(line(lock.texts("ZRANGE", lock.list, "0", "-1")) == newer(3));
    BOOST_TEST(lock.unwrite(newer(2)).items.size() == 2U);
    BOOST_TEST(lock.heard() == lock.channel + "=1 " + turn_of(newer(3), lock, 1));
}

BOOST_DATA_TEST_CASE(full_memory_takes_no_side, each_place(), where)
{
    sides lock{where};
    lock.without_memory([&] {
        BOOST_TEST(is_error(lock.read(a)));
        BOOST_TEST(is_error(lock.write(a)));
        BOOST_TEST(lock.keys().empty());
    });
    lock.read(a, "10000");
    lock.read(b, "5000");
    lock.without_memory([&] {  // what is held can be kept, and given back
        BOOST_TEST(is(lock.renew(a, "30000"), 1));
        BOOST_TEST(lock.lease_of(a) == 30'000);
        BOOST_TEST(lock.lease() == 30'000);
        BOOST_TEST(is(lock.extend(a, "1", "20000"), 1));
        BOOST_TEST(lock.lease() == 20'000);
        BOOST_TEST(is(lock.unread(a), 0));
        BOOST_TEST(is(lock.unread(b), 1));
        BOOST_TEST(lock.keys().empty());
    });
    lock.write(a);
    lock.extend(a, "1", "10000");
    lock.without_memory([&] {
        BOOST_TEST(is_granted(lock.unwrite(a)));
        BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
        BOOST_TEST(is_granted(lock.unread(a)));
        BOOST_TEST(lock.is_empty());
    });
}

// The other reader's lease is longer, so the lock's need not be set.
BOOST_DATA_TEST_CASE(a_renewal_that_is_refused_says_so, each_server(), kind)
{
    sides lock{{kind}};
    lock.read(a, "20000");
    lock.read(b, "60000");
    lock.ask("CONFIG", "SET", "min-replicas-to-write", "1");
    auto const got = lock.renew(a, "30000");
    lock.ask("CONFIG", "SET", "min-replicas-to-write", "0");
    BOOST_TEST((is_error(got) && got.text.starts_with("NOREPLICAS")), got.text);
    BOOST_TEST(lock.lease_of(a) == 20'000);
    BOOST_TEST(is(lock.renew(a, "30000"), 1));
    BOOST_TEST(lock.lease_of(a) == 30'000);
}

BOOST_DATA_TEST_CASE(a_lock_that_was_made_to_stay_stays_with_its_readers, each_place(), where)
{
    sides lock{where};
    lock.read(a, "30000");
    lock.read(b, "30000");
    lock.ask("PERSIST", lock.name);
    BOOST_TEST(is(lock.unread(b), 0));
    BOOST_TEST(lock.hash() == " mode=read " + a + "=1");
    BOOST_TEST(is(lock.renew(a, "30000"), 1));
    BOOST_TEST(is(lock.unread(a), 1));
    BOOST_TEST(lock.keys().empty());
}

// A lock of another kind looks locked to both sides, and stays as it is.
BOOST_DATA_TEST_CASE(a_hash_that_is_no_read_write_lock, each_place(), where)
{
    sides lock{where};
    lock.ask("HSET", lock.name, java(57), "1");
    lock.ask("PEXPIRE", lock.name, "30000");
    BOOST_TEST(refusal(lock.read(a)) == 30'000);
    BOOST_TEST(refusal(lock.write(a)) == 30'000);
    BOOST_TEST(is_gone(lock.unread(a)));
    BOOST_TEST(is_gone(lock.unwrite(a)));
    BOOST_TEST(is(lock.force("read"), 0));
    BOOST_TEST(lock.hash() == java(57) + "=1");
    BOOST_TEST(lock.keys() == lock.name);
}

// A hash that is no lock may have any number, and a script that counts up to it stops the server.
BOOST_DATA_TEST_CASE(no_script_counts_further_than_owners_enter, each_place(), where)
{
    sides lock{where};
    auto const add_numbers = [&] {
        for (auto const* const number : {"5000", "9007199254740992", "inf", "nan", "-3"})
            lock.ask("HSET", lock.name, std::string{"of "} + number, number);
        lock.ask("SET", lock.lease_key("of 5000", 1'001), "1", "PX", "60000");
    };
    lock.read(a);
    add_numbers();
    BOOST_TEST(is(lock.unread(a), 1));
    lock.read(a);
    lock.read(b, "9000");
    add_numbers();
    BOOST_TEST(is(lock.extend(b, "1", "2000"), 1));
    BOOST_TEST(is(lock.force("read"), 1));
    BOOST_TEST(!lock.exists(lock.name));
    lock.write(c);
    lock.ask("HSET", lock.name, c, "9007199254740992");
    BOOST_TEST(is(lock.unwrite(c), 1));
    BOOST_TEST(!lock.exists(lock.name));
    lock.read(a);
    lock.ask("HSET", lock.name, a, "9007199254740992");
    BOOST_TEST(is(lock.renew(a, "3000"), 1));
    BOOST_TEST(is(lock.unread(a), 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
