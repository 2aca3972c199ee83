// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/checker.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace colock::test {

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr auto lease = 100 * ms;

/// Writes a history of one key by hand; times in ms.
struct story {
    std::vector<event> events;

    event& add(what kind, std::uint32_t who, std::int64_t at)
    {
        event e;
        e.kind = kind;
        e.process = who;
        e.attempt = 1;
        e.at = at * ms;
        events.push_back(e);
        return events.back();
    }
    story& then(what kind, std::uint32_t who, std::int64_t at)
    {
        add(kind, who, at);
        return *this;
    }
    /// Asked of the server just before, unless it is said when.
    story& gets(std::uint32_t who, std::int64_t at, std::uint64_t token, std::int64_t sent = -1)
    {
        auto& e = add(what::got, who, at);
        e.token = token;
        e.valid_until = (sent < 0 ? at - 1 : sent) * ms + lease;
        return *this;
    }
    story& holds(std::uint32_t who, std::int64_t from, std::int64_t to, std::uint64_t token)
    {
        then(what::asked, who, from).gets(who, from + 1, token).then(what::left, who, to);
        add(what::released, who, to).well = true;
        return *this;
    }
    /// Sometime between the two the server lost what it had granted of the key.
    story& loses(std::int64_t from, std::int64_t to, std::uint32_t key = 0)
    {
        auto& e = add(what::taken, 0, to);
        e.valid_until = from * ms;
        e.key = key;
        return *this;
    }
    story& writes(std::uint32_t who, std::int64_t at, std::int64_t order)
    {
        auto& e = add(what::used, who, at);
        e.accepted = order != 0;
        e.order = order;
        e.valid_until = (at + 1) * ms;
        return *this;
    }
    findings check()
    {
        std::ranges::stable_sort(events, {}, &event::at);
        return test::check(events, lease);
    }
};

bool is_clean(findings const& f)
{
    return f.never() + f.overlaps + f.overlaps_of_stopped + f.violations_of_taken == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(history_checker)

BOOST_AUTO_TEST_CASE(one_after_the_other_is_clean)
{
    auto const found = story{}.holds(1, 0, 10, 5).holds(2, 11, 20, 6).check();
    BOOST_TEST(is_clean(found));
    BOOST_TEST(found.sections == 2);
}

BOOST_AUTO_TEST_CASE(two_at_once)
{
    auto const found = story{}.holds(1, 0, 10, 5).holds(2, 2, 20, 6).check();
    BOOST_TEST(found.overlaps == 1);
    BOOST_TEST(found.violations == 1);
    BOOST_TEST(found.examples.size() == 2U);
}

// A stop is no reason to grant a lock twice.
BOOST_AUTO_TEST_CASE(a_double_grant_beside_a_stopped_process)
{
    story all;
    all.holds(1, 0, 90, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 80);
    auto const found = story{all}.holds(2, 50, 60, 6).check();
    BOOST_TEST(found.overlaps == 0);
    BOOST_TEST(found.overlaps_of_stopped == 1);
    BOOST_TEST(found.violations == 1);
    BOOST_TEST(story{all}.then(what::told, 1, 40).holds(2, 50, 60, 6).check().violations == 0);
}

BOOST_AUTO_TEST_CASE(what_was_killed_is_protected_until_its_lease_ends)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 1, 5).then(what::killed, 1, 10);
    BOOST_TEST(story{all}.holds(2, 50, 60, 6).check().violations == 1);
    BOOST_TEST(story{all}.holds(2, 101, 110, 6).check().violations == 0);
    // It has released before the signal came.
    BOOST_TEST(story{all}.then(what::left, 1, 11).holds(2, 50, 60, 6).check().violations == 0);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_is_noted_protects)
{
    story all;
    all.holds(1, 0, 190, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 120);
    all.holds(2, 130, 140, 6);
    BOOST_TEST(story{all}.check().violations == 0);
    all.add(what::used, 1, 150).valid_until = 151 * ms;
    BOOST_TEST(all.check().violations == 1);
}

