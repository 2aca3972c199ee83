// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Semaphores, permits and latches, stopped after k handlers for each k: destroyed there, which the
// sanitizers watch; or all that is under way cancelled there, and played on.
#include "unit/harness.hpp"
#include "unit/script_server.hpp"
#include <colock/countdown_latch.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <deque>
#include <memory>
#include <set>

namespace colock::test {

namespace {

constexpr std::int64_t permits = 2;

/// A client, and calls of all kinds under way.
struct stage {
    explicit stage(bool with_losses)
    {
        redis.attach(*server);
        if (with_losses)
            server->serve = [this, usual = server->serve](call const& c) {
                auto got = usual(c);
                if (++calls % 3 == 0)
                    got = answer{answer::kind::lost, {}, asio::error::eof, {}};
                return got;
            };
        redis.set_counter("s", permits);
        redis.set_counter("p", permits);
    }

    /// What has happened after so much time.
    void begin(int part)
    {
        semaphore const s{h->client, "s"};
        permit_semaphore const p{h->client, "p"};
        countdown_latch const l{h->client, "l"};
        if (part == 0) {
            l.try_set_count(1, flags.emplace_back().token());
            for (int i = 0; i != 3; ++i) {
                s.acquire(1 + i % 2, taken.emplace_back().token());
                p.acquire(held.emplace_back().token());
                l.wait(others.emplace_back().token());
            }
            s.try_acquire_for(30ms, 2, flags.emplace_back().token());
        } else if (part == 1) {
            l.count_down(others.emplace_back().token());
            give_back();
        } else
            h->client.close(others.emplace_back().token());
    }

    void give_back()
    {
        semaphore const s{h->client, "s"};
        for (std::size_t i = 0; i != taken.size(); ++i)
            if (taken[i].succeeded() && given.insert(i).second)
                s.release(1 + static_cast<std::int64_t>(i) % 2, others.emplace_back().token());
        for (std::size_t i = 0; i != flags.size(); ++i)
            if (i != 0 && flags[i].succeeded() && flags[i].value() && given.insert(100 + i).second)
                s.release(2, others.emplace_back().token());
        for (auto& each : held)
            if (each.succeeded())
                each.value() = permit{};
    }

    /// Calls `f` with each operation begun so far.
    template <class F>
    void for_each_operation(F const& f)
    {
        for (auto& each : taken)
            f(each);
        for (auto& each : held)
            f(each);
        for (auto& each : flags)
            f(each);
        for (auto& each : others)
            f(each);
    }

    /// Plays for `budget` handlers; true if it came to the end.
    bool play(std::size_t budget, int parts)
    {
        for (int part = 0; part != parts; ++part) {
            begin(part);
            for (int tick = 0; tick != 8; ++tick) {
                while (budget != 0 && h->time.step())
                    --budget;
                if (budget == 0)
                    return false;
                h->time.jump(10ms);
            }
        }
        return true;
    }

    script_server redis;
    int calls = 0;
    std::unique_ptr<harness> h = std::make_unique<harness>(short_leases());
    fake_transport* server = h->server;
    std::deque<pending<>> taken, others;
    std::deque<pending<permit>> held;
    std::deque<pending<bool>> flags;
    std::set<std::size_t> given;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(counter_steps)

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler)
{
    for (bool const losses : {false, true})
        for (std::size_t k = 0;; ++k) {
            stage s{losses};
            bool const ended = s.play(k, 3);
            for (auto& each : s.held)
                each.value() = permit{};  // no hold may outlive its context
            s.h.reset();
            s.for_each_operation([](auto const& each) { BOOST_TEST(each.calls() <= 1); });
            if (ended)
                break;
        }
}

BOOST_AUTO_TEST_CASE(cancelled_after_each_handler)
{
    for (bool const losses : {false, true})
        for (std::size_t k = 0;; ++k) {
            stage s{losses};
            bool const ended = s.play(k, 2);
            s.for_each_operation([](auto& each) { each.cancel(); });
            for (int i = 0; i != 20; ++i) {
                s.h->time.settle();
                s.give_back();
                s.h->time.jump(100ms);
            }
            BOOST_TEST_REQUIRE(s.redis.counter("s") == permits, "after " << k);
            BOOST_TEST_REQUIRE(s.redis.counter("p") == permits, "after " << k);
            BOOST_TEST_REQUIRE(s.redis.permits_out("p") == 0, "after " << k);
            for (auto const* const list : {"colock_wait:{s}", "colock_wait:{p}"})
                BOOST_TEST_REQUIRE(s.redis.ask({"EXISTS", list}).number == 0, "after " << k);
            auto const left = s.h->client.stats();
            BOOST_TEST_REQUIRE(left.keys == 0U, "after " << k);
            BOOST_TEST_REQUIRE(left.holds == 0U, "after " << k);
            BOOST_TEST_REQUIRE(left.owed_releases == 0U, "after " << k);
            s.for_each_operation([](auto const& each) { BOOST_TEST_REQUIRE(each.calls() == 1); });
            if (ended)
                break;
        }
}

BOOST_AUTO_TEST_CASE(closed_after_each_handler)
{
    for (bool const losses : {false, true})
        for (std::size_t k = 0;; ++k) {
            stage s{losses};
            bool const ended = s.play(k, 2);
            pending<> closed;
            s.h->client.close(closed.token());
            s.h->time.advance(200ms);
            BOOST_TEST_REQUIRE(closed.succeeded(), "after " << k);
            BOOST_TEST_REQUIRE(s.h->client.stats().keys == 0U, "after " << k);
            BOOST_TEST_REQUIRE(s.redis.counter("p") == permits, "after " << k);
            if (ended)
                break;
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
