// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "decide/slot_map.hpp"

#include <boost/test/unit_test.hpp>

#include <bitset>
#include <set>
#include <string>
#include <vector>

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
    BOOST_TEST(request_record("a", "u:take") == "colock_once:{a}:u:take");
    BOOST_TEST(request_record("{a}", "u:take") == "colock_once:{a}:{a}:u:take");
    BOOST_TEST(leader_words("a") == "colock_leader:{a}");
    BOOST_TEST(leader_words("pa", "p") == "pcolock_leader:{pa}");
    BOOST_TEST(leader_words("{a}") == "colock_leader:{a}");
    BOOST_TEST(request_record("{a}", "u:take") != request_record("a", "u:take"));
    BOOST_TEST(request_record("p{a}", "u", "p") != request_record("pa", "u", "p"));
    for (auto const* name : {"order", "x{a}y", "{a}", "{a}{", "a{b}c}"}) {
        BOOST_TEST(keeps_slot("", name), name);
        BOOST_TEST(slot_of(permit_leases(name)) == slot_of(name));
        BOOST_TEST(slot_of(request_record(name, "u")) == slot_of(name));
        BOOST_TEST(slot_of(semaphore_channel(name)) == slot_of(name));
        BOOST_TEST(slot_of(leader_words(name)) == slot_of(name), name);
    }
}

