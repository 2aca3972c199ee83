// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Each scenario is played once to its end, and then again and again: stopped after k handlers and
// destroyed there, or cancelled there and played on. Leaks and bad accesses are the sanitizer's to
// find (preset asan); what is left at the server is checked here.
#include "unit/harness.hpp"
#include <colock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <array>
#include <deque>
#include <functional>
#include <variant>

namespace colock::test {

namespace {

using type = asio::cancellation_type;

config quick_config(std::shared_ptr<observer> events)
{
    config c;
    c.lease = 300ms;
    c.linger = 20ms;
    c.timeout = 100ms;
    c.poll_cap = 40ms;
    c.log = {[](log_level, std::string_view) {}, log_level::debug};
    c.observer = std::move(events);
    return c;
}

/// All that a scenario happens in. Its parts can be taken away in any order.
struct world {
    world() : context{std::make_unique<asio::io_context>()}, time{*context}
    {
        auto inside = detail::core::make(
            context->get_executor(),
            quick_config(events),
            [this](detail::core& c, transport_listener& who) {
                auto made = std::make_unique<fake_transport>(c, who);
                server = made.get();
                redis.attach(*server);
                server->serve = [this, usual = server->serve](call const& asked) {
                    if (busy == 0)
                        return usual(asked);
                    --busy;
                    return std::optional{answer{answer::kind::not_now, {}, {}, {}}};
                };
                return made;
            }
        );
        client = std::make_shared<wrapped>(std::move(inside));
        client->it.run(run.token());
    }

    struct wrapped {
        explicit wrapped(detail::core_ptr c) : it{detail::client_access::make(std::move(c))} {}
        colock::client it;
    };

    lock mutex(char const* name = "k") const { return {client->it, name}; }

    pending_hold& acquire(acquire_options options = {}, char const* name = "k")
    {
        mutex(name).acquire(options, holds.emplace_back().token());
        return holds.back();
    }
    pending_try& try_for(milliseconds wait, acquire_options options = {})
    {
        mutex().try_acquire_for(wait, options, tries.emplace_back().token());
        return tries.back();
    }
    void release(std::size_t i)
    {
        if (holds.at(i).is_done())
            holds[i].value().release(others.emplace_back().token());
    }
    void extend(std::size_t i, milliseconds lease)
    {
        if (holds.at(i).is_done())
            holds[i].value().extend(lease, others.emplace_back().token());
    }
    void lost(std::size_t i)
    {
        if (holds.at(i).is_done())
            holds[i].value().lost(others.emplace_back().token());
    }
    void close() { client->it.close(others.emplace_back().token()); }

    /// Calls `f` with each operation begun so far.
    template <class F>
    void for_each_operation(F const& f)
    {
        f(run);
        for (auto& p : holds)
            f(p);
        for (auto& p : tries)
            f(p);
        for (auto& p : others)
            f(p);
        for (auto& p : questions)
            f(p);
    }
    std::size_t operations() const
    {
        return 1 + holds.size() + tries.size() + others.size() + questions.size();
    }
    bool holds_something()
    {
        return std::ranges::any_of(holds, [](auto& p) { return static_cast<bool>(p.value()); }) ||
            std::ranges::any_of(tries, [](auto& p) { return p.value() && *p.value(); });
    }

