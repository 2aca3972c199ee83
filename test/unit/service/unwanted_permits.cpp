// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Permits that the server may have given to a caller who has left: who gets them, and what is left.
#include "unit/service/two_clients.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <algorithm>
#include <string_view>

namespace colock::test {

namespace {

struct with_permits : two_clients {
    pending<> take(std::int64_t permits)
    {
        return semaphore{client, "k"}.acquire(permits, settled());
    }
    pending<permit> take_leased(milliseconds lease)
    {
        return permit_semaphore{client, "k"}.acquire({.lease = lease}, settled());
    }
    /// The server runs the call, and then its caller leaves.
    template <class Pending>
    void leave_after(expectation& asked, Pending& caller)
    {
        auto const got = redis.run(asked.seen());
        cancel(caller);
        respond(asked, got);
    }
    bool says(std::string_view words) const
    {
        return std::ranges::any_of(log, [&](auto const& line) {
            return line.find(words) != std::string::npos;
        });
    }
};

BOOST_FIXTURE_TEST_SUITE(service_unwanted_permits, with_permits)

BOOST_AUTO_TEST_CASE(three_are_not_given_to_a_caller_who_wants_one)
{
    redis.set_counter("k", 3);
    auto& asked = server->expect(scripts::semaphore_acquire);
    auto three = take(3);
    auto const one = take(1);
    leave_after(asked, three);
    time.advance(10ms);
    BOOST_TEST(one.succeeded());
    BOOST_TEST(redis.counter("k") == 2);
}

BOOST_AUTO_TEST_CASE(one_is_not_given_to_a_caller_who_wants_three)
{
    redis.set_counter("k", 3);
    auto& asked = server->expect(scripts::semaphore_acquire);
    auto one = take(1);
    auto const three = take(3);
    leave_after(asked, one);
    time.advance(10ms);
    BOOST_TEST(three.succeeded());
    BOOST_TEST(redis.counter("k") == 0);
}

// The server would give it to another client while its holder believes in it.
BOOST_AUTO_TEST_CASE(a_permit_for_a_second_is_not_given_to_a_caller_who_wants_ten)
{
    redis.set_counter("k", 1);
    auto& asked = server->expect(scripts::permit_acquire);
    auto brief = take_leased(1s);
    auto const lasting = take_leased(10s);
    leave_after(asked, brief);
    BOOST_TEST_REQUIRE(lasting.succeeded());
    time.advance(2s);
    BOOST_TEST(bool{lasting.value()});
    auto second = permit_semaphore{other, "k"}.try_acquire_for(0ms, settled());
    BOOST_TEST(second.gave_nothing());
}

BOOST_AUTO_TEST_CASE(an_answer_that_nobody_understands_keeps_no_permits)
{
    redis.set_counter("k", 3);
    auto& asked = server->expect(scripts::semaphore_acquire);
    auto const caller = take(2);
    redis.run(asked.seen());
    respond(asked, reply::of("what"));
    BOOST_TEST((caller.ec() == error::bad_reply));
    BOOST_TEST(redis.counter("k") == 3);
    BOOST_TEST(client.stats().keys == 0U);
}

// The link is down, so the permits have not been given back yet.
BOOST_AUTO_TEST_CASE(callers_who_leave_do_not_give_back_twice)
{
    redis.set_counter("k", 3);
    auto& asked = server->expect(scripts::semaphore_acquire);
    auto first = take(2);
    auto second = take(1), third = take(1);
    redis.run(asked.seen());
    first.cancel();
    cut();
    cancel(second);
    cancel(third);
    mend();
    BOOST_TEST(redis.counter("k") == 3);
    BOOST_TEST(server->count(scripts::semaphore_undo) == 1U);
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(permits_that_a_refused_undo_leaves_are_told)
{
    redis.set_counter("k", 3);
    auto& asked = server->expect(scripts::semaphore_acquire);
    auto counted = take(2);
    server->expect(scripts::semaphore_undo).fail(error::server_refused);
    leave_after(asked, counted);
    BOOST_TEST(says("which may be out for good"));
    BOOST_TEST(client.stats().keys == 0U);

    redis.set_counter("k", 1);
    auto& leased = server->expect(scripts::permit_acquire);
    auto permit = take_leased(10s);
    server->expect(scripts::permit_release).fail(error::server_refused);
    leave_after(leased, permit);
    BOOST_TEST(says("which are out until their leases end"));
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
