// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include <colock/claim.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

// What is played handler by handler.
namespace colock::test::stepwise {

inline config quick_config(std::shared_ptr<observer> events)
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
        auto inside =
            make_core(context->get_executor(), quick_config(events), [this](fake_transport& made) {
                server = &made;
                redis.attach(made);
                server->serve = [this, usual = server->serve](call const& asked) {
                    if (busy == 0)
                        return usual(asked);
                    --busy;
                    return std::optional{answer{answer::kind::not_now, {}, {}, {}}};
                };
            });
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
    void give(std::size_t i)
    {
        if (holds.at(i).is_done())
            holds[i].value().give(claims.emplace_back().token());
    }
    void adopt(std::size_t i)
    {
        if (claims.size() > i && claims[i].succeeded())
            client->it.adopt(claims[i].value(), holds.emplace_back().token());
    }
    /// A release by a client that knows the wait list.
    void let_go(std::string const& field)
    {
        redis.run(
            {&scripts::release,
             0,
             {"k"},
             {"+" + decide::mailbox_prefix({}),
              field,
              harness::channel(),
              decide::wait_list("k"),
              ""}}
        );
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
        for (auto& p : claims)
            f(p);
    }
    std::size_t operations() const
    {
        return 1 + holds.size() + tries.size() + others.size() + questions.size() + claims.size();
    }
    bool holds_something()
    {
        return std::ranges::any_of(holds, [](auto& p) { return static_cast<bool>(p.value()); }) ||
            std::ranges::any_of(tries, [](auto& p) { return p.value() && *p.value(); });
    }

    /// Of another colock.
    std::string const other_field = "5f2a1d7c-8b2e-8c11-9c55-0d3f5e2b7a10:1";
    script_server redis;
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
    std::deque<pending<claim>> claims;
    std::shared_ptr<wrapped> client;
};

/// What is begun when all is quiet, or how long to wait then.
using stage = std::variant<std::function<void(world&)>, milliseconds>;
using scenario = std::vector<stage>;

/// Plays until it ends or `budget` handlers have run; true if it ended.
inline bool play(world& w, scenario const& what, std::size_t& budget)
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

/// Where clients listen for a while after they have waited.
inline bool is_mailbox(std::string_view channel)
{
    return channel.starts_with("redisson_lock__channel:{colock}:mailbox:");
}

inline void check_calls(world& w)
{
    w.for_each_operation([](auto const& p) { BOOST_TEST(p.calls() <= 1); });
}

}  // namespace colock::test::stepwise
