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

    template <class Value>
    static Value of(pending<Value> asked)
    {
        BOOST_TEST_REQUIRE(asked.succeeded(), asked.ec().message());
        return std::move(asked.value());
    }

    pending<permit_list> take_many(std::int64_t n, acquire_options options = {})
    {
        return leased.acquire_many(n, options, settled());
    }
    bool return_ids(std::vector<std::string> const& ids)
    {
        return of(leased.release(ids, settled()));
    }
    std::int64_t available() { return of(leased.available(settled())); }
    std::int64_t acquired() { return of(leased.acquired(settled())); }
    std::int64_t permits() { return of(leased.permits(settled())); }
    error_code set(std::int64_t n) { return leased.set_permits(n, settled()).ec(); }
    error_code add(std::int64_t n) { return leased.add_permits(n, settled()).ec(); }

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
    pending<permit_list> waits;
    auto once = leased.try_acquire_many_for(0ms, 3, settled());
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
    respond(slow, redis.run(slow.seen()));
    BOOST_TEST(two.aborted());
    BOOST_TEST(redis.counter("k") == 3);
    BOOST_TEST(redis.permits_out("k") == 0);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(bad_numbers_are_refused_and_nothing_is_sent)
{
    for (auto const n : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1'001}})
        BOOST_TEST((take_many(n).ec() == error::invalid_argument));
    auto negative = leased.try_acquire_many_for(-1ms, 2, settled());
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
        auto p = leased.release(ids, settled());
        BOOST_TEST((p.ec() == error::invalid_argument));
    }
    for (auto const lease : {9ms, -1ms, milliseconds::max()}) {
        auto p = leased.extend(id, lease, settled());
        BOOST_TEST((p.ec() == error::invalid_argument));
    }
    auto no_id = leased.extend("", 1s, settled());
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
    BOOST_TEST(of(leased.release(one.value()[0].id(), settled())));
    BOOST_TEST(next.succeeded());
}

BOOST_AUTO_TEST_CASE(the_lease_of_a_permit_is_set_by_its_id)
{
    redis.set_counter("k", 1);
    auto one = take_many(1, {.lease = 1s});
    auto const id = one.value()[0].id();
    auto const extend = [&] { return of(leased.extend(id, 5s, settled())); };
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
    BOOST_TEST(leased.try_acquire(settled()).gave_something());
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
        return of(leased.try_set_permits(3, life, settled()));
    };
    BOOST_TEST(make(2s));
    BOOST_TEST(!make(9s));
    auto two = take_many(2, {.lease = 10s});
    time.advance(2'001ms);
    BOOST_TEST(redis.ask({"EXISTS", "k", "{k}:timeout"}).number == 0);
    BOOST_TEST(permits() == 0);
    auto bad = leased.try_set_permits(1, 0ms, settled());
    BOOST_TEST((bad.ec() == error::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_removed_semaphore_is_gone_with_its_permits)
{
    auto const remove = [&] { return of(leased.remove(settled())); };
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
    BOOST_TEST(!permits_.add_permits(-1, settled()).ec());
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
        return of(permits_.release_if_exists(n, settled()));
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
        return permits_.try_set_permits(2, life, settled());
    };
    for (auto const bad : {0ms, -1ms, milliseconds::max()})
        BOOST_TEST((make(bad).ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
    BOOST_TEST(make(1s).value());
    BOOST_TEST(!make(1s).value());
    BOOST_TEST(take().succeeded());
    BOOST_TEST(of(permits_.drain(settled())) == 1);
    BOOST_TEST(redis.lease_left("k").count() == 1'000);
    time.advance(1'001ms);
    BOOST_TEST(redis.ask({"EXISTS", "k"}).number == 0);
    BOOST_TEST(make(1s).value());
}

// ---- Latches -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_latch_that_is_removed_lets_all_pass)
{
    auto const remove = [&] { return of(latch.remove(settled())); };
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
