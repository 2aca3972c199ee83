// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "locks/group_hold.hpp"
#include "unit/service/group.hpp"

#include <boost/asio/detached.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

std::ptrdiff_t count_threads()
{
    return std::ranges::distance(std::filesystem::directory_iterator{"/proc/self/task"});
}

/// The counter of a part, at a server that has been up for a day.
reply reached(std::int64_t counter)
{
    return reply::of(std::vector{reply::of(counter), reply::of(std::int64_t{86'400})});
}

/// Withholds answers for a while.
struct slow : served {
    /// Somebody else has the first part, so it gives way for a moment.
    pending<group_hold> take_behind(red_lock const& of)
    {
        auto held = take(of);
        BOOST_TEST(!held.is_done());
        time.advance(1ms);
        return held;
    }

    using server_function = std::function<std::optional<answer>(call const&)>;

    /// Answers nothing about this key from now on: how the server answers otherwise.
    server_function withhold(std::string key)
    {
        auto const others = server->serve;
        server->serve = [others, key = std::move(key)](call const& c) {
            return c.key() == key ? std::nullopt : others(c);
        };
        return others;
    }

    /// Answers all that was asked about it since the acquire was over.
    void answer_for(std::string const& key, server_function const& others)
    {
        server->serve = others;
        auto const all = server->written();
        for (std::size_t i = 0; i != all.size(); ++i)
            if (all[i].key() == key && all[i].what != &scripts::acquire &&
                all[i].what != &scripts::raise)
                server->answer_call(i, *others(all[i]));
        time.settle();
    }
};

BOOST_FIXTURE_TEST_SUITE(service_red_lock, slow)

BOOST_AUTO_TEST_CASE(most_are_enough)
{
    redis.occupy("c", 5s);
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST((held.value().valid_until() == clock::now() + validity));
    BOOST_TEST(held.value().fencing_token(0) != 0U);
    BOOST_TEST(held.value().fencing_token(2) == 0U);
    auto told = lost(held.value());
    redis.ask({"DEL", "b"});
    time.advance(1'100ms);
    BOOST_TEST(told.succeeded());
    release(held.value());
    BOOST_TEST(!redis.is_locked("a"));
}

// It may be about to end: somebody else gives way to the one with the first part.
BOOST_AUTO_TEST_CASE(who_has_the_first_part_asks_once_more)
{
    redis.occupy("b", 5s);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(redis.is_locked("a"));
    redis.ask({"DEL", "b"});
    time.advance(1ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(then_all_is_given_back_and_the_first_refused_part_is_waited_for)
{
    redis.occupy("b", 400ms);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    time.advance(1ms);
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(!redis.is_locked("a"));
    auto const asked = server->count(scripts::acquire);
    time.advance(398ms);
    BOOST_TEST(server->count(scripts::acquire) == asked);
    time.advance(2ms);
    BOOST_TEST(waiting.succeeded());
    BOOST_TEST(!redis.fields("a").empty());
}

BOOST_AUTO_TEST_CASE(who_lacks_the_first_part_gives_way_at_once)
{
    redis.occupy("a", 400ms);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    BOOST_TEST(!redis.is_locked("b"));
    time.advance(401ms);
    BOOST_TEST(waiting.succeeded());
}

// So that whoever was told can ask for the rest.
BOOST_AUTO_TEST_CASE(who_has_most_but_not_the_first_gives_way_once)
{
    redis.occupy("a", 5s);
    auto waiting = take(most());
    BOOST_TEST(!waiting.is_done());
    BOOST_TEST(!redis.is_locked("b"));
    time.advance(1ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_single_try_takes_most_whoever_has_the_first)
{
    redis.occupy("a", 5s);
    BOOST_TEST(take_once(most()).gave_something());
}

BOOST_AUTO_TEST_CASE(a_release_tells_who_waits)
{
    auto first = take(most());
    auto second = take(most());
    time.advance(10ms);
    BOOST_TEST(!second.is_done());
    BOOST_TEST(release(first.value()).succeeded());
    BOOST_TEST(second.succeeded());
    BOOST_TEST(second.value().fencing_token() > 0U);
}

// Its server may have died, while a majority is free.
BOOST_AUTO_TEST_CASE(a_part_is_waited_for_no_longer_than_twice_the_poll_cap)
{
    redis.occupy("a", 5s);
    redis.occupy("b", 900ms);
    auto waiting = take(most());
    time.advance(short_leases().poll_cap - 1ms);
    BOOST_TEST(!waiting.is_done());
    time.advance(short_leases().poll_cap + 1ms);
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_not_waited_for)
{
    server->serve = {};
    auto& first = server->expect(scripts::acquire);
    auto& second = server->expect(scripts::acquire);
    auto& silent = server->expect(scripts::acquire);
    auto held = take(most());
    first.reply(granted(1));
    second.reply(granted(2));
    time.advance(4ms);
    BOOST_TEST(!held.is_done());
    auto& agreed = server->expect(scripts::raise);
    auto& agreed_too = server->expect(scripts::raise);
    time.advance(1ms);
    agreed.reply(reached(2));
    agreed_too.reply(reached(2));
    time.settle();
    BOOST_TEST(held.succeeded());
    auto& undo = server->expect(scripts::release);
    respond(silent, granted(3));
    BOOST_TEST(undo.has_come());
    respond(undo, released());
    redis.attach(*server);
}

// It has twice as long as the majority.
BOOST_AUTO_TEST_CASE(a_distant_server_is_waited_for)
{
    server->serve = {};
    auto& first = server->expect(scripts::acquire);
    auto& second = server->expect(scripts::acquire);
    server->expect(scripts::acquire);
    auto held = take(most());
    never_answer();
    first.reply(granted(1));
    time.advance(20ms);
    second.reply(granted(2));
    time.advance(39ms);
    BOOST_TEST(server->count(scripts::raise) == 0U);
    time.advance(1ms);
    BOOST_TEST(server->count(scripts::raise) == 2U);
}

BOOST_AUTO_TEST_CASE(too_few_answers_are_no_quorum)
{
    cut_all();
    auto once = most().try_acquire(settled());
    time.advance(151ms);
    BOOST_TEST((once.ec() == error::no_quorum));
}

BOOST_AUTO_TEST_CASE(cancelled_while_it_rests)
{
    redis.occupy("b", 5s);
    redis.occupy("c", 5s);
    auto waiting = take(most());
    time.advance(5ms);
    auto const asked = server->count(scripts::acquire);
    cancel(waiting);
    BOOST_TEST(waiting.aborted());
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(server->count(scripts::acquire) == asked);
}

BOOST_AUTO_TEST_CASE(its_wait_runs_out_in_time)
{
    redis.occupy("b", 5s);
    redis.occupy("c", 5s);
    auto waiting = take_for(most(), 300ms);
    time.advance(299ms);
    BOOST_TEST(!waiting.is_done());
    time.advance(200ms);
    BOOST_TEST(waiting.gave_nothing());
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_server_is_not_past_that_of_the_caller)
{
    never_answer();
    auto waiting = take_for(most(), 100ms);  // a server has 150 ms
    time.advance(99ms);
    BOOST_TEST(!waiting.is_done());
    time.advance(1ms);
    BOOST_TEST((waiting.ec() == error::no_quorum));
}

BOOST_AUTO_TEST_CASE(a_limit_that_no_clock_has_is_refused)
{
    std::vector<lock> const parts{mutex("a")};
    BOOST_TEST((take(red_lock{parts, milliseconds::max()}).ec() == error::invalid_argument));
    BOOST_TEST(take(red_lock{parts, 24h}).succeeded());
}

BOOST_AUTO_TEST_CASE(the_error_that_ends_it_is_told)
{
    server->serve = [](call const& c) -> std::optional<answer> {
        if (c.key() == "a")
            return {};
        return answer{answer::kind::failed, {}, error::wrong_type, {}};
    };
    auto waiting = take(most());
    time.advance(150ms);
    BOOST_TEST((waiting.ec() == error::wrong_type));
}

BOOST_AUTO_TEST_CASE(parts_never_won_have_no_say)
{
    auto const threads = count_threads();
    redis.occupy("a", 5s);
    auto held = take_behind(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    redis.ask({"DEL", "b"});
    redis.ask({"DEL", "c"});
    BOOST_TEST((extend(held.value(), 3s).ec() == error::lost));
    BOOST_TEST((release(held.value()).ec() == error::lost));
    BOOST_TEST(count_threads() == threads);  // an empty hold would answer on the system executor
}

BOOST_AUTO_TEST_CASE(each_part_has_the_lease_of_its_client)
{
    elsewhere second{*this, with_lease(300ms)}, third{*this, with_lease(300ms)};
    redis.occupy("a", 5s);
    auto held = take_behind(red_lock{mutex("a"), second.mutex("a"), third.mutex("a")});
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST((held.value().valid_until() == clock::now() + 295ms));
    time.advance(1s);
    BOOST_TEST(bool{held.value()});
}

BOOST_AUTO_TEST_CASE(a_part_that_is_lost_counts_once)
{
    auto parts = std::vector<hold>{};
    for (auto const* name : {"a", "b", "c"})
        parts.push_back(std::move(take(mutex(name)).value()));
    force("a");
    BOOST_TEST(!parts.front());
    auto group = detail::lock_group::of(mutex("a"), mutex("b"), mutex("c"));
    group.by_majority = true;
    auto const core = detail::client_access::inside(client);
    std::vector<decide::quorum_part> const known(3, {.votes_from = time_point::min()});
    acquire_options const unrenewed{.lease = 3s, .as = owner{}};  // so that it is not healed
    auto const whole = detail::hold_access::make<group_hold>(
        make_group_hold(core, group, std::move(parts), known, 0, unrenewed)
    );
    time.settle();
    BOOST_TEST(bool{whole});
    force("b");
    BOOST_TEST(!whole);
}

BOOST_AUTO_TEST_CASE(a_first_client_that_cannot_start_is_spared)
{
    elsewhere bad{*this, with_lease(0ms)}, third{*this};
    auto held = take(red_lock{bad.mutex("a"), mutex("b"), third.mutex("c")});
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(release(held.value()).succeeded());
    held = take(red_lock{bad.mutex("a"), mutex("b"), third.mutex("c")});
    auto told = lost(held.value());
    auto closed = bad.client.close(settled());
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((told.ec() == error::closed));
    BOOST_TEST(!redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(of_two_none_can_be_spared)
{
    elsewhere bad{*this, with_lease(0ms)};
    redis.occupy("b", 5s);
    BOOST_TEST((take_once(red_lock{bad.mutex("a"), mutex("b")}).ec() == error::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_release_and_an_extension_need_most_of_the_answers)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    auto const others = withhold("c");
    BOOST_TEST(extend(held.value(), 4s).succeeded());
    BOOST_TEST(release(held.value()).succeeded());
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(client.stats().keys != 0U);  // closing waits for the third
    answer_for("c", others);
    BOOST_TEST(!redis.is_locked("c"));
    BOOST_TEST(client.stats().keys == 0U);
}

// The first client has no part of it, so only the hold keeps what it runs on.
BOOST_AUTO_TEST_CASE(its_client_may_go_after_an_early_answer)
{
    auto first = std::make_unique<elsewhere>(*this);
    elsewhere third{*this};
    first->redis.occupy("a", 5s);
    std::optional<red_lock> of{
        red_lock{first->mutex("a"), mutex("b"), mutex("c"), third.mutex("d"), third.mutex("e")}};
    auto held = take_behind(*of);
    BOOST_TEST_REQUIRE(held.succeeded());
    auto const others = withhold("c");
    BOOST_TEST(release(held.value()).succeeded());
    held = {};
    of.reset();
    first.reset();
    time.settle();
    answer_for("c", others);
    BOOST_TEST(!redis.is_locked("c"));
}

BOOST_AUTO_TEST_CASE(a_release_that_most_have_refused_fails)
{
    auto held = take(most());
    BOOST_TEST_REQUIRE(held.succeeded());
    redis.ask({"DEL", "a"});
    redis.ask({"DEL", "b"});
    auto const others = withhold("c");
    BOOST_TEST((release(held.value()).ec() == error::lost));
    answer_for("c", others);
}

BOOST_AUTO_TEST_CASE(closing_the_clients_of_most_releases_it)
{
    elsewhere second{*this}, third{*this};
    auto held = take(red_lock{mutex("a"), second.mutex("a"), third.mutex("a")});
    auto told = lost(held.value());
    second.client.close(asio::detached);
    time.settle();
    BOOST_TEST(bool{held.value()});
    third.client.close(asio::detached);
    time.settle();
    BOOST_TEST((told.ec() == error::closed));
    BOOST_TEST(!held.value());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(its_client_may_go_before_the_parts_are_released)
{
    auto first = std::make_unique<elsewhere>(*this);
    elsewhere third{*this};
    first->redis.occupy("a", 5s);  // no part keeps the client that the whole belongs to
    auto held = take_behind(red_lock{first->mutex("a"), mutex("a"), third.mutex("a")});
    BOOST_TEST_REQUIRE(held.succeeded());
    auto const given_back = server->count(scripts::release);
    auto const serve = server->serve;
    never_answer();
    third.client.close(asio::detached);  // too few are left
    time.settle();
    BOOST_TEST_REQUIRE(!held.value());
    BOOST_TEST(server->count(scripts::release) == given_back + 1);
    held.value() = {};
    first.reset();
    time.settle();
    server->answer_call(server->written().size() - 1, *serve(last()));
    time.settle();
    BOOST_TEST(client.stats().keys == 0U);
}

// ---- Questions ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(questions_are_answered_by_what_most_have)
{
    redis.occupy("c", 5s);
    owner const me;
    auto held = take(most(), {.as = me});
    redis.ask({"DEL", "c"});
    BOOST_TEST_REQUIRE(held.succeeded());
    pending<std::int64_t> counted;
    most().hold_count(me, counted.token());
    pending<std::optional<milliseconds>> left;
    most().remaining_lease(left.token());
    auto locked = most().is_locked(settled());
    BOOST_TEST_REQUIRE(counted.succeeded());
    BOOST_TEST(counted.value() == 1);
    BOOST_TEST_REQUIRE(left.gave_something());
    BOOST_TEST_REQUIRE(locked.gave_something());
}

BOOST_AUTO_TEST_CASE(a_server_that_cant_change_the_answer_is_not_waited_for)
{
    auto held = take(most());
    auto const others = server->serve;
    server->serve = [others](call const& c) { return c.key() == "a" ? std::nullopt : others(c); };
    auto locked = most().is_locked(settled());
    BOOST_TEST_REQUIRE(locked.gave_something());
}

BOOST_AUTO_TEST_CASE(a_question_can_be_cancelled)
{
    never_answer();
    auto locked = most().is_locked(settled());
    BOOST_TEST(!locked.is_done());
    cancel(locked);
    BOOST_TEST(locked.aborted());
}

BOOST_AUTO_TEST_CASE(all_are_forced)
{
    auto held = take(most());
    auto forced = most().force_release(settled());
    BOOST_TEST_REQUIRE(forced.gave_something());
    BOOST_TEST(!is_any_locked());
    BOOST_TEST(!held.value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
