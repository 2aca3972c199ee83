// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What Redisson's counters have beside acquire and release: several permits in one step, permits by
// their ids, other numbers of permits, a life, removal. On the scripts themselves, in virtual time.
#include "unit/service/counters.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

namespace {

struct family : counters {
    family() { redis.attach(*server); }

    template <class Value, class Begin>
    Value ask(Begin const& begin)
    {
        pending<Value> p;
        begin(p.token());
        time.settle();
        BOOST_TEST_REQUIRE(p.succeeded(), p.ec().message());
        return std::move(p.value());
    }
    template <class Begin>
    error_code tell(Begin const& begin)
    {
        pending<> p;
        begin(p.token());
        time.settle();
        return p.ec();
    }

    pending<std::vector<permit>> take_many(std::int64_t n, acquire_options options = {})
    {
        pending<std::vector<permit>> p;
        leased.acquire_many(n, options, p.token());
        time.settle();
        return p;
    }
    bool return_ids(std::vector<std::string> const& ids)
    {
        return ask<bool>([&](auto t) { leased.release(ids, std::move(t)); });
    }
    std::int64_t available()
    {
        return ask<std::int64_t>([&](auto t) { leased.available(std::move(t)); });
    }
    std::int64_t acquired()
    {
        return ask<std::int64_t>([&](auto t) { leased.acquired(std::move(t)); });
    }
    std::int64_t permits()
    {
        return ask<std::int64_t>([&](auto t) { leased.permits(std::move(t)); });
    }
    error_code set(std::int64_t n)
    {
        return tell([&](auto t) { leased.set_permits(n, std::move(t)); });
    }
    error_code add(std::int64_t n)
    {
        return tell([&](auto t) { leased.add_permits(n, std::move(t)); });
    }

    /// The next answer of this script is lost: it runs, and the client asks again.
    void lose_next(scripts::script const& what)
    {
        server->serve = [&what, usual = server->serve, lost = false](call const& c) mutable {
            auto got = usual(c);
            if (c.what == &what && !std::exchange(lost, true))
                got = answer{answer::kind::lost, {}, asio::error::eof, {}};
            return got;
        };
    }