BOOST_AUTO_TEST_CASE(what_a_server_lost_is_counted_apart)
{
    auto const two = [](std::int64_t from, std::int64_t to, std::uint32_t key) {
        return story{}.holds(1, 10, 90, 5).loses(from, to, key).holds(2, 50, 60, 6).check();
    };
    BOOST_TEST(two(20, 30, 0).violations == 0);
    BOOST_TEST(two(20, 30, 0).violations_of_taken == 1);
    BOOST_TEST(two(20, 30, every_key).violations == 0);
    BOOST_TEST(two(20, 30, 1).violations == 1);  // another key
    BOOST_TEST(two(1, 5, 0).violations == 1);    // before either was granted
    BOOST_TEST(two(70, 80, 0).violations == 1);  // after both were
}

BOOST_AUTO_TEST_CASE(a_renewal_after_a_loss_protects_again)
{
    story all;
    all.holds(1, 0, 190, 5).loses(20, 30).holds(2, 101, 110, 6);
    BOOST_TEST(story{all}.check().violations == 0);
    all.add(what::used, 1, 100).valid_until = 131 * ms;
    BOOST_TEST(all.check().violations == 1);
}

BOOST_AUTO_TEST_CASE(a_hold_in_vain_has_a_reason)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 300, 5, 1).then(what::left, 1, 301);
    BOOST_TEST(story{all}.check().in_vain == 1);
    BOOST_TEST(story{all}.check().in_vain_for_no_reason == 1);
    story still{all};
    still.add(what::stood_still, 1, 299).valid_until = 5 * ms;
    BOOST_TEST(still.check().in_vain_for_no_reason == 0);
    BOOST_TEST(story{all}.loses(150, 160).check().in_vain_for_no_reason == 0);
    BOOST_TEST(story{all}.loses(150, 160, 1).check().in_vain_for_no_reason == 1);
}

BOOST_AUTO_TEST_CASE(an_error_is_in_order_where_the_server_refuses)
{
    story all;
    all.then(what::asked, 1, 10).then(what::failed, 1, 20);
    auto const refused = [&](std::int64_t from, std::int64_t to) {
        story one{all};
        auto& e = one.add(what::refused, 0, to);
        e.valid_until = from * ms;
        return one.check();
    };
    BOOST_TEST(all.check().errors == 1);
    BOOST_TEST(refused(5, 15).errors == 0);
    BOOST_TEST(refused(5, 15).errors_of_refusals == 1);
    BOOST_TEST(refused(1, 5).errors == 1);
    BOOST_TEST(refused(21, 30).errors == 1);
}

BOOST_AUTO_TEST_CASE(a_refused_write_of_who_ran)
{
    story all;
    all.holds(1, 0, 40, 5).holds(2, 10, 20, 6).writes(2, 12, 1).writes(1, 14, 0);
    BOOST_TEST(story{all}.check().refused_writes_of_running == 1);
    all.then(what::stopped, 1, 15).then(what::resumed, 1, 30);
    BOOST_TEST(all.check().refused_writes_of_running == 0);
}

BOOST_AUTO_TEST_CASE(who_was_told_before_is_none_of_the_two)
{
    auto of_first = story{}.then(what::asked, 1, 0).gets(1, 1, 5).then(what::told, 1, 9);
    of_first.then(what::left, 1, 30);
    BOOST_TEST(is_clean(story{of_first}.holds(2, 9, 20, 6).check()));
    BOOST_TEST(story{of_first}.holds(2, 7, 20, 6).check().overlaps == 1);
}

BOOST_AUTO_TEST_CASE(who_was_given_no_time_to_run_is_counted_apart)
{
    story all;
    all.holds(1, 0, 150, 5);
    all.add(what::stood_still, 1, 148).valid_until = 2 * ms;
    all.holds(2, 110, 130, 6);
    auto const found = all.check();
    BOOST_TEST(found.overlaps == 0);
    BOOST_TEST(found.overlaps_of_stopped == 1);
    BOOST_TEST(found.longest_standstill == 146 * ms);
}