BOOST_AUTO_TEST_CASE(braces_that_name_no_slot)
{
    for (auto const* name : {"a{b", "x{}", "a}b", "{}", "}", "{", "{}{a}", "a}b{c"}) {
        BOOST_TEST(!keeps_slot("", name), name);
        BOOST_TEST(!keeps_slot("app:", name), name);
        BOOST_TEST(keeps_slot("{app}:", name), name);  // the prefix names the slot
        BOOST_TEST(
            (slot_of(permit_leases(name)) != slot_of(name) ||
             slot_of(lease_prefix(name) + ":u:rwlock_timeout:1") != slot_of(name)),
            name
        );
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

BOOST_AUTO_TEST_CASE(mailboxes_are_one_for_all_or_one_a_slot)
{
    BOOST_TEST(mailbox_prefix({}) == "redisson_lock__channel:{colock}:mailbox:");
    BOOST_TEST(mailbox_prefix({}, "shop:") == "shop:redisson_lock__channel:{colock}:mailbox:");
    BOOST_TEST(mailbox_prefix(slot_of("9"), "shop:") == "shop:redisson_lock__channel:{9}:mailbox:");
    for (unsigned slot = 0; slot < slot_count; slot += 97)
        BOOST_TEST_REQUIRE(slot_of(mailbox_prefix(slot) + "id") == slot);
}

// A lock may have any name, also that of the tag.
BOOST_AUTO_TEST_CASE(a_mailbox_is_no_channel_of_a_lock)
{
    BOOST_TEST(mailbox_prefix({}) + "id" != lock_channel("colock") + ":id");
    BOOST_TEST(mailbox_prefix(slot_of("9")) + "id" != lock_channel("9") + ":id");
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

namespace colock::test {

namespace {

using decide::read_redirection;
using decide::redirection;
using decide::reply;
using decide::slot_map;
using decide::slot_range;
using kind = redirection::kind;

BOOST_AUTO_TEST_SUITE(decide_redirection)

BOOST_AUTO_TEST_CASE(who_has_the_slot)
{
    auto const moved = read_redirection("MOVED 3999 127.0.0.1:6381");
    BOOST_TEST((moved.what == kind::moved));
    BOOST_TEST(moved.slot == 3'999U);
    BOOST_TEST(moved.host == "127.0.0.1");
    BOOST_TEST(moved.port == 6'381);
    auto const ask = read_redirection("ASK 0 ::1:7000");
    BOOST_TEST((ask.what == kind::ask));
    BOOST_TEST(ask.host == "::1");
    BOOST_TEST(ask.port == 7'000);
    BOOST_TEST(read_redirection("MOVED 16383 :1").host == "");
    BOOST_TEST(read_redirection("MOVED 16383 ?:1").host == "");
}

BOOST_AUTO_TEST_CASE(a_redirection_to_nowhere_is_none)
{
    for (auto const* text :
         {"MOVED",
          "MOVED ",
          "MOVED 1",
          "MOVED 1 host",
          "MOVED x host:1",
          "MOVED 16384 host:1",
          "MOVED 1 host:65536",
          "MOVED 1 host:",
          "ASK 1 host:x",
          "ASKING 1 host:1",
          "",
          "ERR wrong"})
        BOOST_TEST((read_redirection(text).what == kind::none), text);
}

BOOST_AUTO_TEST_CASE(what_else_a_node_of_a_cluster_says)
{
    BOOST_TEST((read_redirection("TRYAGAIN Multiple keys").what == kind::try_again));
    BOOST_TEST((read_redirection("CLUSTERDOWN Hash slot not served").what == kind::down));
    for (auto const* text :
         {"ERR Script attempted to access a non local key in a cluster node script: 01, on @user",
          "ERR Script attempted to access a non local key in a cluster node",
          "ERR Error running script: Lua script attempted to access a non local key",
          "ERR Attempted to access a non local key in a cluster node script: on @user_script:1."})
        BOOST_TEST((read_redirection(text).what == kind::cut_off), text);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(decide_slot_map)

reply range(int first, int last, std::string const& host, int port)
{
    auto const node = reply::of(std::vector{
        reply::of(std::string_view{host}), reply::of(std::int64_t{port}), reply::of("id")});
    return reply::of(std::vector{
        reply::of(std::int64_t{first}), reply::of(std::int64_t{last}), node, node});
}

BOOST_AUTO_TEST_CASE(what_cluster_slots_says)
{
    auto const all = reply::of(std::vector{range(0, 99, "a", 1), range(100, 16'383, "", 2)});
    auto const read = decide::read_cluster_slots(all, "asked");
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST((*read == std::vector<slot_range>{{0, 99, {"a", 1}}, {100, 16'383, {"asked", 2}}}));
    BOOST_TEST(decide::read_cluster_slots(reply::of(std::vector<reply>{}), "h")->empty());
    // A node that does not know its own host, or has no port for this kind of connection.
    auto const odd = reply::of(std::vector{range(0, 1, "?", 1), range(2, 3, "b", 0)});
    BOOST_TEST(decide::read_cluster_slots(odd, "h")->empty());
    // The preferred kind of host is a name, and the node has none; its address stands beside.
    auto const node = reply::of(std::vector{
        reply::of("?"),
        reply::of(std::int64_t{3}),
        reply::of("id"),
        reply::of(std::vector{
            reply::of("hostname"), reply::of(""), reply::of("ip"), reply::of("10.0.0.3")})});
    auto const nameless = reply::of(std::vector{
        reply::of(std::vector{reply::of(std::int64_t{0}), reply::of(std::int64_t{1}), node})});
    auto const found = decide::read_cluster_slots(nameless, "h");
    BOOST_TEST_REQUIRE(found.has_value());
    BOOST_TEST((*found == std::vector<slot_range>{{0, 1, {"10.0.0.3", 3}}}));
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_to_cluster_slots)
{
    auto const is_refused = [](reply const& r) { return !decide::read_cluster_slots(r, "h"); };
    BOOST_TEST(is_refused(reply{}));
    BOOST_TEST(is_refused(reply::error("ERR")));
    BOOST_TEST(is_refused(reply::of(std::vector{reply::of(1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(-1, 1, "h", 1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(0, 16'384, "h", 1)})));
    BOOST_TEST(is_refused(reply::of(std::vector{range(0, 1, "h", 65'536)})));
    std::vector<reply> crowd;
    for (int slot = 0; slot != static_cast<int>(decide::most_nodes); ++slot)
        crowd.push_back(range(slot, slot, "h", 1 + slot));
    BOOST_TEST(!is_refused(reply::of(crowd)));
    crowd.push_back(range(9'999, 9'999, "another", 1));
    BOOST_TEST(is_refused(reply::of(crowd)));
    BOOST_TEST(is_refused(reply::of(std::vector{range(0, 16'383, "h", 1), range(7, 7, "h", 1)})));
    auto replicas = range(0, 1, "h", 1);
    for (int i = 0; i != static_cast<int>(decide::most_nodes); ++i)
        replicas.items.push_back(range(0, 0, "r", 1 + i).items[2]);
    BOOST_TEST(is_refused(reply::of(std::vector{replicas})));
}

BOOST_AUTO_TEST_CASE(only_what_changes_is_told)
{
    slot_map map;
    BOOST_TEST(map.owner_of(5) == slot_map::nobody);
    BOOST_TEST(!map.is_whole());
    BOOST_TEST(map.assign({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}}).count() == 16'384U);
    BOOST_TEST(map.is_whole());
    BOOST_TEST(map.assign({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}}).none());
    auto const changed = map.assign({{0, 89, {"a", 1}}, {90, 16'383, {"b", 1}}});
    BOOST_TEST(changed.count() == 10U);
    BOOST_TEST(changed[90]);
    BOOST_TEST(map.assign({{0, 90, {"a", 1}}}).count() == 1U);
    BOOST_TEST(!map.is_whole());
    BOOST_TEST(map.owner_of(16'383) == map.number_of({"b", 1}));  // it may be there still
    BOOST_TEST(map.assign({{0, 16'383, {"a", 1}}}).count() == 16'293U);
    BOOST_TEST(map.is_whole());
    BOOST_TEST(!map.serves(1));
}

BOOST_AUTO_TEST_CASE(a_node_keeps_its_number)
{
    slot_map map;
    map.assign({{0, 99, {"a", 1}}, {100, 16'383, {"b", 1}}});
    BOOST_TEST(!map.move(100, {"b", 1}));
    BOOST_TEST(map.move(100, {"c", 1}));
    BOOST_TEST(map.owner_of(100) == 2U);
    map.assign({{0, 16'383, {"c", 1}}});
    BOOST_TEST(!map.serves(0));
    map.assign({{0, 16'383, {"a", 1}}});
    BOOST_TEST(map.owner_of(7) == 0U);
    BOOST_TEST(map.nodes().size() == 3U);
}

// Redis before 7.0 puts the place in the script before the words, and later versions behind them.
BOOST_AUTO_TEST_CASE(errors_within_scripts_are_told_by_their_words)
{
    using decide::fault;
    std::string const place = "@user_script: 12: ";
    std::string const call = "ERR Error running script (call to f_0123): @user_script:12: ";
    for (std::string const& before :
         {std::string{}, place, place + "-", call, call + place, call + place + "-"}) {
        auto const of = [&](std::string const& words) { return decide::classify(before + words); };
        BOOST_TEST((of("READONLY You can't write to a replica.") == fault::read_only));
        BOOST_TEST((of("OOM command not allowed: 'maxmemory'.") == fault::passing));
        BOOST_TEST((of("MISCONF Redis is configured to save") == fault::passing));
        BOOST_TEST((of("WRONGTYPE Operation against a key") == fault::wrong_type));
        BOOST_TEST((of("LOADING Redis is loading the dataset") == fault::not_now));
        BOOST_TEST((of("ERR something else") == fault::refused));
    }
    BOOST_TEST(
        (decide::classify("READONLY You can't write script: 0123, on @user_script:12.") ==
         fault::read_only)
    );
    BOOST_TEST((decide::classify("ERR user_script: READONLY") == fault::refused));
    BOOST_TEST((decide::classify("ERR @user_script:") == fault::refused));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
