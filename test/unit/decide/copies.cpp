// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How many copies a profile asks for, which copies cover which, and what can never be had.
#include "decide/copies.hpp"
#include "decide/known_replicas.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test {

using decide::copies;
using decide::copies_told;
using decide::known_replicas;
using decide::slot_map;
using decide::slot_range;

namespace {

constexpr auto all_levels = {
    durability::none, durability::replica, durability::majority, durability::all, durability::disk};

std::vector<unsigned> asked_of(copies const& what)
{
    std::vector<unsigned> asked;
    for (unsigned there = 1; there != 5; ++there)
        asked.push_back(what.replicas(there));
    return asked;
}

using numbers = std::vector<unsigned>;

}  // namespace

BOOST_AUTO_TEST_SUITE(decide_copies)

BOOST_AUTO_TEST_CASE(a_profile_asks_for_so_many_of_so_many_replicas)
{
    BOOST_TEST(asked_of(copies{durability::none}) == (numbers{0, 0, 0, 0}));
    BOOST_TEST(asked_of(copies{durability::replica}) == (numbers{1, 1, 1, 1}));
    BOOST_TEST(asked_of(copies{durability::majority}) == (numbers{1, 1, 2, 2}));
    BOOST_TEST(asked_of(copies{durability::all}) == (numbers{1, 2, 3, 4}));
    BOOST_TEST(asked_of(copies{durability::disk}) == (numbers{1, 1, 2, 2}));
    BOOST_TEST(asked_of(copies::of_replicas(3)) == (numbers{3, 3, 3, 3}));
    for (auto const level : all_levels)
        BOOST_TEST(copies{level}.wants_disk() == (level == durability::disk));
}

BOOST_AUTO_TEST_CASE(without_replicas_only_the_disk_can_be_had)
{
    for (auto const level : all_levels) {
        bool const is_possible = level == durability::none || level == durability::disk;
        BOOST_TEST(copies{level}.can_be_had(0) == is_possible);
        BOOST_TEST(copies{level}.can_be_had(1));
    }
    BOOST_TEST(!copies::of_replicas(2).can_be_had(1));
    BOOST_TEST(copies::of_replicas(2).can_be_had(2));
}

BOOST_AUTO_TEST_CASE(what_covers_another_asks_for_at_least_as_much)
{
    std::vector<copies> some{copies::of_replicas(1), copies::of_replicas(2)};
    for (auto const level : all_levels)
        some.emplace_back(level);
    for (auto const& one : some)
        for (auto const& other : some) {
            auto both = one;
            both |= other;
            BOOST_TEST(both.covers(one));
            BOOST_TEST(both.covers(other));
            if (!one.covers(other))
                continue;
            BOOST_TEST((both == one));
            BOOST_TEST(one.wants_disk() >= other.wants_disk());
            for (unsigned there = 1; there != 9; ++there)
                BOOST_TEST(one.replicas(there) >= other.replicas(there));
        }
    BOOST_TEST(copies{durability::all}.covers(copies{durability::majority}));
    BOOST_TEST(copies{durability::disk}.covers(copies{durability::majority}));
    BOOST_TEST(!copies{durability::disk}.covers(copies{durability::all}));
    BOOST_TEST(!copies{durability::all}.covers(copies{durability::disk}));
    BOOST_TEST(!copies{durability::all}.covers(copies::of_replicas(1)));
}

BOOST_AUTO_TEST_CASE(what_has_been_acknowledged_covers_what_asked_for_no_more)
{
    for (unsigned there = 0; there != 6; ++there)
        for (unsigned got = 0; got <= there; ++got)
            for (bool const on_disk : {false, true}) {
                auto const has = copies::had(got, there, on_disk);
                for (auto const level : all_levels) {
                    copies const wants{level};
                    bool const is_met =
                        got >= wants.replicas(there) && (on_disk || !wants.wants_disk());
                    // Of the disk alone, without replicas, only who has asked is told.
                    if (there != 0 || !wants.wants_disk())
                        BOOST_TEST(has.covers(wants) == is_met);
                }
                for (unsigned n = 0; n != 7; ++n)
                    BOOST_TEST(has.covers(copies::of_replicas(n)) == (got >= n));
            }
}

BOOST_AUTO_TEST_CASE(the_most_that_was_seen_of_a_primary_counts)
{
    known_replicas known;
    address const first{"a", 1}, second{"b", 2};
    unsigned& held = known.of(first);
    known.note(first, 2);
    known.note(second, 1);
    known.note(first, 1);
    for (std::uint16_t i = 3; i != 60; ++i)
        known.note({"c", i}, 3);
    BOOST_TEST(known.of(first) == 2U);
    BOOST_TEST(known.of(second) == 1U);
    BOOST_TEST(&held == &known.of(first));
}

BOOST_AUTO_TEST_CASE(a_replica_that_takes_over_has_as_many)
{
    known_replicas known;
    slot_map map;
    auto const assign = [&](std::vector<slot_range> const& ranges) {
        known.note(ranges, map);
        map.assign(ranges);
    };
    address const a{"a", 1}, b{"b", 2}, c{"c", 3}, d{"d", 4}, e{"e", 5};
    assign({{0, 99, a, {b, c}}, {100, 16'383, d, {}}});
    BOOST_TEST(known.of(a) == 2U);
    BOOST_TEST(known.of(b) == 2U);  // before a map says that it serves
    BOOST_TEST(known.of(d) == 0U);
    assign({{0, 99, e, {}}, {100, 16'383, d, {}}});  // of which no map has told
    BOOST_TEST(known.of(e) == 2U);
    assign({{0, 16'383, d, {}}});  // the slots of a node that goes: no new replicas for this one
    BOOST_TEST(known.of(d) == 0U);
}

BOOST_AUTO_TEST_CASE(what_can_never_be_had_is_told_with_both_numbers_and_a_remedy)
{
    auto const has = [](std::string const& text, char const* word) {
        return text.find(word) != std::string::npos;
    };
    copies_told told;
    BOOST_TEST(told.why_not(copies{durability::all}, 2).empty());
    BOOST_TEST(told.why_not({}, 0).empty());
    auto const many = told.why_not(copies::of_replicas(3), 2);
    BOOST_TEST(has(many, "3 replicas"));
    BOOST_TEST(has(many, "has 2"));
    BOOST_TEST(has(many, "config::replicas"));
    BOOST_TEST(has(told.why_not(copies{durability::majority}, 0), "1 replica has"));
    told.is_wait_refused = true;
    BOOST_TEST(has(told.why_not(copies{durability::replica}, 1), "+wait"));
    BOOST_TEST(told.why_not(copies{durability::disk}, 0).empty());
    told.has_no_aof = true;
    BOOST_TEST(has(told.why_not(copies{durability::disk}, 0), "appendonly yes"));
    BOOST_TEST(!has(told.why_not(copies{durability::all}, 1), "appendonly"));
    told.is_disk_refused = true;
    BOOST_TEST(has(told.why_not(copies{durability::disk}, 0), "+waitaof"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
