// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How many fencing tokens the holds of a busy lock cost.
#include "locks/quorum_steps.hpp"
#include "unit/service/group.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

namespace colock::test {

namespace {

/// A server that counts the tokens it gives.
struct busy : served {
    explicit busy(config settings = short_leases()) : served{std::move(settings)} {}

    /// The i-th acquire asks for what `options_of(i)` says. Each is granted and released in its
    /// turn; tokens must rise. Returns how many tokens were drawn for them.
    template <class Lock, class OptionsOf>
    std::int64_t pass_on(Lock const& which, int times, OptionsOf const& options_of)
    {
        std::vector<pending_hold> got;
        for (int i = 0; i != times; ++i)
            got.push_back(take(which, options_of(i)));
        auto const before = redis.last_token() - 1;  // the first has it already
        std::uint64_t last = 0;
        for (auto& each : got) {
            // Spin locks wait between their tries.
            BOOST_TEST_REQUIRE(time.advance_until([&] { return each.is_done(); }, 10s));
            BOOST_TEST_REQUIRE(each.succeeded());
            BOOST_TEST(each.value().fencing_token() > last);
            last = each.value().fencing_token();
            time.advance(turn);
            BOOST_TEST(release(each.value()).succeeded());
            redis.draw_tokens(drawn_by_others);
        }
        return redis.last_token() - before - times * drawn_by_others;
    }
    template <class Lock>
    std::int64_t pass_on(Lock const& which, int times, acquire_options options = {})
    {
        return pass_on(which, times, [&](int) { return options; });
    }