    fake_server redis;
    std::shared_ptr<recorder> events = std::make_shared<recorder>();
    std::unique_ptr<asio::io_context> context;
    virtual_time time;
    fake_transport* server = nullptr;
    int busy = 0;  ///< so many answers say "not now"
    owner me;
    pending<> run;
    std::deque<pending_hold> holds;
    std::deque<pending_try> tries;
    std::deque<pending<>> others;
    std::deque<pending<bool>> questions;
    std::shared_ptr<wrapped> client;
};

/// What is begun when all is quiet, or how long to wait then.
using stage = std::variant<std::function<void(world&)>, milliseconds>;
using scenario = std::vector<stage>;

/// Plays until it ends or `budget` handlers have run; true if it ended.
bool play(world& w, scenario const& what, std::size_t& budget)
{
    auto const settle = [&] {
        while (budget != 0 && w.time.step())
            --budget;
        return budget != 0;
    };
    if (!settle())
        return false;
    for (auto const& next : what) {
        if (auto const* act = std::get_if<0>(&next)) {
            (*act)(w);
            if (!settle())
                return false;
            continue;
        }
        for (auto left = std::get<1>(next); left > 0ms; left -= 1ms) {
            w.time.jump(1ms);
            if (!settle())
                return false;
        }
    }
    return true;
}

/// The stages from where `play` stopped are not known; the rest begins anew and that is fine: what
/// it refers to has begun, or it does nothing.
scenario const& all_of(char const* name)
{
    static std::map<std::string, scenario> const known{
        {"uncontended", {[](world& w) { w.acquire(); }, [](world& w) { w.release(0); }}},
        {"woken_by_a_message",
         {[](world& w) {
              w.redis.occupy("k", 1h);
              w.acquire();
          },
          [](world& w) { w.redis.free("k"); },
          [](world& w) { w.release(0); },
          30ms}},
        {"queue",
         {[](world& w) {
              w.acquire();
              w.acquire({.lease = 200ms});
              w.try_for(30ms);
          },
          [](world& w) { w.release(0); },
          [](world& w) { w.release(1); },
          40ms}},
        {"reentry",
         {[](world& w) {
              w.acquire({.as = w.me});
              w.acquire({.as = w.me});
          },
          [](world& w) { w.try_for(50ms, {.lease = 100ms, .as = w.me}); },
          [](world& w) { w.release(0); },
          [](world& w) { w.release(1); },
          20ms}},
        {"loss",
         {[](world& w) { w.acquire({.lease = 60ms}); },
          [](world& w) {
              w.lost(0);
              w.lost(0);
          },
          60ms,
          [](world& w) { w.release(0); }}},
        {"renewal",
         {[](world& w) { w.acquire(); },
          [](world& w) { w.lost(0); },
          110ms,
          [](world& w) { w.extend(0, 150ms); },
          60ms,
          [](world& w) { w.release(0); }}},
        {"close",
         {[](world& w) {
              w.acquire({.as = w.me});
              w.acquire();
          },
          [](world& w) {
              w.acquire({.as = w.me});
              w.acquire({}, "other");
              w.close();
          },
          10ms}},
        {"lost_links",
         {[](world& w) {
              w.acquire();
              w.server->all_down();
          },
          [](world& w) { w.server->all_up(); },
          [](world& w) {
              w.release(0);
              w.server->all_down();
              w.server->push_down();
          },
          [](world& w) {
              w.server->all_up();
              w.server->push_up();
          },
          10ms}},
        {"not_now",
         {[](world& w) {
              w.busy = 5;
              w.acquire();
              w.mutex().is_locked(w.questions.emplace_back().token());
          },
          25ms,
          [](world& w) {
              w.busy = 1;
              w.release(0);
          },
          25ms}},
        {"stop",
         {[](world& w) {
              w.acquire({.lease = 50ms});
              w.acquire();
              w.acquire({}, "other");
          },
          [](world& w) { w.release(2); },
          [](world& w) { w.client->it.stop(); },
          60ms}},
    };
    return known.at(name);
}

std::array const names{
    "uncontended",
    "woken_by_a_message",
    "queue",
    "reentry",
    "loss",
    "renewal",
    "close",
    "lost_links",
    "not_now",
    "stop"};

/// How many handlers it takes to the end.
std::size_t length_of(scenario const& what)
{
    world w;
    std::size_t constexpr plenty = 100'000;
    std::size_t budget = plenty;
    BOOST_TEST_REQUIRE(play(w, what, budget));
    return plenty - budget;
}

void check_calls(world& w)
{
    w.for_each_operation([](auto const& p) { BOOST_TEST(p.calls() <= 1); });
}

BOOST_AUTO_TEST_SUITE(steps)

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler_client_first)
{
    for (auto const* name : names) {
        auto const length = length_of(all_of(name));
        BOOST_TEST_MESSAGE(name << ": " << length << " handlers");
        for (std::size_t k = 0; k <= length; ++k)
            BOOST_TEST_CONTEXT(name << " after " << k)
            {
                world w;
                auto budget = k;
                play(w, all_of(name), budget);
                w.client.reset();
                if (k % 2 == 0)
                    w.time.settle();
                w.holds.clear();
                w.tries.clear();
                if (k % 3 == 0)
                    w.time.settle();
                w.context.reset();
                check_calls(w);
            }
    }
}

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler_and_run_to_the_end)
{
    // Without its client nothing keeps the context at work for longer than the leases.
    for (auto const* name : names) {
        auto const length = length_of(all_of(name));
        for (std::size_t k = 0; k <= length; ++k)
            BOOST_TEST_CONTEXT(name << " after " << k)
            {
                world w;
                auto budget = k;
                play(w, all_of(name), budget);
                w.client.reset();
                w.time.settle();
                w.holds.clear();
                w.tries.clear();
                BOOST_TEST(w.time.advance_until([&] { return w.context->stopped(); }, 50ms));
                check_calls(w);
            }
    }
}

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler_context_first)
{
    for (auto const* name : names) {
        auto const length = length_of(all_of(name));
        for (std::size_t k = 0; k <= length; ++k)
            BOOST_TEST_CONTEXT(name << " after " << k)
            {
                world w;
                // The client and what is held live in a handler that never runs.
                auto budget = k;
                play(w, all_of(name), budget);
                auto inside =
                    std::make_shared<std::pair<std::deque<pending_hold>, decltype(w.client)>>(
                        std::move(w.holds), std::move(w.client)
                    );
                auto alarm = std::make_shared<asio::steady_timer>(*w.context, 1h);
                alarm->async_wait([alarm, inside](error_code) {});
                alarm.reset();
                inside.reset();
                w.tries.clear();
                w.context.reset();
                check_calls(w);
            }
    }
}

