// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A semaphore that names its limit, and one that nobody has set.
#include "unit/service/counters.hpp"

namespace colock::test {

namespace {

/// The answers of the scripts, with what they say of the semaphore.
reply too_few_of(std::int64_t there)
{
    return reply::of(std::vector{reply::of(-1), reply::of(1), reply::of(3 + 16), reply::of(there)});
}
reply absent() { return reply::of(std::vector{reply::of(-1), reply::of(1), reply::of(3 + 8)}); }
reply taken_of(std::int64_t there) { return reply::of(-there); }

struct limited : counters {
    semaphore five{client, "k", 5};
    permit_semaphore leased_five{client, "k", 5};

    std::ptrdiff_t lines(std::string_view part) const
    {
        return std::ranges::count_if(log, [part](auto const& line) {
            return line.find(part) != std::string::npos;
        });
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_permit_limits, limited)

BOOST_AUTO_TEST_CASE(the_limit_goes_with_each_acquire)
{
    for (auto const* const what : {"5", ""}) {
        bool const is_limited = *what != 0;
        server->expect(scripts::semaphore_acquire).reply(taken());
        auto takes = (is_limited ? five : permits_).acquire(2, settled());
        BOOST_TEST(takes.succeeded());
        BOOST_TEST(argument(8) == what);
        server->expect(scripts::permit_acquire).reply(taken());
        auto leases = (is_limited ? leased_five : leased).acquire(settled());
        BOOST_TEST(leases.succeeded());
        BOOST_TEST(argument(7) == what);
        server->expect(scripts::permit_release).reply(released());
    }
    BOOST_TEST((five.limit() == 5 && !permits_.limit()));
    BOOST_TEST((leased_five.limit() == 5 && !leased.limit()));
}

BOOST_AUTO_TEST_CASE(a_bad_limit_is_refused_before_anything_is_sent)
{
    for (std::int64_t const bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31U}) {
        semaphore const wrong{client, "k", bad};
        BOOST_TEST((wrong.acquire(settled()).ec() == error::invalid_argument));
        BOOST_TEST((wrong.acquire(0, settled()).ec() == error::invalid_argument));
        BOOST_TEST((wrong.try_acquire(settled()).ec() == error::invalid_argument));
        BOOST_TEST((wrong.try_acquire_for(1s, settled()).ec() == error::invalid_argument));
        permit_semaphore const leased_wrong{client, "k", bad};
        BOOST_TEST((leased_wrong.acquire(settled()).ec() == error::invalid_argument));
        BOOST_TEST((leased_wrong.try_acquire(settled()).ec() == error::invalid_argument));
        BOOST_TEST((leased_wrong.try_acquire_for(1s, settled()).ec() == error::invalid_argument));
        BOOST_TEST((leased_wrong.acquire_many(1, settled()).ec() == error::invalid_argument));
        BOOST_TEST(
            (leased_wrong.try_acquire_many_for(1s, 1, settled()).ec() == error::invalid_argument)
        );
    }
    // More than there are would be waited for without end.
    BOOST_TEST((five.acquire(6, settled()).ec() == error::invalid_argument));
    BOOST_TEST((leased_five.acquire_many(6, settled()).ec() == error::invalid_argument));
    BOOST_TEST(server->written().empty());
}

BOOST_AUTO_TEST_CASE(permits_that_differ_are_told_once)
{
    for (int i = 0; i != 3; ++i) {
        server->expect(scripts::semaphore_acquire).reply(taken_of(7));
        BOOST_TEST(five.acquire(settled()).succeeded());
    }
    BOOST_TEST(
        log.back() ==
        "permits of k: this program says 5, but Redis has at least 7, which count. Remedy: name "
        "the "
        "same limit in all programs, or change it once by add_permits"
    );
    BOOST_TEST(lines("this program says") == 1);
    semaphore const other{client, "other", 5};
    server->expect(scripts::semaphore_acquire).reply(too_few_of(9));
    BOOST_TEST(!other.try_acquire(settled()).value());
    BOOST_TEST(lines("permits of other: this program says 5, but Redis has at least 9") == 1);
}

BOOST_AUTO_TEST_CASE(of_leased_permits_fewer_are_told_too)
{
    server->expect(scripts::permit_acquire).reply(too_few_of(-1));
    BOOST_TEST(!leased_five.try_acquire(settled()).value());
    BOOST_TEST(
        log.back() ==
        "permits of k: this program says 5, but Redis has -1, which count. Remedy: name the same "
        "limit in all programs, or change it once by set_permits(5)"
    );
}

BOOST_AUTO_TEST_CASE(a_release_makes_no_semaphore_that_has_a_limit)
{
    server->expect(scripts::semaphore_release_existing).reply(not_there());
    BOOST_TEST(five.release(settled()).succeeded());
    server->expect(scripts::semaphore_release).reply(reply::of(1));
    BOOST_TEST(permits_.release(settled()).succeeded());
}

BOOST_AUTO_TEST_CASE(the_limit_of_one_call_is_for_those_that_wait_before_it)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take();
    server->expect(scripts::semaphore_acquire).reply(taken());
    auto& next = server->expect(scripts::semaphore_acquire);
    auto knows = five.acquire(settled());
    BOOST_TEST(waits.succeeded());
    BOOST_TEST_REQUIRE(next.has_come());
    BOOST_TEST(argument(8) == "5");
    respond(next, taken());
    BOOST_TEST(knows.succeeded());
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_CASE(who_wants_more_than_the_limit_of_another_call_is_told_that_nothing_is_there)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take(6);
    auto behind = five.acquire(settled());
    auto& asked = server->expect(scripts::semaphore_acquire);
    time.advance(1'000ms);  // the poll cap
    BOOST_TEST_REQUIRE(asked.has_come());
    BOOST_TEST(argument(8).empty());
    BOOST_TEST(events->count("no_permits_set") == 1);
    respond(asked, absent());
}

// As at the server, the first that names one decides.
BOOST_AUTO_TEST_CASE(of_two_limits_the_first_is_for_those_that_name_none)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take();
    auto& first = server->expect(scripts::semaphore_acquire);
    auto knows = five.acquire(settled());
    BOOST_TEST_REQUIRE(first.has_come());
    semaphore const nine{client, "k", 9};
    auto knows_another = nine.acquire(settled());
    respond(first, reply::of(std::vector{reply::of(-1), reply::of(1), reply::of(3)}));
    auto& again = server->expect(scripts::semaphore_acquire);
    time.advance(1'000ms);  // the poll cap
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(argument(8) == "5");
    respond(again, absent());
}

BOOST_AUTO_TEST_CASE(while_none_serves_the_first_the_greatest_limit_counts)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take(6);
    auto behind = take(4);
    semaphore const three{client, "k", 3};
    auto knows_less = three.acquire(settled());
    auto knows = five.acquire(settled());
    auto also_knows_less = three.acquire(settled());
    server->expect(scripts::semaphore_undo).reply(taken());
    auto& asked = server->expect(scripts::semaphore_acquire);
    waits.cancel();
    time.advance(1'000ms);  // the poll cap
    BOOST_TEST_REQUIRE(asked.has_come());
    BOOST_TEST(argument(8) == "5");
    respond(asked, absent());
}

BOOST_AUTO_TEST_CASE(a_refusal_ends_all_who_have_just_learned_the_limit)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take();
    server->down_reason_to_tell = error::server_refused;
    cut_all();
    auto knows = five.acquire(settled());
    BOOST_TEST((waits.ec() == error::server_refused));
    BOOST_TEST((knows.ec() == error::server_refused));
}

BOOST_AUTO_TEST_CASE(one_that_nobody_has_set_is_told_once_a_wait)
{
    server->expect(scripts::semaphore_acquire).reply(absent());
    BOOST_TEST(!try_take().value());
    BOOST_TEST(events->count("no_permits_set") == 0);  // it does not wait
    server->expect(scripts::semaphore_acquire).reply(absent());
    server->expect(scripts::semaphore_acquire).reply(absent());  // when subscribed
    auto waits = take();
    BOOST_TEST(events->count("no_permits_set") == 1);
    BOOST_TEST(
        log.back() ==
        "permits of k: the semaphore does not exist, so its callers wait until somebody sets it. "
        "Remedy: try_set_permits, or name the limit where the semaphore is named"
    );
    for (auto const& now : {absent(), too_few(), absent()}) {
        server->expect(scripts::semaphore_acquire).reply(now);
        time.advance(1'000ms);  // the poll cap
        BOOST_TEST(server->all_came());
    }
    BOOST_TEST(events->count("no_permits_set") == 2);  // it was there, and has gone again
    server->expect(scripts::semaphore_acquire).reply(taken());
    message();
    time.advance(1ms);
    BOOST_TEST(waits.succeeded());
    server->expect(scripts::permit_acquire).reply(absent());
    server->expect(scripts::permit_acquire).reply(absent());
    auto leases = take_leased();
    BOOST_TEST(events->count("no_permits_set") == 3);
    server->expect(scripts::permit_release).reply(gone());
    cancel(leases);
    BOOST_TEST(idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