    milliseconds turn{0};
    std::int64_t drawn_by_others = 0;  ///< from the same counter, after each hold
};

BOOST_FIXTURE_TEST_SUITE(service_tokens, busy)

BOOST_AUTO_TEST_CASE(holds_with_leases_of_their_own_draw_one_each)
{
    BOOST_TEST(pass_on(mutex(), 64, {.lease = 5s}) == 64);
}

struct long_tenures : busy {
    long_tenures()
        : busy{[] {
            auto c = short_leases();
            c.max_tenure = 1s;
            return c;
        }()}
    {}
};

BOOST_AUTO_TEST_CASE(spin_locks_draw_one_each)
{
    BOOST_TEST(pass_on(spin_lock{client, "k"}, 16) == 16);
}

BOOST_AUTO_TEST_CASE(where_subscriptions_are_refused_one_each_is_drawn)
{
    server->forbidden.insert(channel());
    BOOST_TEST(pass_on(mutex(), 32) == 32);
}

BOOST_AUTO_TEST_CASE(few_who_wait_draw_as_many)
{
    for (int i = 0; i != 10; ++i) {
        BOOST_TEST(pass_on(mutex(), 3) == 3);
        time.advance(5s);  // nothing is remembered
        BOOST_TEST(client.stats().keys == 0U);
    }
}

BOOST_AUTO_TEST_CASE(from_a_counter_that_is_ahead_one_each_is_drawn)
{
    redis.way_to_draw = clock_tokens;
    auto first = acquire();
    release(first.value());
    redis.draw_tokens(1'000'000'000);
    BOOST_TEST(pass_on(mutex(), 64) == 64);
}

// Otherwise tokens would fall, because the scripts of clock tokens say "only one" by the same sign.
BOOST_AUTO_TEST_CASE(a_counter_of_redisson_below_zero_gives_none)
{
    auto const counter = decide::token_counter("k");
    redis.ask({"SET", counter, "-10"});
    auto refused = take(fenced_lock{client, "k"});
    time.advance(10ms);
    BOOST_TEST((refused.is_done() && refused.ec() == error::bad_reply));
}

// Two that may follow each other, and one that may not.
acquire_options two_and_one(int i)
{
    return i % 3 == 2 ? acquire_options{.lease = 5s} : acquire_options{};
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_block_is_kept)
{
    BOOST_TEST(pass_on(mutex(), 60, &two_and_one) <= 60 + 64);
}

BOOST_AUTO_TEST_CASE(where_it_cannot_be_kept_blocks_get_smaller)
{
    drawn_by_others = 1;
    BOOST_TEST(pass_on(mutex(), 300, &two_and_one) <= 2 * 300);
}

BOOST_AUTO_TEST_CASE(tokens_that_others_have_passed_are_not_given)
{
    drawn_by_others = 1'000;
    std::vector<pending_hold> got;
    for (int i = 0; i != 8; ++i)
        got.push_back(acquire());
    release(got[0].value());
    release(got[1].value());  // there is a block now
    BOOST_TEST_REQUIRE(got[2].succeeded());
    open_mailbox();
    auto const said = letter();
    redis.draw_tokens(1'000);
    redis.occupy("k", 10ms);  // somebody has forced it, and had a token
    auto const theirs = static_cast<std::uint64_t>(redis.last_token());
    publish(mailbox(), said);
    BOOST_TEST(!got[2].value());
    release(got[2].value());
    time.advance(20ms);
    BOOST_TEST_REQUIRE(got[3].succeeded());
    BOOST_TEST(got[3].value().fencing_token() > theirs);
}

BOOST_AUTO_TEST_CASE(tokens_that_a_red_lock_has_passed_are_not_given)
{
    std::vector<pending_hold> got;
    for (int i = 0; i != 8; ++i)
        got.push_back(acquire());
    release(got[0].value());
    release(got[1].value());  // there is a block now
    BOOST_TEST_REQUIRE(got[2].succeeded());
    redis.draw_tokens(1'000);
    auto const raised = static_cast<std::uint64_t>(redis.last_token());
    set_token({inside().shared_from_this(), {"k"}}, got[2].value(), raised);
    time.settle();
    release(got[2].value());
    BOOST_TEST_REQUIRE(got[3].succeeded());
    BOOST_TEST(got[3].value().fencing_token() > raised);
}

BOOST_AUTO_TEST_SUITE_END()

// The locks that differ from the plain one in little.

BOOST_FIXTURE_TEST_SUITE(service_spin_lock, served)

BOOST_AUTO_TEST_CASE(pauses_grow_and_nothing_is_subscribed)
{
    redis.occupy("k", 10s);
    auto waiting = take(spin_lock{client, "k", {100ms, 400ms, 2}});
    std::vector<milliseconds> pauses;
    for (int i = 0; i != 5; ++i) {
        auto const before = time.now();
        auto const sent = server->count(scripts::acquire);
        BOOST_TEST_REQUIRE(
            time.advance_until([&] { return server->count(scripts::acquire) != sent; }, 500ms)
        );
        pauses.push_back(std::chrono::ceil<milliseconds>(time.now() - before));
    }
    BOOST_TEST((pauses[0] >= 50ms && pauses[0] <= 100ms));
    BOOST_TEST((pauses[1] >= 100ms && pauses[1] <= 200ms));
    for (std::size_t i = 2; i != 5; ++i)
        BOOST_TEST((pauses[i] >= 200ms && pauses[i] <= 400ms));
    BOOST_TEST(server->changes().empty());
    cancel(waiting);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_lease_is_not_slept_through)
{
    redis.occupy("k", 30ms);
    auto waiting = take(spin_lock{client, "k", {1s, 1s, 1}});
    time.advance(31ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_script_hands_over)
{
    spin_lock const mine{client, "k"};
    auto first = take(mine), second = take(mine);
    auto const fields = redis.fields("k");
    auto const sent = server->written().size();
    release(first.value());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(server->written().size() == sent + 1);
    BOOST_TEST((redis.fields("k") == fields));
}

BOOST_AUTO_TEST_CASE(a_lock_of_the_same_name_here_hears_its_release)
{
    auto first = take(spin_lock{client, "k"});
    auto second = acquire();
    BOOST_TEST(!second.is_done());
    release(first.value());
    time.advance(1ms);
    BOOST_TEST(second.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(service_fenced_lock, served)

BOOST_AUTO_TEST_CASE(draws_one_token_at_a_time_from_a_counter_of_its_own)
{
    fenced_lock const mine{client, "k"};
    auto first = take(mine), second = take(mine), third = take(mine);
    auto const& asked = server->written().front();
    BOOST_TEST(asked.keys.at(1) == "redisson_lock_token:{k}");
    BOOST_TEST(asked.arguments.at(2) == "1");
    release(first.value());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(last().arguments.at(2) == "1");
    BOOST_TEST(second.value().fencing_token() == first.value().fencing_token() + 1);
    release(second.value());
    BOOST_TEST(third.value().fencing_token() == second.value().fencing_token() + 1);
}

BOOST_AUTO_TEST_CASE(the_last_token_is_a_question)
{
    fenced_lock const mine{client, "k"};
    auto const ask = [&] {
        auto p = mine.token(settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    };
    BOOST_TEST(ask() == 0U);
    auto held = take(mine);
    BOOST_TEST(ask() == held.value().fencing_token());
    BOOST_TEST((last().keys == std::vector<std::string>{"redisson_lock_token:{k}"}));
    release(held.value());
    BOOST_TEST(ask() == held.value().fencing_token());
}

struct prefixed : served {
    prefixed()
        : served{[] {
            auto settings = short_leases();
            settings.key_prefix = "shop:";
            return settings;
        }()}
    {}
};

BOOST_FIXTURE_TEST_CASE(the_question_is_about_the_counter_of_the_acquire, prefixed)
{
    fenced_lock const mine{client, "k"};
    auto const held = take(mine);
    auto const counter = server->written().front().keys.at(1);
    auto p = mine.token(settled());
    BOOST_TEST(counter == "shop:redisson_lock_token:{shop:k}");
    BOOST_TEST(last().keys.at(0) == counter);
}

BOOST_AUTO_TEST_CASE(the_question_for_a_bad_name_is_not_sent)
{
    auto p = fenced_lock{client, ""}.token(settled());
    BOOST_TEST((p.ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