BOOST_AUTO_TEST_CASE(what_a_process_does_while_it_is_being_killed_counts_for_nothing)
{
    story all;
    all.then(what::asked, 1, 0).then(what::killed, 1, 1).gets(1, 2, 5).then(what::left, 1, 3);
    all.then(what::asked, 1, 4);
    auto const found = all.check();
    BOOST_TEST(found.sections == 0);
    BOOST_TEST(found.hung == 0);
    BOOST_TEST(is_clean(found), to_string(found));
}

BOOST_AUTO_TEST_CASE(who_stood_still_before_is_not_excused)
{
    story all;
    all.add(what::asked, 1, 0);
    all.add(what::stood_still, 1, 5).valid_until = 1 * ms;
    all.gets(1, 400, 5).then(what::left, 1, 600);
    all.holds(2, 500, 550, 6);
    BOOST_TEST(all.check().overlaps == 1);
}

BOOST_AUTO_TEST_CASE(who_is_stopped_is_counted_apart)
{
    story all;
    all.holds(1, 0, 150, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 120);
    all.holds(2, 101, 110, 6);
    auto const found = all.check();
    BOOST_TEST(found.overlaps == 0);
    BOOST_TEST(found.overlaps_of_stopped == 1);
    BOOST_TEST(found.long_stops == 1);
}

BOOST_AUTO_TEST_CASE(who_was_stopped_and_does_not_hear_when_it_runs_again_is_not_excused)
{
    story all;
    all.holds(1, 0, 400, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 120);
    all.holds(2, 101, 110, 6);
    BOOST_TEST(story{all}.check().overlaps == 1);
    all.add(what::stood_still, 1, 210).valid_until = 130 * ms;
    BOOST_TEST(all.check().overlaps_of_stopped == 1);
}

// The thread beside the library's notes it as well.
BOOST_AUTO_TEST_CASE(a_stop_is_no_standstill_of_the_machine)
{
    story all;
    all.then(what::stopped, 1, 2).then(what::resumed, 1, 900);
    all.add(what::stood_still, 1, 905).valid_until = 1 * ms;
    BOOST_TEST(all.check().longest_standstill == 6 * ms);
}

BOOST_AUTO_TEST_CASE(whoever_writes_after_a_long_stop)
{
    story all;
    all.holds(1, 0, 150, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 120);
    BOOST_TEST(story{all}.writes(1, 121, 1).check().used_after_stop == 1);
    BOOST_TEST(story{all}.writes(1, 2, 1).check().used_after_stop == 0);
}

BOOST_AUTO_TEST_CASE(a_use_past_its_own_validity)
{
    story all;
    all.holds(1, 0, 10, 5).add(what::used, 1, 5).valid_until = 4 * ms;
    BOOST_TEST(all.check().used_after_validity == 1);
}

BOOST_AUTO_TEST_CASE(a_write_of_an_earlier_holder_after_one_of_a_later)
{
    story all;
    all.holds(1, 0, 30, 5).holds(2, 2, 20, 6);
    BOOST_TEST(story{all}.writes(1, 1, 1).writes(2, 4, 2).check().stale_writes == 0);
    BOOST_TEST(story{all}.writes(2, 4, 1).writes(1, 5, 2).check().stale_writes == 1);
    BOOST_TEST(story{all}.writes(2, 4, 1).writes(1, 5, 0).check().stale_writes == 0);
}

// Who has waited since before is the later one by when its request was sent.
BOOST_AUTO_TEST_CASE(a_write_after_one_of_who_had_asked_before)
{
    auto const two = [](std::int64_t sent) {
        story all;
        all.then(what::asked, 2, 0).holds(1, 1, 30, 6).gets(2, 10, 5, sent).then(what::left, 2, 20);
        all.add(what::released, 2, 21).well = true;
        return all.writes(2, 11, 1).writes(1, 12, 2).check();
    };
    BOOST_TEST(two(9).stale_writes == 1);
    BOOST_TEST(two(9).tokens_not_rising == 1);
    BOOST_TEST(two(1).stale_writes == 0);
    BOOST_TEST(two(1).tokens_not_rising == 0);
}

