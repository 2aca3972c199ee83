// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Each scenario is played once to its end, and then again and again: stopped after k handlers and
// destroyed there, or cancelled there and played on. Leaks and bad accesses are the sanitizer's to
// find (preset asan); what is left at the server is checked here.
#include "unit/steps.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <variant>

namespace colock::test {

using namespace stepwise;

namespace {

using type = asio::cancellation_type;

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
              w.server->pubsub_down();
          },
          [](world& w) {
              w.server->all_up();
              w.server->pubsub_up();
          },
          10ms}},
        {"not_now",
         {[](world& w) {
              w.busy = 3;
              w.acquire();
              w.mutex().is_locked(w.questions.emplace_back().token());
          },
          25ms,
          [](world& w) {
              w.busy = 1;
              w.release(0);
          },
          25ms}},
        {"given_away",
         {[](world& w) { w.acquire(); },
          [](world& w) { w.give(0); },
          [](world& w) {
              w.acquire();
              w.adopt(0);
          },
          [](world& w) { w.release(2); },
          [](world& w) { w.release(1); },
          20ms}},
        {"turn",
         {[](world& w) {
              w.redis.occupy("k", w.other_field, 1h);
              w.acquire();
          },
          [](world& w) { w.let_go(w.other_field); },
          [](world& w) { w.acquire(); },
          [](world& w) { w.release(0); },
          20ms,
          [](world& w) { w.release(1); },
          10ms}},
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
    "given_away",
    "turn",
    "stop"};

/// How many handlers it takes to the end.
std::size_t length_of(char const* name)
{
    world w;
    std::size_t constexpr plenty = 100'000;
    std::size_t budget = plenty;
    BOOST_TEST_REQUIRE(play(w, all_of(name), budget));
    return plenty - budget;
}

BOOST_AUTO_TEST_SUITE(steps)

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler_client_first)
{
    for (auto const* name : names) {
        auto const length = length_of(name);
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
    // Without its client nothing keeps the context at work for longer than what is owed may take:
    // `config::timeout`, which is 100 ms here.
    for (auto const* name : names) {
        auto const length = length_of(name);
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
                BOOST_TEST(w.time.advance_until([&] { return w.context->stopped(); }, 101ms));
                check_calls(w);
            }
    }
}

BOOST_AUTO_TEST_CASE(destroyed_after_each_handler_context_first)
{
    for (auto const* name : names) {
        auto const length = length_of(name);
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
        auto const length = length_of(name);
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
                    if (w.redis.fields("k").contains("somebody:1"))
                        w.redis.free("k");
                    w.let_go(w.other_field);
                    w.server->all_up();
                    w.server->pubsub_up();
                    // Whatever was begun ends, or holds.
                    w.time.advance(150ms);
                    check_calls(w);
                    for (auto& p : w.holds)
                        BOOST_TEST((p.is_done() || w.holds_something()));
                    auto const here = w.redis.fields("k").size();
                    bool const somebody_has_it =
                        w.holds_something() || !w.claims.empty() || stopped;
                    BOOST_TEST((here <= 1 && (here == 0 || somebody_has_it)));
                    for (std::size_t claim = 0; claim != w.claims.size(); ++claim)
                        w.adopt(claim);  // if it is still good
                    w.time.settle();
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
                    w.time.advance(200ms);  // in which the client remembers its turn
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
                        BOOST_TEST(std::ranges::all_of(w.server->subscribed(), &is_mailbox));
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
