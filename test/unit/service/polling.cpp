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
    explicit many_keys(std::int64_t stands) : counters{often()}, place{stands}
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, reply_to(c), {}, {}};
        };
    }
    many_keys() : many_keys{7} {}

    static config often()
    {
        config settings;
        settings.poll_cap = 100ms;
        return settings;
    }

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
    BOOST_TEST(during(1'010ms) == 1'000U);
    BOOST_TEST(limit == "100");
}

BOOST_AUTO_TEST_CASE(of_many_keys_it_asks_for_five_thousand_a_second)
{
    wait_for(1'000);
    time.advance(200ms);
    auto const found = during(1s);
    BOOST_TEST((4'900 <= found && found <= 5'100), found);
    BOOST_TEST(limit == "200");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_lease_within_the_interval_is_not_missed)
{
    wait_for(1'000);
    told = {reply::of(1), reply::of(150)};
    time.advance(201ms);
    told.clear();
    auto const tries = server->count(scripts::acquire);
    time.advance(145ms);
    BOOST_TEST(server->count(scripts::acquire) == tries);
    time.advance(10ms);
    BOOST_TEST(server->count(scripts::acquire) > tries);
}

BOOST_AUTO_TEST_CASE(when_keys_leave_the_others_are_asked_for_at_the_poll_cap_again)
{
    wait_for(2'000);
    time.advance(100ms);
    while (waiting.size() != 100) {
        waiting.back().cancel();
        waiting.pop_back();
    }
    time.settle();
    BOOST_TEST(during(210ms) >= 200U);
}

BOOST_AUTO_TEST_CASE(while_messages_do_not_arrive_it_asks_at_the_poll_cap)
{
    wait_for(2'000);
    server->pubsub_down();
    server->hold_changes = true;
    time.settle();
    BOOST_TEST(during(101ms) == 2'000U);
}

BOOST_FIXTURE_TEST_CASE(behind_another_client_it_asks_at_the_poll_cap, not_the_first)
{
    wait_for(1'000);
    time.advance(50ms);
    BOOST_TEST(during(300ms) == 3'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