    script_server redis;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(counter_family, family)

// ---- Several permits in one step ---------------------------------------------------------------

BOOST_AUTO_TEST_CASE(several_permits_come_in_one_step_or_none)
{
    redis.set_counter("k", 3);
    auto two = take_many(2);
    BOOST_TEST_REQUIRE(two.succeeded());
    BOOST_TEST_REQUIRE(two.value().size() == 2U);
    BOOST_TEST(bool{two.value()[0]});
    BOOST_TEST(bool{two.value()[1]});
    BOOST_TEST(two.value()[0].id() != two.value()[1].id());
    BOOST_TEST(server->count(scripts::permit_acquire) == 1U);
    BOOST_TEST(redis.counter("k") == 1);
    BOOST_TEST(redis.permits_out("k") == 2);
    BOOST_TEST(client.stats().holds == 2U);
    auto more = take_many(2);
    BOOST_TEST(!more.is_done());
    BOOST_TEST(redis.counter("k") == 1);  // none of them
    two.value().pop_back();
    time.settle();
    BOOST_TEST_REQUIRE(more.succeeded());
    BOOST_TEST(redis.counter("k") == 0);
    two.value().clear();
    more.value().clear();
    time.settle();
    BOOST_TEST(redis.counter("k") == 3);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(each_of_several_permits_is_renewed_and_lost_by_itself)
{
    redis.set_counter("k", 2);
    auto two = take_many(2);
    time.advance(10s);  // several leases
    BOOST_TEST(redis.permits_out("k") == 2);
    BOOST_TEST(return_ids({two.value()[0].id()}));
    time.advance(1s);
    BOOST_TEST(!two.value()[0]);
    BOOST_TEST(bool{two.value()[1]});
}

BOOST_AUTO_TEST_CASE(a_wait_for_several_permits_runs_out_and_takes_none)
{
    redis.set_counter("k", 2);
    pending<std::vector<permit>> once, waits;
    leased.try_acquire_many_for(0ms, 3, once.token());
    time.settle();
    BOOST_TEST(once.succeeded());
    BOOST_TEST(once.value().empty());
    leased.try_acquire_many_for(500ms, 3, waits.token());
    time.advance(500ms);
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(waits.value().empty());
    BOOST_TEST(redis.counter("k") == 2);
    BOOST_TEST(idle());
}

// The server has taken them, and only the answer was lost.
BOOST_AUTO_TEST_CASE(a_repeat_takes_several_permits_once)
{
    redis.set_counter("k", 3);
    lose_next(scripts::permit_acquire);
    auto two = take_many(2);
    BOOST_TEST(two.succeeded());
    BOOST_TEST(server->count(scripts::permit_acquire) == 2U);
    BOOST_TEST(redis.counter("k") == 1);
}

BOOST_AUTO_TEST_CASE(a_cancelled_acquire_of_several_gives_all_back)
{
    redis.set_counter("k", 3);
    server->serve = nullptr;
    auto& slow = server->expect(scripts::permit_acquire);
    auto two = take_many(2);
    two.cancel();
    redis.attach(*server);
    slow.reply(redis.run(slow.seen()));
    time.settle();
    BOOST_TEST(two.aborted());
    BOOST_TEST(redis.counter("k") == 3);
    BOOST_TEST(redis.permits_out("k") == 0);
    BOOST_TEST(idle());
}

// One that wants another number is not given what was taken for it.
BOOST_AUTO_TEST_CASE(permits_that_were_taken_go_to_who_wants_as_many)
{
    redis.set_counter("k", 3);
    server->serve = nullptr;
    auto& slow = server->expect(scripts::permit_acquire);
    auto two = take_many(2);
    auto three = take_many(3);
    two.cancel();
    redis.attach(*server);
    slow.reply(redis.run(slow.seen()));
    time.settle();
    BOOST_TEST_REQUIRE(three.succeeded());
    BOOST_TEST(three.value().size() == 3U);
    BOOST_TEST(redis.permits_out("k") == 3);
}

BOOST_AUTO_TEST_CASE(bad_numbers_are_refused_and_nothing_is_sent)
{
    for (auto const n : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1'001}})
        BOOST_TEST((take_many(n).ec() == error::invalid_argument));
    pending<std::vector<permit>> negative;
    leased.try_acquire_many_for(-1ms, 2, negative.token());
    time.settle();
    BOOST_TEST((negative.ec() == error::invalid_argument));
    BOOST_TEST((set(-1) == error::invalid_argument));
    BOOST_TEST((add(std::int64_t{1} << 31U) == error::invalid_argument));
    std::string const id(32, 'a');
    for (auto const& ids :
         {std::vector<std::string>{},
          {id, id},
          {""},
          {id + "a"},
          {std::string(32, 'x')},
          {std::string(32, 'A')},
          std::vector<std::string>(1'001, id)}) {
        pending<bool> p;
        leased.release(ids, p.token());
        time.settle();
        BOOST_TEST((p.ec() == error::invalid_argument));
    }
    for (auto const lease : {9ms, -1ms, milliseconds::max()}) {
        pending<bool> p;
        leased.extend(id, lease, p.token());
        time.settle();
        BOOST_TEST((p.ec() == error::invalid_argument));
    }
    pending<bool> no_id;
    leased.extend("", 1s, no_id.token());
    time.settle();
    BOOST_TEST((no_id.ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
}

// ---- By id -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(permits_of_anybody_are_returned_by_their_ids_all_or_none)
{
    redis.set_counter("k", 3);
    auto three = take_many(3, {.lease = 5s});
    auto const a = three.value()[0].id(), b = three.value()[1].id(), c = three.value()[2].id();
    BOOST_TEST(!return_ids({a, std::string(32, '0')}));
    BOOST_TEST(redis.permits_out("k") == 3);
    BOOST_TEST(return_ids({a, b}));
    BOOST_TEST(redis.counter("k") == 2);
    BOOST_TEST(!return_ids({a}));
    time.advance(5s);
    BOOST_TEST(!return_ids({c}));  // its lease has ended
    BOOST_TEST(available() == 3);
}

BOOST_AUTO_TEST_CASE(a_return_whose_answer_is_lost_takes_effect_once_and_says_so)
{
    redis.set_counter("k", 1);
    auto one = take_many(1);
    lose_next(scripts::permit_return);
    BOOST_TEST(return_ids({one.value()[0].id()}));
    BOOST_TEST(server->count(scripts::permit_return) == 2U);
    BOOST_TEST(redis.counter("k") == 1);
}

BOOST_AUTO_TEST_CASE(a_return_wakes_who_waits)
{
    redis.set_counter("k", 1);
    auto one = take_many(1);
    auto next = take_leased();
    BOOST_TEST(!next.is_done());
    BOOST_TEST(ask<bool>([&](auto t) { leased.release(one.value()[0].id(), std::move(t)); }));
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(the_lease_of_a_permit_is_set_by_its_id)
{
    redis.set_counter("k", 1);
    auto one = take_many(1, {.lease = 1s});
    auto const id = one.value()[0].id();
    auto const extend = [&] {
        return ask<bool>([&](auto t) { leased.extend(id, 5s, std::move(t)); });
    };
    BOOST_TEST(extend());
    time.advance(4'999ms);
    BOOST_TEST(acquired() == 1);
    BOOST_TEST(extend());
    time.advance(5s);
    BOOST_TEST(acquired() == 0);
    BOOST_TEST(!extend());
}

// ---- How many there are ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(permits_are_counted)
{
    BOOST_TEST(permits() == 0);
    redis.set_counter("k", 5);
    auto two = take_many(2, {.lease = 1s});
    BOOST_TEST(available() == 3);
    BOOST_TEST(acquired() == 2);
    BOOST_TEST(permits() == 5);
    time.advance(1s);
    BOOST_TEST(available() == 5);
    BOOST_TEST(acquired() == 0);
    BOOST_TEST(permits() == 5);
}

BOOST_AUTO_TEST_CASE(permits_are_set_whoever_has_them)
{
    BOOST_TEST(!set(3));
    BOOST_TEST(permits() == 3);
    auto two = take_many(2);
    BOOST_TEST(!set(3));
    BOOST_TEST(available() == 1);
    BOOST_TEST(!set(1));
    BOOST_TEST(available() == -1);
    BOOST_TEST(permits() == 1);
    auto waits = take_leased();
    two.value().pop_back();
    time.settle();
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(redis.counter("k") == 0);
    lose_next(scripts::permit_set);
    BOOST_TEST(!set(2));
    BOOST_TEST(waits.succeeded());  // a message has told it
    BOOST_TEST(permits() == 2);
}

// Names that come and go leave nothing.
BOOST_AUTO_TEST_CASE(permits_with_a_lifetime_end_with_those_that_are_out)
{
    auto const make = [&](milliseconds life) {
        return ask<bool>([&](auto t) { leased.try_set_permits(3, life, std::move(t)); });
    };
    BOOST_TEST(make(2s));
    BOOST_TEST(!make(9s));
    auto two = take_many(2, {.lease = 10s});
    time.advance(2'001ms);
    BOOST_TEST(redis.ask({"EXISTS", "k", "{k}:timeout"}).number == 0);
    BOOST_TEST(permits() == 0);
    pending<bool> bad;
    leased.try_set_permits(1, 0ms, bad.token());
    time.settle();
    BOOST_TEST((bad.ec() == error::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_removed_semaphore_is_gone_with_its_permits)
{
    auto const remove = [&] { return ask<bool>([&](auto t) { leased.remove(std::move(t)); }); };
    BOOST_TEST(!remove());
    BOOST_TEST(!set(2));
    auto one = take_leased();
    lose_next(scripts::permit_remove);
    BOOST_TEST(remove());
    BOOST_TEST(redis.ask({"EXISTS", "k", "{k}:timeout"}).number == 0);
    auto waits = take_leased();
    BOOST_TEST(!waits.is_done());
    time.advance(3s);
    BOOST_TEST(!one.value());  // its renewal has found nothing
    BOOST_TEST(!set(1));
    BOOST_TEST(waits.succeeded());
}

BOOST_AUTO_TEST_CASE(permits_are_added_and_taken_away)
{
    BOOST_TEST(!add(2));
    BOOST_TEST(!add(0));
    BOOST_TEST(server->count(scripts::semaphore_release) == 1U);
    lose_next(scripts::semaphore_release);
    BOOST_TEST(!add(-3));
    BOOST_TEST(available() == -1);
    auto waits = take_leased();
    BOOST_TEST(!waits.is_done());
    BOOST_TEST(!add(2));
    BOOST_TEST(waits.succeeded());
}

// ---- Semaphores --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(zero_permits_are_there_at_once)
{
    BOOST_TEST(take(0).succeeded());
    BOOST_TEST(try_take(0).value());
    BOOST_TEST(give(0).succeeded());
    BOOST_TEST(server->written().empty());
    BOOST_TEST((take(-1).ec() == error::invalid_argument));
    BOOST_TEST((give(-1).ec() == error::invalid_argument));
    client.close([](error_code) {});
    time.settle();
    BOOST_TEST((take(0).ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(a_semaphore_is_reduced_below_what_is_out)
{
    redis.set_counter("k", 2);
    BOOST_TEST(take(2).succeeded());
    BOOST_TEST(!tell([&](auto t) { permits_.add_permits(-1, std::move(t)); }));
    BOOST_TEST(redis.counter("k") == -1);
    auto waits = take();
    give(1);
    BOOST_TEST(!waits.is_done());
    give(1);
    BOOST_TEST(waits.succeeded());
}

BOOST_AUTO_TEST_CASE(a_release_makes_no_semaphore_that_has_gone)
{
    auto const give_if = [&](std::int64_t n) {
        return ask<bool>([&](auto t) { permits_.release_if_exists(n, std::move(t)); });
    };
    BOOST_TEST(!give_if(1));
    BOOST_TEST(redis.ask({"EXISTS", "k"}).number == 0);
    redis.set_counter("k", 0);
    auto waits = take();
    lose_next(scripts::semaphore_release_existing);
    BOOST_TEST(give_if(2));
    BOOST_TEST(waits.succeeded());
    BOOST_TEST(redis.counter("k") == 1);
}

BOOST_AUTO_TEST_CASE(a_semaphore_has_a_life)
{
    auto const make = [&](milliseconds life) {
        pending<bool> p;
        permits_.try_set_permits(2, life, p.token());
        time.settle();
        return p;
    };
    for (auto const bad : {0ms, -1ms, milliseconds::max()})
        BOOST_TEST((make(bad).ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
    BOOST_TEST(make(1s).value());
    BOOST_TEST(!make(1s).value());
    BOOST_TEST(take().succeeded());
    BOOST_TEST(ask<std::int64_t>([&](auto t) { permits_.drain(std::move(t)); }) == 1);
    BOOST_TEST(redis.lease_left("k").count() == 1'000);
    time.advance(1'001ms);
    BOOST_TEST(redis.ask({"EXISTS", "k"}).number == 0);
    BOOST_TEST(make(1s).value());
}

// ---- Latches -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_latch_that_is_removed_lets_all_pass)
{
    auto const remove = [&] { return ask<bool>([&](auto t) { latch.remove(std::move(t)); }); };
    BOOST_TEST(!remove());
    redis.set_counter("k", 3);
    auto a = wait(), b = wait();
    BOOST_TEST(!a.is_done());
    lose_next(scripts::latch_remove);
    BOOST_TEST(remove());
    BOOST_TEST(a.succeeded());
    BOOST_TEST(b.succeeded());
    BOOST_TEST(redis.ask({"EXISTS", "k"}).number == 0);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