// A permit of a semaphore: its holder has it until he gives it back, however long that takes.
BOOST_AUTO_TEST_CASE(what_has_no_lease_is_held_until_it_is_given_back)
{
    auto const second_at = [](std::int64_t at) {
        story all;
        all.then(what::asked, 1, 0).gets(1, 1, 0).events.back().valid_until = no_lease;
        all.then(what::left, 1, 900);
        all.add(what::released, 1, 901).well = true;
        return all.holds(2, at, at + 5, 0).check();
    };
    BOOST_TEST(second_at(800).violations == 1);
    BOOST_TEST(is_clean(second_at(902)));
}

// Its process was stopped between the answer and the note.
BOOST_AUTO_TEST_CASE(who_notes_only_when_it_is_over_that_he_got_it)
{
    story all;
    all.then(what::asked, 1, 0).holds(2, 110, 400, 6).gets(1, 300, 5, 1).then(what::left, 1, 301);
    auto const found = all.check();
    BOOST_TEST(found.overlaps == 0);
    BOOST_TEST(found.tokens_out_of_turn == 0);
}

// Within a process a lock goes on to whoever asks, also where it is lost and nobody knows yet.
BOOST_AUTO_TEST_CASE(who_was_passed_on_a_lost_lock_is_not_later_than_who_took_it)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 1, 9).then(what::asked, 2, 5).gets(2, 5, 8, 1);
    all.writes(2, 6, 1).writes(1, 7, 2).then(what::left, 1, 8).then(what::told, 2, 8);
    auto const found = all.check();
    BOOST_TEST(found.tokens_not_rising == 0);
    BOOST_TEST(found.stale_writes == 0);
}

BOOST_AUTO_TEST_CASE(how_long_the_first_is_inside_with_another)
{
    BOOST_TEST(story{}.holds(1, 0, 10, 5).holds(2, 2, 20, 6).check().longest_overlap == 7 * ms);
    BOOST_TEST(story{}.holds(1, 0, 10, 5).holds(2, 2, 4, 6).check().longest_overlap == 7 * ms);
}

BOOST_AUTO_TEST_CASE(a_wait_begins_anew_behind_one_who_died_in_the_queue)
{
    story all;
    all.holds(1, 0, 10, 5)
        .then(what::asked, 2, 1)
        .then(what::asked, 3, 2)
        .then(what::killed, 2, 50);
    all.gets(3, 110, 6).then(what::left, 3, 111).add(what::released, 3, 112).well = true;
    std::ranges::stable_sort(all.events, {}, &event::at);
    auto found = check(all.events, lease, {0});
    BOOST_TEST(found.queued_wait_after(ending::killed) == 60 * ms);
    BOOST_TEST(found.queued_wait_after(ending::released) == 40 * ms);
    BOOST_TEST(found.wait_after(ending::killed) == 0);
    found = check(all.events, lease);
    BOOST_TEST(found.wait_after(ending::released) == 100 * ms);
}

BOOST_AUTO_TEST_CASE(the_longest_attempt)
{
    story all;
    all.holds(1, 0, 30, 5).then(what::asked, 2, 1).gets(2, 31, 6).then(what::left, 2, 32);
    all.add(what::released, 2, 33).well = true;
    all.then(what::asked, 3, 1).add(what::failed, 3, 90).well = true;  // it was cancelled
    BOOST_TEST(all.check().longest_attempt == 30 * ms);
    BOOST_TEST(check(all.events, lease, {0}).longest_attempt == 0);
    BOOST_TEST(check(all.events, lease, {0}).longest_queued_attempt == 30 * ms);
}

BOOST_AUTO_TEST_CASE(told_when_it_runs_again)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 1, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 200);
    all.then(what::told, 1, 201).add(what::released, 1, 202);
    auto const found = all.check();
    BOOST_TEST(found.told_after_stop == 1);
    BOOST_TEST(found.slept_through == 1);
    BOOST_TEST(found.unaware_after_stop == 0);
}

