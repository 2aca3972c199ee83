// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of fair locks promises.
#include "simulation/tests/scripts.hpp"

namespace colock::simulation {

namespace {

struct queueing : bench_of_scripts {
    reply acquire(std::string_view field, std::string_view life = "5000")
    {
        return run(
            scripts::fair_acquire,
            {"k", "queue", "timeouts", "tickets", "counter"},
            {"1", field, "3000", "1", "c", "300000", life}
        );
    }
    reply release(std::string_view field)
    {
        return run(
            scripts::fair_release, {"k", "queue", "timeouts", "tickets"}, {field, "c", "300000"}
        );
    }
    reply keep(std::string_view field)
    {
        return run(
            scripts::fair_keep, {"k", "queue", "timeouts", "tickets"}, {field, "300000", "5000"}
        );
    }
    std::string line()
    {
        std::string all;
        for (auto const& who : ask({"LRANGE", "queue", "0", "-1"}).items)
            all += who.text;
        return all;
    }
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_fair_locks, queueing)

BOOST_AUTO_TEST_CASE(in_the_order_in_which_they_came)
{
    BOOST_TEST(is(acquire("a"), begin + 1));
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(is_refused(acquire("b"), 3'000));
    BOOST_TEST(is_refused(acquire("c"), 3'000));
    BOOST_TEST(line() == "bc");
    BOOST_TEST(is(release("a"), 1));
    BOOST_TEST(heard() == "c:b=0 ");
    BOOST_TEST(!is(acquire("c"), begin + 2));
    BOOST_TEST(line() == "bc");
    BOOST_TEST(is(acquire("b"), begin + 2));
    BOOST_TEST(line() == "c");
    BOOST_TEST(number({"ZCOUNT", "timeouts", "-inf", "+inf"}) == 1);
    BOOST_TEST(number({"ZCOUNT", "tickets", "-inf", "+inf"}) == 1);
    release("b");
    BOOST_TEST(heard() == "c:c=0 ");
    BOOST_TEST(is(acquire("c"), begin + 3));
    release("c");
    for (auto const key : {"k", "queue", "timeouts", "tickets"})
        BOOST_TEST(!exists(key));
}

BOOST_AUTO_TEST_CASE(who_tries_once_has_no_place)
{
    acquire("a");
    BOOST_TEST(is_refused(acquire("b", "0"), 3'000));
    BOOST_TEST(!exists("queue"));
}

BOOST_AUTO_TEST_CASE(after_the_lease_the_first_has_it)
{
    acquire("a");
    acquire("b");
    pass(3'001);
    BOOST_TEST(is(acquire("b"), begin + 2));
}

BOOST_AUTO_TEST_CASE(who_leaves_takes_its_place_with_it_and_nothing_else)
{
    acquire("a");
    acquire("b");
    acquire("c");
    BOOST_TEST(is_gone(release("b")));
    BOOST_TEST(line() == "c");
    BOOST_TEST(exists("k"));
    BOOST_TEST(heard().empty());
    release("a");
    BOOST_TEST(heard() == "c:c=0 ");
}

BOOST_AUTO_TEST_CASE(the_first_that_leaves_a_free_lock_tells_the_next)
{
    acquire("a");
    acquire("b");
    acquire("c");
    release("a");
    heard();
    BOOST_TEST(is_gone(release("b")));
    BOOST_TEST(heard() == "c:c=0 ");
    BOOST_TEST(is(acquire("c"), begin + 2));
}

BOOST_AUTO_TEST_CASE(the_dead_are_passed_over_and_the_living_are_not)
{
    acquire("a");
    acquire("b");
    acquire("c");
    pass(2'500);
    BOOST_TEST(is_refused(keep("c"), 500));
    pass(2'499);
    BOOST_TEST(!is(acquire("c"), begin + 2));  // free, and `b` is alive for a last millisecond
    BOOST_TEST(line() == "bc");
    pass(1);
    BOOST_TEST(is(acquire("c"), begin + 2));
    BOOST_TEST(line().empty());
}

BOOST_AUTO_TEST_CASE(who_is_kept_is_alive)
{
    acquire("a");
    acquire("b");
    for (int i = 0; i != 10; ++i) {
        pass(2'000);
        BOOST_TEST((keep("b").what == reply::kind::list));
        BOOST_TEST(!is(acquire("c", "0"), begin + 2));
    }
    BOOST_TEST(is_refused(keep("b"), 0));
    BOOST_TEST(is(acquire("b"), begin + 2));
    BOOST_TEST(is(keep("b"), 0));
    BOOST_TEST(line().empty());
}

// In one call, with one walk over the queue.
BOOST_AUTO_TEST_CASE(a_crowd_that_leaves_together_leaves_the_timeouts_that_leaving_alone_would)
{
    auto const timeouts = [this] {
        std::string all;
        for (auto const& each : ask({"ZRANGE", "timeouts", "0", "-1", "WITHSCORES"}).items)
            all += each.text + " ";
        return all;
    };
    auto const queue_up = [&] {
        ask({"FLUSHALL"});
        for (auto const* const who : {"a", "b", "c", "d", "e", "f"})
            acquire(who);
    };
    queue_up();
    for (auto const* const who : {"d", "b", "x"})
        BOOST_TEST((release(who).what == reply::kind::nil));
    auto const alone = timeouts();
    queue_up();
    std::vector<std::string_view> keys, arguments;
    for (auto const* const who : {"d", "b", "x"}) {
        keys.insert(keys.end(), {"k", "queue", "timeouts", "tickets"});
        arguments.insert(arguments.end(), {who, "c", "300000"});
    }
    redis.run(scripts::fair_release.text, keys, arguments);
    BOOST_TEST(line() == "cef");
    BOOST_TEST(timeouts() == alone);
}

BOOST_AUTO_TEST_CASE(nobody_who_hears_is_said)
{
    acquire("a");
    acquire("b");
    hearing = 0;
    BOOST_TEST(is(release("a"), -2));
    BOOST_TEST(heard() == "c:b=0 ");
    BOOST_TEST(is(release("a"), -3));  // by one that has nothing
    pass(5'001);
    BOOST_TEST((release("a").what == reply::kind::nil));
    BOOST_TEST(line().empty());
}

BOOST_AUTO_TEST_CASE(a_force_tells_the_first)
{
    auto const force = [this] {
        return run(scripts::fair_force, {"k", "queue", "timeouts", "tickets"}, {"c", "300000"});
    };
    BOOST_TEST(is(force(), 0));
    acquire("a");
    acquire("b");
    BOOST_TEST(is(force(), 1));
    BOOST_TEST(heard() == "c:b=0 ");
    BOOST_TEST(!exists("k"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
