// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"

#include <boost/test/unit_test.hpp>

#include <bitset>
#include <set>
#include <string>

namespace {

using namespace colock::decide;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(decide_names)

BOOST_AUTO_TEST_CASE(slots_are_those_of_a_cluster)
{
    // CRC-16/XMODEM of "123456789" is 0x31C3; the others are CLUSTER KEYSLOT's answers.
    BOOST_TEST(slot_of("123456789") == 0x31C3 % slot_count);
    BOOST_TEST(slot_of("foo") == 12'182U);
    BOOST_TEST(slot_of("bar") == 5'061U);
    BOOST_TEST(slot_of("somekey") == 11'058U);
    BOOST_TEST(slot_of("") == 0U);
}

BOOST_AUTO_TEST_CASE(a_part_in_braces_decides_the_slot)
{
    BOOST_TEST(slot_of("{user1000}.following") == slot_of("{user1000}.followers"));
    BOOST_TEST(slot_of("{user1000}.following") == slot_of("user1000"));
    BOOST_TEST(slot_of("foo{hash_tag}") == 2'515U);
    BOOST_TEST(slot_of("foo{{bar}}zap") == slot_of("{bar"));
    BOOST_TEST(slot_of("foo{bar}{zap}") == slot_of("bar"));
    BOOST_TEST(slot_of("{a}") == slot_of("a"));
}

BOOST_AUTO_TEST_CASE(no_part_in_braces_means_the_whole_key)
{
    // Nothing between them, no end, an end before the beginning.
    BOOST_TEST(slot_of("foo{}{bar}") == 8'363U);
    BOOST_TEST(slot_of("foo{}{bar}") != slot_of("bar"));
    BOOST_TEST(slot_of("foo{bar") != slot_of("bar"));
    BOOST_TEST(slot_of("foo}bar{") != slot_of("bar"));
    BOOST_TEST(slot_of("{}") != slot_of(""));
    BOOST_TEST(slot_of("}{a}") == slot_of("a"));
}

BOOST_AUTO_TEST_CASE(a_key_is_bytes_of_any_kind)
{
    BOOST_TEST(slot_of("a\0b"s) != slot_of("a"));
    BOOST_TEST(slot_of("{a\0b}x"s) == slot_of("a\0b"s));
    BOOST_TEST(slot_of("\xff\xfe\x80"s) < slot_count);
    BOOST_TEST(slot_of(std::string(longest_name, 'x')) < slot_count);
}

BOOST_AUTO_TEST_CASE(keys_and_channels_of_counters)
{
    BOOST_TEST(semaphore_channel("a b") == "redisson_sc:{a b}");
    BOOST_TEST(semaphore_channel("x{a}") == "redisson_sc:x{a}");
    BOOST_TEST(latch_channel("a") == "redisson_countdownlatch__channel__{a}");
    BOOST_TEST(latch_channel("x{a}") == "redisson_countdownlatch__channel__{x{a}}");
    BOOST_TEST(permit_leases("a") == "{a}:timeout");
    BOOST_TEST(permit_leases("x{a}") == "x{a}:timeout");
    BOOST_TEST(once_record("a", "u:take") == "colock_once:{a}:u:take");
    BOOST_TEST(once_record("{a}", "u:take") == "colock_once:{a}:u:take");
    std::string const counter{fence_counter(slot_of("a{b"))};
    auto const tag = counter.substr(counter.find('{'));
    BOOST_TEST(once_record("a{b", "u:take") == "colock_once" + tag + ":a{b:u:take");
    for (auto const* name : {"a{b", "x{}", "a}b", "{}", "}", "{", "{}{a}", "a}b{c"})
        BOOST_TEST(slot_of(once_record(name, "u:take")) == slot_of(name), name);
    for (auto const* name : {"order", "x{a}y"}) {
        BOOST_TEST(slot_of(permit_leases(name)) == slot_of(name));
        BOOST_TEST(slot_of(once_record(name, "u")) == slot_of(name));
        BOOST_TEST(slot_of(semaphore_channel(name)) == slot_of(name));
    }
}

BOOST_AUTO_TEST_CASE(keys_of_the_other_locks)
{
    fair_keys const plain{"order"}, tagged{"x{a}y"};
    BOOST_TEST(plain.queue == "redisson_lock_queue:{order}");
    BOOST_TEST(plain.timeouts == "redisson_lock_timeout:{order}");
    BOOST_TEST(plain.tickets == "colock_lock_tickets:{order}");
    BOOST_TEST(tagged.queue == "redisson_lock_queue:x{a}y");
    BOOST_TEST(tagged.tickets == "colock_lock_tickets:x{a}y");
    BOOST_TEST(fair_channel("order", "u:7") == "redisson_lock__channel:{order}:u:7");
    BOOST_TEST(fair_channel("x{a}", "u:7") == "redisson_lock__channel:x{a}:u:7");
    BOOST_TEST(read_write_channel("order") == "redisson_rwlock:{order}");
    BOOST_TEST(read_write_channel("x{a}") == "redisson_rwlock:x{a}");
    BOOST_TEST(lease_prefix("order") == "{order}");
    BOOST_TEST(lease_prefix("x{a}") == "x{a}");
    BOOST_TEST(token_counter("order") == "redisson_lock_token:{order}");
    for (auto const* name : {"order", "x{a}y"}) {
        fair_keys const keys{name};
        for (auto const& key :
             {keys.queue,
              keys.timeouts,
              keys.tickets,
              fair_channel(name, "u:7"),
              read_write_channel(name),
              lease_prefix(name) + ":u:7:rwlock_timeout:1",
              token_counter(name)})
            BOOST_TEST(slot_of(key) == slot_of(name), key);
    }
}

BOOST_AUTO_TEST_CASE(channels_are_redissons)
{
    BOOST_TEST(lock_channel("order:7") == "redisson_lock__channel:{order:7}");
    BOOST_TEST(lock_channel("{order}:7") == "redisson_lock__channel:{order}:7");
    // Redisson looks for the opening brace alone.
    BOOST_TEST(lock_channel("a{b") == "redisson_lock__channel:a{b");
    BOOST_TEST(lock_channel("a}b") == "redisson_lock__channel:{a}b}");
    BOOST_TEST(slot_of(lock_channel("order:7")) == slot_of("order:7"));
    BOOST_TEST(slot_of(lock_channel("{order}:7")) == slot_of("{order}:7"));
}

BOOST_AUTO_TEST_CASE(each_slot_has_a_fence_counter_of_its_own)
{
    std::set<std::string_view> distinct;
    unsigned elsewhere = 0;
    for (unsigned slot = 0; slot != slot_count; ++slot) {
        auto const counter = fence_counter(slot);
        distinct.insert(counter);
        elsewhere += slot_of(counter) != slot || !counter.starts_with("colock_fence:{");
    }
    BOOST_TEST(elsewhere == 0U);
    BOOST_TEST(distinct.size() == slot_count);
}

BOOST_AUTO_TEST_CASE(fence_counters_are_part_of_the_data_format)
{
    // The least decimal number of a slot: these must never change.
    BOOST_TEST(fence_counter(slot_of("0")) == "colock_fence:{0}");
    BOOST_TEST(fence_counter(slot_of("9")) == "colock_fence:{9}");
    for (unsigned n = 0; n != 2'000; ++n) {
        auto const tag = std::to_string(n);
        auto const counter = fence_counter(slot_of(tag));
        auto const least = std::stoul(std::string{counter.substr(counter.find('{') + 1)});
        BOOST_TEST_REQUIRE(least <= n);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