BOOST_AUTO_TEST_CASE(not_told_when_it_runs_again)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 1, 5).then(what::stopped, 1, 2).then(what::resumed, 1, 200);
    all.then(what::left, 1, 500);
    BOOST_TEST(all.check().unaware_after_stop == 1);
}

// Who asked while the one before was inside isn't known to be the later one by its asking.
BOOST_AUTO_TEST_CASE(tokens_rise_in_turn)
{
    auto const two = [](std::uint64_t first, std::uint64_t second) {
        story all;
        all.then(what::asked, 2, 0).holds(1, 1, 3, first).gets(2, 5, second, 1);
        all.then(what::left, 2, 6);
        all.add(what::released, 2, 7).well = true;
        return all.check();
    };
    BOOST_TEST(two(5, 6).tokens_out_of_turn == 0);
    BOOST_TEST(two(6, 5).tokens_out_of_turn == 1);
    BOOST_TEST(two(6, 5).tokens_not_rising == 0);
}

BOOST_AUTO_TEST_CASE(a_write_without_a_place)
{
    story all;
    all.holds(1, 0, 10, 5).writes(1, 3, 0).events.back().accepted = true;
    BOOST_TEST(all.check().malformed == 1);
}

BOOST_AUTO_TEST_CASE(tokens_rise_with_each_holder)
{
    BOOST_TEST(story{}.holds(1, 0, 10, 6).holds(2, 11, 20, 5).check().tokens_not_rising == 1);
    BOOST_TEST(story{}.holds(1, 0, 10, 6).holds(2, 11, 20, 6).check().tokens_not_rising == 1);
    // Both asked before either had it: whoever was first at the server isn't known.
    BOOST_TEST(
        story{}
            .then(what::asked, 1, 0)
            .holds(2, 0, 3, 6)
            .gets(1, 5, 5, 1)
            .then(what::left, 1, 6)
            .check()
            .tokens_not_rising == 0
    );
}

BOOST_AUTO_TEST_CASE(readers_share)
{
    story all;
    all.holds(1, 0, 10, 0).holds(2, 2, 20, 0);
    for (auto& e : all.events)
        e.shared = true;
    BOOST_TEST(is_clean(story{all}.check()));
    BOOST_TEST(all.holds(3, 12, 22, 7).check().overlaps == 1);
}

BOOST_AUTO_TEST_CASE(waits_of_a_lock_that_nobody_has)
{
    story all;
    all.holds(1, 0, 10, 5).then(what::asked, 2, 5).gets(2, 40, 6).then(what::left, 2, 41);
    auto found = all.check();
    BOOST_TEST(found.wait_after(ending::released) == 30 * ms);
    all.then(what::fault_begins, 0, 12).then(what::fault_is_over, 0, 35);
    found = all.check();
    BOOST_TEST(found.wait_after(ending::released) == 5 * ms);
}

BOOST_AUTO_TEST_CASE(waits_for_what_the_killed_left)
{
    story all;
    all.then(what::asked, 1, 0).gets(1, 1, 5).then(what::killed, 1, 10);
    all.then(what::asked, 2, 5).gets(2, 110, 6).then(what::left, 2, 111);
    auto found = all.check();
    BOOST_TEST(found.wait_after(ending::killed) == 100 * ms);
    BOOST_TEST(is_clean(found));
}

BOOST_AUTO_TEST_CASE(who_never_gets_an_answer_hangs)
{
    BOOST_TEST(story{}.then(what::asked, 1, 0).check().hung == 1);
    BOOST_TEST(story{}.then(what::asked, 1, 0).then(what::killed, 1, 2).check().hung == 0);
    BOOST_TEST(story{}.then(what::asked, 1, 0).then(what::failed, 1, 2).check().hung == 0);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_said)
{
    BOOST_TEST(story{}.gets(1, 0, 5).check().malformed == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
