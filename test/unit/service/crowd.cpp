// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How a waiter behaves where many other clients wait, too.
#include "unit/service/counters.hpp"

namespace colock::test {

namespace {

/// Somebody else has all there is, and so many subscribe.
struct crowded : counters {
    crowded()
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, reply_to(c), {}, {}};
        };
    }

    reply reply_to(call const& c)
    {
        bool const is_plain = c.what == &scripts::acquire;
        if (is_plain || c.what == &scripts::semaphore_acquire || c.what == &scripts::permit_acquire)
            return is_free ? granted(1) : refusal(c, is_plain ? 30'000 : pttl);
        if (c.what == &scripts::expiring)
            return is_free ? reply::of(std::vector{reply::of(1), reply::of(-2)})
                           : reply::of(std::vector<reply>{});
        return c.what == &scripts::release ? released() : done();
    }
    reply refusal(call const& c, std::int64_t number) const
    {
        std::vector items{reply::of(number)};
        bool const is_plain = c.what == &scripts::acquire;
        if (!is_plain || !c.arguments.at(3).empty())
            items.push_back(reply::of(subscribers));
        return reply::of(std::move(items));
    }

    std::size_t tries() const { return server->count(scripts::acquire); }
    std::size_t takes() const { return server->count(scripts::semaphore_acquire); }
    void tell(std::string const& where, std::string payload) { publish(where, std::move(payload)); }
    void tell_lock() { tell(channel(), "0"); }
    void tell_semaphore(std::string payload) { tell("redisson_sc:{k}", std::move(payload)); }

    bool is_free = false;
    std::int64_t subscribers = 1'001;
    std::int64_t pttl = -1;
};

BOOST_FIXTURE_TEST_SUITE(service_crowd, crowded)

BOOST_AUTO_TEST_CASE(who_has_subscribed_asks_how_many_wait)
{
    auto a = acquire();
    BOOST_TEST_REQUIRE(tries() == 2U);
    std::vector<std::string> channels;
    for (auto const& each : server->written())
        if (each.what == &scripts::acquire)
            channels.push_back(each.arguments.at(3));
    BOOST_TEST(channels.at(0).empty());
    BOOST_TEST(channels.at(1) == ":" + channel());
}

BOOST_AUTO_TEST_CASE(a_waiter_seldom_asks_at_a_release)
{
    auto a = acquire();
    auto const sent = tries();
    for (int i = 0; i != 200; ++i) {
        tell_lock();
        time.advance(1ms);
    }
    BOOST_TEST(tries() < sent + 20);
}

BOOST_AUTO_TEST_CASE(one_among_two_asks_at_each)
{
    subscribers = 2;
    auto a = acquire();
    auto const sent = tries();
    for (int i = 0; i != 20; ++i)
        tell_lock();
    BOOST_TEST(tries() == sent + 20);
}

BOOST_AUTO_TEST_CASE(after_a_message_the_poll_cap_counts_anew)
{
    auto a = acquire();
    for (int i = 0; i != 20; ++i) {
        time.advance(900ms);
        tell_lock();
    }
    BOOST_TEST(server->count(scripts::expiring) == 0U);
    auto const asked = [this] { return tries() + server->count(scripts::expiring); };
    auto const before = asked();
    time.advance(1'001ms);
    BOOST_TEST(asked() > before);
}

// One call of the poller serves many waiters, and a place past the cap is no reason to ask alone.
BOOST_AUTO_TEST_CASE(at_the_poll_cap_the_poller_asks)
{
    auto a = acquire();
    for (int i = 0; i != 20; ++i) {
        tell_lock();
        time.advance(1'001ms);
    }
    BOOST_TEST(server->count(scripts::expiring) > 0U);
}

BOOST_AUTO_TEST_CASE(a_limited_wait_asks_before_its_end)
{
    auto a = try_for(300ms);
    auto const sent = tries();
    tell_lock();
    time.advance(299ms);
    BOOST_TEST(tries() == sent + 1);
    BOOST_TEST(!a.is_done());
}

BOOST_AUTO_TEST_CASE(who_got_in_leaves_the_channel_at_once)
{
    auto a = acquire();
    is_free = true;
    time.advance(2s);
    tell_lock();
    time.advance(3s);
    BOOST_TEST_REQUIRE(a.succeeded());
    BOOST_TEST((server->subscribed() == std::set{mailbox()}));
}

BOOST_AUTO_TEST_CASE(many_who_know_when_the_lease_ends_spread)
{
    pttl = 100;
    int at_once = 0;
    for (int i = 0; i != 20; ++i) {
        auto a = take_leased();
        auto const sent = server->count(scripts::permit_acquire);
        time.advance(102ms);
        at_once += server->count(scripts::permit_acquire) != sent;
        cancel(a);
    }
    BOOST_TEST(at_once < 10);
}

BOOST_AUTO_TEST_CASE(one_permit_is_seldom_asked_for)
{
    auto a = take();
    auto const sent = takes();
    for (int i = 0; i != 200; ++i) {
        tell_semaphore("1");
        time.advance(1ms);
    }
    BOOST_TEST(takes() < sent + 20);
}

BOOST_AUTO_TEST_CASE(where_there_are_permits_for_all_each_asks)
{
    auto a = take();
    auto const sent = takes();
    for (int i = 0; i != 20; ++i)
        tell_semaphore("2000");
    BOOST_TEST(takes() == sent + 20);
}

BOOST_AUTO_TEST_CASE(after_a_message_the_cap_counts_from_now)
{
    int early = 0;  // one in ten draws a place that comes up by then
    for (int i = 0; i != 20; ++i) {
        auto a = take();
        time.advance(800ms);
        tell_semaphore("1");
        auto const before = takes();
        time.advance(201ms);
        early += takes() != before;
        time.advance(800ms);
        BOOST_TEST(takes() > before);
        cancel(a);
    }
    BOOST_TEST(early < 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
