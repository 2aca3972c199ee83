// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Coroutines, which own what they use: destroyed or cancelled after each handler.
#include "unit/steps.hpp"
#include <colock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace colock::test {

using namespace stepwise;

namespace {

BOOST_AUTO_TEST_SUITE(steps_of_coroutines)

using waiting_timer = asio::basic_waitable_timer<clock, clock_wait_traits, asio::any_io_executor>;
using shared_client = std::shared_ptr<world::wrapped>;

asio::awaitable<void> pause(milliseconds time)
{
    waiting_timer timer{co_await asio::this_coro::executor};
    timer.expires_at(clock::now() + time);
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> hold_for_a_while(shared_client c, milliseconds time)
{
    hold h = co_await lock{c->it, "k"}.acquire();
    co_await pause(time);
    co_await h.release();
}

asio::awaitable<void> drop_after_a_while(shared_client c, milliseconds time)
{
    lock const k{c->it, "k"};
    auto const h = co_await k.try_acquire_for(100ms);
    co_await pause(time);
}

// The lambdas have names: g++ 12 destroys the captures of one that is made in the await twice.
asio::awaitable<void> work_under_lock(shared_client c, milliseconds time)
{
    auto const work = [c, time](hold& h) -> asio::awaitable<std::string> {
        co_await pause(time);
        co_return h ? "held" : "lost";
    };
    BOOST_TEST(co_await with_lock(lock{c->it, "k"}, work) == "held");
}

asio::awaitable<void> lose_under_lock(shared_client c)
{
    auto const work = [c](hold&) -> asio::awaitable<void> { co_await pause(1s); };
    try {
        co_await with_lock(lock{c->it, "other"}, {.lease = 40ms}, work);
    } catch (boost::system::system_error const& e) {
        BOOST_TEST((e.code() == error::lost || e.code() == asio::error::operation_aborted));
    }
}

asio::awaitable<void> watch_a_hold(shared_client c)
{
    hold const h = co_await lock{c->it, "watched"}.acquire();
    co_await h.lost();
}

/// Several coroutines at once, which alone keep the client.
struct crowd : world {
    crowd()
    {
        start(hold_for_a_while(client, 10ms));
        start(hold_for_a_while(client, 5ms));
        start(drop_after_a_while(client, 5ms));
        start(work_under_lock(client, 10ms));
        start(lose_under_lock(client));
        start(watch_a_hold(client));
    }
    void start(asio::awaitable<void> what)
    {
        asio::co_spawn(*context, std::move(what), others.emplace_back().thrown_token());
    }
};

scenario const a_while{60ms};

BOOST_AUTO_TEST_CASE(coroutines_destroyed_after_each_handler)
{
    std::size_t length = 100'000;
    {
        crowd w;
        auto budget = length;
        BOOST_TEST_REQUIRE(play(w, a_while, budget));
        length -= budget;
        BOOST_TEST(std::ranges::count_if(w.others, [](auto& p) { return p.is_done(); }) == 5);
        BOOST_TEST(!w.redis.is_locked("k"));
    }
    BOOST_TEST_MESSAGE("coroutines: " << length << " handlers");
    for (std::size_t k = 0; k <= length; ++k)
        BOOST_TEST_CONTEXT("after " << k)
        {
            crowd w;
            w.client.reset();  // it lives in their frames
            auto budget = k;
            play(w, a_while, budget);
            if (k % 2 == 0)
                for (auto& p : w.others)
                    p.cancel();
            w.context.reset();
            check_calls(w);
        }
}

/// Asio before Boost 1.85 throws out of run() when a coroutine is cancelled between its co_spawn
/// and its first turn, so with it the cancelling begins after the handlers of all first turns: the
/// client's and those of the crowd.
constexpr std::size_t first_handler = BOOST_VERSION < 108500 ? 7 : 0;

BOOST_AUTO_TEST_CASE(coroutines_cancelled_after_each_handler)
{
    std::size_t length = 100'000;
    {
        crowd w;
        auto budget = length;
        play(w, a_while, budget);
        length -= budget;
    }
    for (std::size_t k = first_handler; k <= length; ++k)
        for (std::size_t which = 0; which != 7; ++which)
            BOOST_TEST_CONTEXT("after " << k << ", coroutine " << which)
            {
                crowd w;
                auto budget = k;
                play(w, a_while, budget);
                for (std::size_t i = 0; i != w.others.size(); ++i)
                    if (which == i || which == 6)
                        w.others[i].cancel();
                w.time.advance(130ms);
                w.others.back().cancel();  // who watches would watch for ever
                w.time.advance(30ms);
                for (auto& p : w.others)
                    BOOST_TEST(p.calls() == 1);
                for (auto const* name : {"k", "other", "watched"})
                    BOOST_TEST(!w.redis.is_locked(name), name);
                auto const stats = w.client->it.stats();
                BOOST_TEST(stats.keys + stats.holds + stats.waiters + stats.subscriptions == 0U);
                BOOST_TEST(std::ranges::all_of(w.server->subscribed(), &is_mailbox));
            }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