BOOST_AUTO_TEST_CASE(each_operation_cancelled_after_each_handler_with_each_type)
{
    for (auto const* name : names) {
        auto const length = length_of(all_of(name));
        std::size_t const most = 9;
        for (std::size_t k = 0; k <= length; ++k)
            for (std::size_t which = 0; which != most; ++which)
                BOOST_TEST_CONTEXT(name << " after " << k << ", operation " << which)
                {
                    world w;
                    auto budget = k;
                    bool const ended = play(w, all_of(name), budget);
                    if (which >= w.operations())
                        break;
                    auto const how =
                        std::array{type::terminal, type::partial, type::total}[(k + which) % 3];
                    std::size_t i = 0;
                    w.for_each_operation([&](auto& p) {
                        if (i++ == which)
                            p.cancel(how);
                    });
                    static_cast<void>(ended);
                    bool const stopped = which == 0 || std::string_view{name} == "stop" ||
                        std::string_view{name} == "close";
                    if (w.redis.locks.contains("k") && w.redis.fields("k").contains("somebody:1"))
                        w.redis.free("k");
                    w.server->all_up();
                    w.server->push_up();
                    // Whatever was begun ends, or holds.
                    w.time.advance(150ms);
                    check_calls(w);
                    for (auto& p : w.holds)
                        BOOST_TEST((p.is_done() || w.holds_something()));
                    auto const here = w.redis.fields("k").size();
                    BOOST_TEST((here <= 1 && (here == 0 || w.holds_something() || stopped)));
                    // Who waits behind a hold gets in when that is let go.
                    for (std::size_t round = 0; round != w.holds.size() + 1; ++round) {
                        for (auto& p : w.holds)
                            if (p.is_done())
                                p.value() = hold{};
                        for (auto& p : w.tries)
                            if (p.is_done())
                                p.value().reset();
                        w.time.advance(25ms);
                    }
                    w.for_each_operation([&](auto const& p) {
                        BOOST_TEST((p.calls() == 1 || static_cast<void const*>(&p) == &w.run));
                    });
                    auto const stats = w.client->it.stats();
                    BOOST_TEST(stats.waiters == 0U);
                    BOOST_TEST(stats.holds == 0U);
                    BOOST_TEST(stats.keys == 0U);
                    BOOST_TEST(stats.owed_releases == 0U);
                    if (!stopped) {
                        BOOST_TEST(stats.subscriptions == 0U);
                        BOOST_TEST(w.server->subscribed().empty());
                        BOOST_TEST(!w.redis.is_locked("k"));
                        BOOST_TEST(!w.redis.is_locked("other"));
                    }
                    BOOST_TEST(w.server->unsent() == 0U);
                    BOOST_TEST(w.server->in_flight() == 0U);
                    w.client->it.stop();
                    BOOST_TEST(w.time.advance_until([&] { return w.context->stopped(); }, 5ms));
                }
    }
}

// ---- Coroutines, which own what they use
// ---------------------------------------------------------

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

BOOST_AUTO_TEST_CASE(coroutines_cancelled_after_each_handler)
{
    std::size_t length = 100'000;
    {
        crowd w;
        auto budget = length;
        play(w, a_while, budget);
        length -= budget;
    }
    for (std::size_t k = 0; k <= length; ++k)
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
            }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
