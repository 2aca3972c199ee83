// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How often a client asks for the keys that it waits for.
#include "decide/wait_plan.hpp"
#include "unit/service/counters.hpp"

#include <deque>
#include <span>
#include <utility>

namespace colock::test {

namespace {

/// Another client has everything; this one is the first in each wait list, or not.
struct many_keys : counters {
    explicit many_keys(std::int64_t stands, milliseconds poll_cap = 100ms)
        : counters{asking_each(poll_cap)}
        , place{stands}
    {
        open_mailbox();
        server->serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, reply_to(c), {}, {}};
        };
    }
    many_keys() : many_keys{3} {}

    static config asking_each(milliseconds poll_cap)
    {
        config settings;
        settings.poll_cap = poll_cap;
        return settings;
    }

    reply reply_to(call const& c)
    {
        if (c.what == &scripts::look) {
            asked += c.keys.size();
            limit = c.arguments.at(0);
            for (std::size_t i = 3; i < c.arguments.size(); i += 3)
                named += c.arguments[i].empty() ? 0U : 1U;
            return reply::of(std::exchange(told, {}));
        }
        if (c.what != &scripts::acquire)
            return done();
        return reply::of(std::vector{reply::of(pttl), reply::of(1), reply::of(place)});
    }
    void wait_for(std::size_t keys)
    {
        for (std::size_t i = 0; i != keys; ++i) {
            auto const name = "k" + std::to_string(waiting.size());
            mutex(name).acquire(waiting.emplace_back().token());
        }
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
    std::vector<reply> told;  ///< by the next answer
    std::string limit;
    std::size_t asked = 0;
    std::size_t named = 0;  ///< entries in wait lists
    std::deque<pending_hold> waiting;
};

struct seldom : many_keys {
    seldom() : many_keys{1, 60s} {}
};

struct not_the_first : many_keys {
    not_the_first() : many_keys{1} {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_polling, many_keys)

BOOST_AUTO_TEST_CASE(the_interval_grows_with_the_keys_to_twenty_seconds)
{
    BOOST_TEST((decide::sure_interval(1, 1s) == 1s));
    BOOST_TEST((decide::sure_interval(5'000, 1s) == 1s));
    BOOST_TEST((decide::sure_interval(50'000, 1s) == 10s));
    BOOST_TEST((decide::sure_interval(1'000'000, 1s) == 20s));
}

BOOST_AUTO_TEST_CASE(a_few_keys_are_asked_for_at_the_poll_cap)
{
    wait_for(100);
    BOOST_TEST(during(1'010ms) == 1'000U);
    BOOST_TEST(limit == "100");
    BOOST_TEST(named == asked);
}

BOOST_AUTO_TEST_CASE(of_many_keys_it_names_an_entry_as_seldom_as_it_may)
{
    pttl = 600'000;
    std::size_t const keys = 12'000;
    auto const interval = decide::sure_interval(keys, 100ms) + 30ms;
    wait_for(keys);
    time.advance(interval);
    BOOST_TEST(named == keys);
    auto const found = during(decide::list_unnamed - interval);
    BOOST_TEST(found > 300'000U);
    BOOST_TEST(named == keys);
    time.advance(2 * interval);
    BOOST_TEST(named == 2 * keys);
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
    time.advance(400ms);
    told = {reply::of(1), reply::of(150)};
    BOOST_TEST(time.advance_until([this] { return told.empty(); }, 200ms));
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

BOOST_AUTO_TEST_CASE(keys_that_join_do_not_put_off_the_question_for_the_others)
{
    wait_for(100);
    time.advance(50ms);
    wait_for(5'000);
    BOOST_TEST(during(51ms) == 100U);
}

BOOST_AUTO_TEST_CASE(while_messages_do_not_arrive_it_asks_at_the_poll_cap)
{
    wait_for(2'000);
    server->pubsub_down();
    server->hold_changes = true;
    time.settle();
    BOOST_TEST(during(101ms) == 2'000U);
}

BOOST_AUTO_TEST_CASE(nor_does_one_sleep_to_the_end_of_a_lease_then)
{
    wait_for(2'000);
    pttl = 350;
    wait_for(1);
    server->pubsub_down();
    server->hold_changes = true;
    time.settle();
    BOOST_TEST(during(101ms) == 2'001U);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_lease_before_the_poll_cap_stays_the_end_of_the_sleep)
{
    pttl = 80;
    wait_for(1);
    time.advance(10ms);
    auto const tries = server->count(scripts::acquire);
    server->pubsub_down();
    server->hold_changes = true;
    time.advance(60ms);
    BOOST_TEST(server->count(scripts::acquire) == tries);
    time.advance(12ms);
    BOOST_TEST(server->count(scripts::acquire) == tries + 1);
}

// What their entries say may have changed while nothing was heard.
BOOST_AUTO_TEST_CASE(after_an_outage_of_messages_it_names_each_entry_of_many)
{
    std::size_t const keys = 12'000;
    wait_for(keys);
    time.advance(decide::sure_interval(keys, 100ms) + 30ms);
    server->pubsub_down();
    auto const before = named;
    server->pubsub_up();
    time.advance(50ms);
    BOOST_TEST(named - before >= keys);
}

BOOST_FIXTURE_TEST_CASE(behind_another_client_it_asks_at_the_poll_cap, not_the_first)
{
    wait_for(1'000);
    time.advance(50ms);
    BOOST_TEST(during(300ms) == 3'000U);
}

BOOST_FIXTURE_TEST_CASE(after_an_outage_it_asks_before_the_wait_list_ends, seldom)
{
    wait_for(3);
    server->all_down();
    time.advance(21s);
    server->all_up();
    BOOST_TEST(during(10ms) == 3U);
    BOOST_TEST(during(20'100ms) == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
