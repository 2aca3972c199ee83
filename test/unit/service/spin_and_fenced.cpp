// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The locks that differ from the plain one in little.
#include "unit/service/group.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/spin_lock.hpp>

namespace colock::test {

namespace {

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
    waiting.cancel();
    time.settle();
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
