// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/backoff.hpp"
#include "decide/fair_wait.hpp"
#include "decide/reply.hpp"
#include "decide/validity.hpp"
#include "decide/wait_plan.hpp"
#include <colock/fence.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

namespace {

using namespace colock::decide;
using namespace std::chrono_literals;

// ---- Validity ------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_validity)

time_point const sent{1'000s};

BOOST_AUTO_TEST_CASE(a_hundredth_and_two_milliseconds_are_for_the_clocks)
{
    BOOST_TEST((drift(30s) == 302ms));
    BOOST_TEST((valid_until(sent, 30s) == sent + 30s - 302ms));
    BOOST_TEST((valid_until(sent, 100ms) == sent + 97ms));
    BOOST_TEST((valid_until(sent, 3ms) == sent + 1ms));
}

BOOST_AUTO_TEST_CASE(validity_never_ends_before_it_began)
{
    for (auto lease = 0ms; lease <= 3ms; ++lease)
        BOOST_TEST((valid_until(sent, lease) >= sent));
    BOOST_TEST((valid_until(sent, longest_lease) > sent));
}

BOOST_AUTO_TEST_CASE(a_longer_lease_is_valid_longer)
{
    for (auto lease = 0ms; lease < 5s; lease += 7ms)
        BOOST_TEST_REQUIRE((valid_until(sent, lease) <= valid_until(sent, lease + 7ms)));
}

BOOST_AUTO_TEST_CASE(the_loss_is_told_a_tenth_before)
{
    BOOST_TEST((loss_margin(3s, {}) == 300ms));
    BOOST_TEST((loss_margin(30s, {}) == 1s));     // at most
    BOOST_TEST((loss_margin(60ms, {}) == 10ms));  // at least
    BOOST_TEST((loss_margin(20ms, {}) == 5ms));   // but a quarter of the lease
    BOOST_TEST((loss_margin(30s, 5s) == 5s));
    BOOST_TEST((loss_margin(4s, 5s) == 1s));
    BOOST_TEST((loss_margin(3s, 0ms) == 0ms));
}

BOOST_AUTO_TEST_CASE(every_hold_has_a_life_before_its_loss_is_told)
{
    for (auto lease = 10ms; lease < 60s; lease += lease / 10)
        BOOST_TEST_REQUIRE((valid_until(sent, lease) - loss_margin(lease, {}) > sent));
}

BOOST_AUTO_TEST_CASE(half_the_validity_must_be_left)
{
    auto const half = (30s - 302ms) / 2;
    BOOST_TEST(is_fresh(sent, sent, 30s));
    BOOST_TEST(is_fresh(sent + half, sent, 30s));
    BOOST_TEST(!is_fresh(sent + half + 1ms, sent, 30s));
    BOOST_TEST(!is_fresh(sent + 40s, sent, 30s));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Backoff -------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_backoff)

BOOST_AUTO_TEST_CASE(refusals_lengthen_a_pause)
{
    BOOST_TEST((backoff_pause(10ms, 1s, 3, 1, 0) == 10ms));
    BOOST_TEST((backoff_pause(10ms, 1s, 3, 3, 0) == 90ms));
    BOOST_TEST((backoff_pause(10ms, 1s, 3, 3, 0.5) == 68ms));  // less a quarter, rounded up
    BOOST_TEST((backoff_pause(50ms, 1s, 2, 1, 0.999) == 26ms));
    auto const many = std::numeric_limits<std::uint32_t>::max();
    BOOST_TEST((backoff_pause(10ms, 1s, 3, many, 0) == 1s));
    BOOST_TEST((backoff_pause(10ms, 1s, 1, many, 0) == 10ms));  // at once, too
}

BOOST_AUTO_TEST_SUITE_END()

// ---- How long a waiter sleeps ----------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_wait_plan)

constexpr std::chrono::steady_clock::time_point noon{};

BOOST_AUTO_TEST_CASE(until_just_after_the_lease_but_at_most_the_cap)
{
    BOOST_TEST((wake_time(noon, 0, 1s) == noon + 1ms));
    BOOST_TEST((wake_time(noon, 41, 1s) == noon + 42ms));
    BOOST_TEST((wake_time(noon, 999, 1s) == noon + 1'000ms));
    BOOST_TEST(!wake_time(noon, 1'000, 1s));
    BOOST_TEST(!wake_time(noon, 30'000, 1s));
    BOOST_TEST(!wake_time(noon, std::numeric_limits<std::int64_t>::max(), 1s));
}

BOOST_AUTO_TEST_CASE(without_a_lease_the_cap_counts) { BOOST_TEST(!wake_time(noon, -1, 1s)); }

BOOST_AUTO_TEST_CASE(no_time_that_is_named_is_too_long)
{
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    BOOST_TEST((look_again(noon, most, 1s, 0.5) == noon + 1s));
    BOOST_TEST((look_again(noon, -1, 1s, 0.5) == noon + 1s));
    BOOST_TEST((look_again(noon, 41, 1s, 0.5) == noon + 47ms));
    BOOST_TEST((poll_pause(std::chrono::milliseconds{most}, 1s, 0) == 1s));
    BOOST_TEST((poll_pause(41ms, 1s, 0) == 42ms));
}

BOOST_AUTO_TEST_CASE(what_is_free_is_asked_for_now)
{
    BOOST_TEST((wake_time(noon, -2, 1s) == noon));
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Replies -------------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_reply)

reply const nil{};

BOOST_AUTO_TEST_CASE(what_an_error_asks_for)
{
    BOOST_TEST((classify("NOSCRIPT No matching script.") == fault::script_missing));
    for (auto const* text :
         {"LOADING Redis is loading the dataset in memory",
          "BUSY Redis is busy running a script",
          "MASTERDOWN Link with MASTER is down",
          "LOADING"})
        BOOST_TEST((classify(text) == fault::not_now), text);
    BOOST_TEST(
        (classify("READONLY You can't write against a read only replica.") == fault::read_only)
    );
    for (auto const* text :
         {"TRYAGAIN Multiple keys request during rehashing of slot",
          "CLUSTERDOWN The cluster is down",
          "MOVED 3999 127.0.0.1:6381",
          "ERR Script attempted to access a non local key in a cluster node script: 0123, on "
          "@user"})
        BOOST_TEST((classify(text) == fault::redirected), text);
    BOOST_TEST((classify("WRONGTYPE Operation against a key") == fault::wrong_type));
    for (auto const* text :
         {"OOM command not allowed when used memory > 'maxmemory'.",
          "NOREPLICAS Not enough good replicas to write.",
          "MISCONF Redis is configured to save RDB snapshots"})
        BOOST_TEST((classify(text) == fault::passing), text);
    for (auto const* text :
         {"NOPERM this user has no permissions",
          "NOAUTH",
          "",
          " ",
          "ERR unknown command",
          "LOADINGX what",
          "loading",
          "Not LOADING",
          "BUSYGROUP exists"})
        BOOST_TEST((classify(text) == fault::refused), text);
}

BOOST_AUTO_TEST_CASE(granted_and_refused_differ_by_shape_not_by_sign)
{
    using kind = acquire_answer::kind;
    auto const granted = read_acquire(reply::of(17));
    BOOST_TEST((granted.what == kind::granted));
    BOOST_TEST(granted.last_token == 17U);
    BOOST_TEST((read_acquire(reply::of(std::int64_t{0})).what == kind::granted));
    BOOST_TEST(!granted.is_one_token);
    auto const one = read_acquire(reply::of(-17), true);
    BOOST_TEST((one.what == kind::granted && one.is_one_token));
    BOOST_TEST(one.last_token == 17U);
    auto const block = read_acquire(reply::of(17), true);
    BOOST_TEST((block.what == kind::granted && !block.is_one_token));
    BOOST_TEST(block.last_token == 17U);

    auto const refused = read_acquire(reply::of(std::vector{reply::of(29'999)}));
    BOOST_TEST((refused.what == kind::refused));
    BOOST_TEST(refused.pttl == 29'999);
    BOOST_TEST(refused.since == 0);
    auto const counted = read_acquire(reply::of(std::vector{reply::of(29'999), reply::of(12)}));
    BOOST_TEST((counted.what == kind::refused));
    BOOST_TEST(counted.pttl == 29'999);
    BOOST_TEST(counted.since == 12);

    auto const listed = [](std::int64_t what) {
        return read_acquire(reply::of(std::vector{reply::of(29'999), reply::of(12), reply::of(what)}
        ));
    };
    for (std::int64_t sum = 0; sum != 8; ++sum) {
        BOOST_TEST(listed(sum).since == 12);
        BOOST_TEST(listed(sum).stands == ((sum & 1) != 0));
        BOOST_TEST(listed(sum).is_first == ((sum & 2) != 0));
        BOOST_TEST(listed(sum).is_foreign == ((sum & 4) != 0));
    }

    // A hash without TTL: Redisson's own script took its -1 for a grant.
    auto const eternal = read_acquire(reply::of(std::vector{reply::of(-1)}));
    BOOST_TEST((eternal.what == kind::refused));
    BOOST_TEST(eternal.pttl == -1);
}

BOOST_AUTO_TEST_CASE(an_acquire_answer_of_another_shape_takes_nothing)
{
    for (auto const& r :
         {nil,
          reply::of("17"),
          reply::of(-17),  // Redisson's counter, which somebody has set
          reply::error("ERR"),
          reply::of(std::vector<reply>{}),
          reply::of(std::vector{reply::of("1")}),
          reply::of(std::vector{nil}),
          reply::of(std::vector{reply::of(1), nil}),
          reply::of(std::vector{reply::of(1), reply::of(2), reply::of("3")}),
          reply::of(std::vector{reply::of(1), reply::of(2), reply::of(3), reply::of(4)})})
        BOOST_TEST((read_acquire(r).what == acquire_answer::kind::malformed));
}

BOOST_AUTO_TEST_CASE(release_answers)
{
    using kind = release_answer::kind;
    BOOST_TEST((read_release(reply::of(3)).what == kind::released));
    BOOST_TEST(read_release(reply::of(3)).receivers == 3);
    BOOST_TEST((read_release(reply::of(-1)).what == kind::released));
    BOOST_TEST((read_release(nil).what == kind::gone));
    auto const told = [](std::int64_t since) {
        return read_release(reply::of(std::vector{reply::of(4), reply::of(since)}));
    };
    BOOST_TEST((told(0).what == kind::released && told(0).receivers == 4));
    BOOST_TEST((told(0).told && told(0).since == 0 && told(1).told && told(1).since == 1));
    BOOST_TEST(!read_release(reply::of(3)).told);
    for (auto const& r : {reply::of("1"), reply::error("ERR"), reply::of(std::vector<reply>{})})
        BOOST_TEST((read_release(r).what == kind::malformed));
}

BOOST_AUTO_TEST_CASE(what_a_ticket_hears)
{
    using kind = keep_answer::kind;
    BOOST_TEST((read_keep(reply::of(std::int64_t{0})).what == kind::gone));
    for (std::int64_t const ms : {-1, 0, 700}) {
        auto const got = read_keep(reply::of(std::vector{reply::of(ms)}));
        BOOST_TEST((got.what == kind::waits));
        BOOST_TEST(got.ask_in == ms);
    }
    for (auto const& r : {reply{}, reply::of(1), reply::of("x"), reply::of(std::vector<reply>{})})
        BOOST_TEST((read_keep(r).what == kind::malformed));
}

BOOST_AUTO_TEST_CASE(extend_answers)
{
    BOOST_TEST((read_extend(reply::of(1)) == extend_answer::extended));
    BOOST_TEST((read_extend(reply::of(std::int64_t{0})) == extend_answer::gone));
    for (auto const& r : {nil, reply::of("1"), reply::error("ERR"), reply::of(std::vector{nil})})
        BOOST_TEST((read_extend(r) == extend_answer::malformed));
}

BOOST_AUTO_TEST_CASE(a_single_one_is_the_answer_about_all_parts)
{
    auto const list = [](auto... parts) { return reply::of(std::vector<reply>{parts...}); };
    auto const one = reply::of(1), zero = reply::of(std::int64_t{0});
    for (std::size_t const parts : {1U, 3U}) {
        auto const all = list(one);
        BOOST_TEST(is_extended(part_of(&all, parts, parts - 1)));
        for (auto const& other : {list(), list(zero), list(reply::error("ERR")), one, nil}) {
            auto const* const part = part_of(&other, parts, parts - 1);
            BOOST_TEST(!is_extended(part));
            BOOST_TEST((part != nullptr) == (other.items.size() == parts));
        }
    }
    auto const some = list(one, zero, one);
    BOOST_TEST(!is_extended(part_of(&some, 3, 1)));
    BOOST_TEST(is_extended(part_of(&some, 3, 2)));
    BOOST_TEST(part_of(nullptr, 1, 0) == nullptr);
}

BOOST_AUTO_TEST_CASE(inspect_answers)
{
    auto const found = [](std::int64_t pttl, std::string_view mode, std::int64_t fields) {
        return reply::of(std::vector{reply::of(pttl), reply::of(mode), reply::of(fields)});
    };
    auto const held = read_inspect(found(1'500, "", 1));
    BOOST_TEST(held.well_formed);
    BOOST_TEST(held.locked);
    BOOST_TEST(held.pttl == 1'500);
    auto const eternal = read_inspect(found(-1, "", 1));
    BOOST_TEST((eternal.well_formed && eternal.locked && eternal.pttl == -1));
    auto const open = read_inspect(found(-2, "", 0));
    BOOST_TEST((open.well_formed && !open.locked));
    auto const read = read_inspect(found(1, "read", 2));
    BOOST_TEST((read.is_read && !read.is_written));
    auto const written = read_inspect(found(1, "write", 2));
    BOOST_TEST((!written.is_read && written.is_written));
    auto const both = read_inspect(found(1, "write", 3));
    BOOST_TEST((both.is_read && both.is_written));
    for (auto const& r :
         {nil,
          reply::of(5),
          reply::of(std::vector<reply>{}),
          reply::of(std::vector{nil}),
          reply::of(std::vector{reply::of(1), reply::of("")}),
          reply::of(std::vector{reply::of(1), nil, reply::of(1)})})
        BOOST_TEST(!read_inspect(r).well_formed);
}

BOOST_AUTO_TEST_SUITE_END()

// ---- The resource's side ---------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_fence)

BOOST_AUTO_TEST_CASE(what_is_lower_than_the_highest_is_refused)
{
    colock::fence door;
    BOOST_TEST(door.admit(3));
    BOOST_TEST(door.admit(3));  // a holder writes often
    BOOST_TEST(door.admit(7));
    BOOST_TEST(!door.admit(6));
    BOOST_TEST(door.admit(7));
    BOOST_TEST(door.highest() == 7U);
}

BOOST_AUTO_TEST_CASE(no_token_is_refused)
{
    colock::fence door;
    BOOST_TEST(!door.admit(0));
    BOOST_TEST(door.highest() == 0U);
}

BOOST_AUTO_TEST_CASE(begins_with_what_was_stored)
{
    colock::fence door{40};
    BOOST_TEST(!door.admit(39));
    BOOST_TEST(door.admit(40));
    static_assert(colock::fence{5}.highest() == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
