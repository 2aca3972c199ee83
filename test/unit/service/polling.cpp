// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How often a client asks for the keys that it waits for.
#include "decide/wait_plan.hpp"
#include "unit/service/counters.hpp"

#include <deque>

namespace colock::test {

namespace {

/// Another client has everything; this one is the first in each wait list, or not.
struct many_keys : counters {
    explicit many_keys(std::int64_t stands) : place{stands}
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, reply_to(c), {}, {}};
        };
    }
    many_keys() : many_keys{7} {}

    reply reply_to(call const& c)
    {
        if (c.what == &scripts::expiring) {
            asked += c.keys.size();
            limit = c.arguments.at(0);
            return reply::of(told);
        }
        if (c.what != &scripts::acquire)
            return done();
        bool const has_place = c.arguments.at(3).find(':') != 0 && !c.arguments[3].empty();
        return reply::of(std::vector{
            reply::of(pttl), reply::of(1), reply::of(has_place ? place : 2)});
    }
    void wait_for(std::size_t keys)
    {
        for (std::size_t i = 0; i != keys; ++i)
            mutex("k" + std::to_string(i)).acquire(waiting.emplace_back().token());
        time.settle();
    }
    /// How many keys were asked for.
    std::size_t during(milliseconds span)
    {
        auto const before = asked;
        time.advance(span);
        return asked - before;
    }

    std::int64_t place;  ///< what the server says of it, as in scripts/acquire.lua
    std::int64_t pttl = 30'000;
    std::vector<reply> told;
    std::string limit;
    std::size_t asked = 0;
    std::deque<pending_hold> waiting;
};

struct not_the_first : many_keys {
    not_the_first() : many_keys{3} {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_polling, many_keys)

BOOST_AUTO_TEST_CASE(the_interval_grows_with_the_keys_to_twenty_seconds)
{
    BOOST_TEST((decide::sure_interval(1, 1s) == 1s));
    BOOST_TEST((decide::sure_interval(5'000, 1s) == 1s));
    BOOST_TEST((decide::sure_interval(50'000, 1s) == 10s));
    BOOST_TEST((decide::sure_interval(1'000'000, 1s) == 20s));
    BOOST_TEST((decide::sure_interval(1'000'000, 60s) == 60s));
}

BOOST_AUTO_TEST_CASE(a_few_keys_are_asked_for_at_the_poll_cap)
{
    wait_for(100);
    BOOST_TEST(during(10'100ms) == 1'000U);
    BOOST_TEST(limit == "1000");
}

BOOST_AUTO_TEST_CASE(of_many_keys_it_asks_for_five_thousand_a_second)
{
    wait_for(10'000);
    time.advance(2s);
    auto const found = during(10s);
    BOOST_TEST((49'000 <= found && found <= 51'000), found);
    BOOST_TEST(limit == "2000");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_lease_within_the_interval_is_not_missed)
{
    wait_for(10'000);
    told = {reply::of(1), reply::of(1'500)};
    time.advance(2'001ms);
    told.clear();
    auto const tries = server->count(scripts::acquire);
    time.advance(1'490ms);
    BOOST_TEST(server->count(scripts::acquire) == tries);
    time.advance(12ms);
    BOOST_TEST(server->count(scripts::acquire) > tries);
}

BOOST_AUTO_TEST_CASE(when_keys_leave_the_others_are_asked_for_at_the_poll_cap_again)
{
    wait_for(20'000);
    time.advance(1s);
    while (waiting.size() != 100) {
        waiting.back().cancel();
        waiting.pop_back();
    }
    time.settle();
    BOOST_TEST(during(2'100ms) >= 200U);
}

BOOST_AUTO_TEST_CASE(while_messages_do_not_arrive_it_asks_at_the_poll_cap)
{
    wait_for(20'000);
    server->pubsub_down();
    server->hold_changes = true;
    time.settle();
    BOOST_TEST(during(1'001ms) == 20'000U);
}

BOOST_FIXTURE_TEST_CASE(behind_another_client_it_asks_at_the_poll_cap, not_the_first)
{
    wait_for(10'000);
    time.advance(500ms);
    auto const found = during(3s);
    BOOST_TEST(found == 30'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
