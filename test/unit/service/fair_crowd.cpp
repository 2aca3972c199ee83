// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/fair.hpp"

#include <algorithm>
#include <deque>
#include <optional>

namespace colock::test {

namespace {

/// One fair lock at a server, without times: tickets in order, and who holds it.
struct fair_redis {
    void attach(fake_transport& to)
    {
        transport = &to;
        to.serve = [this](call const& c) -> std::optional<answer> {
            return answer{answer::kind::replied, run(c), {}, {}};
        };
    }
    reply run(call const& c)
    {
        if (c.what == &scripts::fair_acquire)
            return acquire(c.field(), c.arguments.at(5) != "0");
        if (c.what == &scripts::fair_release)
            return release(c.field());
        if (c.what == &scripts::fair_keep)
            return keep(c);
        if (c.what == &scripts::extend)
            return c.field() == holder ? done() : not_there();
        return each(std::vector(c.keys.size(), done()));  // renewals
    }
    reply acquire(std::string const& field, bool queues)
    {
        if (holder == field || (holder.empty() && (queue.empty() || queue.front() == field))) {
            std::erase(queue, field);
            holder = field;
            return granted(++token);
        }
        if (queues && std::ranges::find(queue, field) == queue.end())
            queue.push_back(field);
        return waits(60'000);
    }
    reply release(std::string const& field)
    {
        bool const had_it = holder == field;
        std::erase(queue, field);
        if (had_it)
            holder.clear();
        if (holder.empty() && !queue.empty())
            transport->publish("redisson_lock__channel:{k}:" + queue.front());
        return had_it ? released(1) : gone();
    }
    reply keep(call const& c) const
    {
        std::vector<reply> parts;
        for (std::size_t i = 0; i != c.keys.size() / 4; ++i) {
            auto const& field = c.arguments.at(3 * i);
            bool const is_placed = std::ranges::find(queue, field) != queue.end();
            bool const is_next = holder.empty() && !queue.empty() && queue.front() == field;
            parts.push_back(is_placed ? waits(is_next ? 0 : 60'000) : not_there());
        }
        return each(std::move(parts));
    }

    fake_transport* transport = nullptr;
    std::deque<std::string> queue;
    std::string holder;
    std::int64_t token = 0;
};

/// Waiters, one of which goes; played until so many handlers have run.
struct crowd {
    crowd() { redis.attach(*h.server); }

    void begin()
    {
        for (int i = 0; i != 4; ++i)
            h.mine.acquire({.as = i < 2 ? me : owner{}}, waiting.emplace_back().token());
        waiting[2].cancel();
    }
    /// Releases whatever somebody has.
    void release_all()
    {
        for (auto& each : waiting)
            if (each.is_done() && each.value())
                each.value().release(ends.emplace_back().token());
    }

    fair_redis redis;
    fair h;
    owner me;
    std::deque<pending_hold> waiting;
    std::deque<pending<>> ends;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_fair_crowd)

BOOST_FIXTURE_TEST_CASE(all_are_served_in_the_order_of_their_calls, fair)
{
    fair_redis redis;
    redis.attach(*server);
    std::deque<pending_hold> all;
    for (int i = 0; i != 20; ++i)
        all.push_back(wait());
    for (std::size_t i = 0; i != all.size(); ++i) {
        BOOST_TEST_REQUIRE(all[i].succeeded());
        for (std::size_t later = i + 1; later != all.size(); ++later)
            BOOST_TEST(!all[later].is_done());
        BOOST_TEST(all[i].value().fencing_token() == i + 1);
        BOOST_TEST(release(all[i].value()).succeeded());
    }
    BOOST_TEST(redis.queue.empty());
    BOOST_TEST(is_forgotten());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_whenever_all_are_cancelled)
{
    for (std::size_t handlers = 0; handlers != 60; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        for (auto& each : c.waiting)
            each.cancel();
        for (int i = 0; i != 5; ++i) {
            c.h.time.advance(100ms);
            c.release_all();
        }
        BOOST_TEST(c.redis.queue.empty());
        BOOST_TEST(c.redis.holder.empty());
        BOOST_TEST(c.h.is_forgotten());
        for (auto& each : c.waiting)
            BOOST_TEST(each.calls() == 1);
    }
}

BOOST_AUTO_TEST_CASE(its_context_may_be_destroyed_at_any_moment)
{
    for (std::size_t handlers = 0; handlers != 80; ++handlers) {
        crowd c;
        c.begin();
        while (c.h.time.handlers() < handlers && c.h.time.step()) {}
        if (handlers % 2)
            c.release_all();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
