// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "client/client_state.hpp"
#include "decide/names.hpp"
#include "support/virtual_time.hpp"
#include "unit/script_server.hpp"
#include <colock/client.hpp>
#include <colock/lock.hpp>
#include <colock/permit_semaphore.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace colock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// An operation under way: what its handler was told, and how often.
template <class... Values>
class pending {
    struct state {
        int calls = 0;
        error_code ec;
        std::tuple<Values...> values;
        asio::cancellation_signal signal;
    };

public:
    using handler = asio::any_completion_handler<void(error_code, Values...)>;
    using thrown_handler = asio::any_completion_handler<void(std::exception_ptr)>;

    /// The completion token; once. Its type is that of the operation's own, so that nothing is
    /// compiled anew for it.
    handler token()
    {
        return asio::bind_cancellation_slot(
            state_->signal.slot(),
            [s = state_](error_code ec, Values... values) {
                ++s->calls;
                s->ec = ec;
                s->values = {std::move(values)...};
            }
        );
    }
    /// For a coroutine: what it throws counts as an end like any other.
    thrown_handler thrown_token()
    {
        return asio::bind_cancellation_slot(
            state_->signal.slot(), [s = state_](std::exception_ptr) { ++s->calls; }
        );
    }
    void cancel(asio::cancellation_type type = asio::cancellation_type::terminal)
    {
        state_->signal.emit(type);
    }
    int calls() const noexcept { return state_->calls; }
    bool is_done() const noexcept { return state_->calls != 0; }
    error_code ec() const
    {
        BOOST_TEST_REQUIRE(state_->calls == 1);
        return state_->ec;
    }
    bool succeeded() const { return state_->calls == 1 && !state_->ec; }
    bool aborted() const
    {
        return state_->calls == 1 && state_->ec == asio::error::operation_aborted;
    }
    /// Of what may come to nothing, or to "no".
    bool gave_nothing() const
        requires(sizeof...(Values) != 0)
    {
        return succeeded() && !value();
    }
    bool gave_something() const
        requires(sizeof...(Values) != 0)
    {
        return succeeded() && value();
    }

    auto& value() const
        requires(sizeof...(Values) != 0)
    {
        return std::get<0>(state_->values);
    }

private:
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// A completion token: the operation begins, and goes on until nothing but time can move it.
struct settling {
    virtual_time& time;
};

using pending_hold = pending<hold>;
using pending_try = pending<if_acquired<hold>>;

extern template class pending<>;
extern template class pending<hold>;
extern template class pending<if_acquired<hold>>;
extern template class pending<bool>;
extern template class pending<permit>;

/// Writes down what a client does.
struct recorder final : observer {
    void on_event(client_event const& what) noexcept override
    {
        std::visit([this](auto const& e) { note(e); }, what);
    }
    std::ptrdiff_t count(std::string_view what) const
    {
        return std::ranges::count(events, what, [](auto const& e) -> auto& { return e.first; });
    }

    std::vector<std::pair<std::string, std::string>> events;
    std::vector<std::pair<std::uint64_t, std::string>> steps;  ///< of each acquire, by its number
    microseconds last_waited{}, last_held{};
    milliseconds last_lease{}, last_valid{};
    std::uint32_t last_attempts = 0;
    error_code last_error;
    std::string last_holder, last_cause;
    std::function<void()> at_hand_over{};

private:
    void note(std::string_view what, std::string_view name)
    {
        events.push_back({std::string{what}, std::string{name}});
    }
    template <class Event>
    void note_step(std::string_view what, Event const& e)
    {
        note(what, e.name);
        steps.emplace_back(e.number, what);
    }
    void note(events::acquired const& e)
    {
        note_step("acquired", e);
        last_waited = e.waited;
        last_attempts = e.attempts;
    }
    void note(events::waiting const& e)
    {
        note_step("waiting", e);
        last_lease = e.lease;
    }
    void note(events::gave_up const& e) { note_step("gave_up", e); }
    void note(events::cancelled const& e) { note_step("cancelled", e); }
    void note(events::no_permits_set const& e) { note("no_permits_set", e.name); }
    void note(events::renewed const& e)
    {
        note("renewed", e.name);
        last_valid = e.valid_for;
    }
    void note(events::renew_failed const& e)
    {
        note("renew_failed", e.name);
        last_error = e.why;
    }
    void note(events::lost const& e)
    {
        note("lost", e.name);
        last_holder = e.holder;
        last_error = e.why;
        last_cause = e.cause;
    }
    void note(events::found_lost const& e)
    {
        note("found_lost", e.name);
        last_holder = e.holder;
        last_cause = e.cause;
    }
    void note(events::handed_over const& e)
    {
        note("handed_over", e.name);
        if (at_hand_over)
            at_hand_over();
    }
    void note(events::released const& e)
    {
        note("released", e.name);
        last_held = e.held;
    }
    void note(events::link_up const&) { note("link_up", ""); }
    void note(events::link_down const&) { note("link_down", ""); }
    void note(events::subscription_failed const& e)
    {
        note("subscription_failed", e.channel);
        last_error = e.why;
        last_cause = e.cause;
    }
};

/// A lease of 3 s: renewed after 0.9 to 1 s, valid for 2,968 ms, lost after 2,668 ms.
inline config short_leases()
{
    config c;
    c.lease = 3s;
    c.log = {};
    return c;
}
constexpr auto validity = 2'968ms;
constexpr auto margin = 300ms;

/// A client that runs on a scripted transport, in virtual time.
struct harness {
    explicit harness(config settings = short_leases(), bool running = true);

    config with(config settings);

    detail::core_ptr make_core(config settings);

    detail::core& inside() { return *detail::client_access::inside(client); }

    pending_hold acquire(acquire_options options = {}) { return acquire(mutex(), options); }
    pending_hold acquire(lock const& of, acquire_options options = {});
    pending_try try_acquire(acquire_options options = {});
    pending_try try_for(milliseconds wait, acquire_options options = {});
    pending<> release(basic_hold& h);
    pending<> extend(basic_hold& h, milliseconds lease);
    pending<> lost(basic_hold const& h);

    /// A hold, granted at once.
    hold held(acquire_options options = {}, std::int64_t token = 1);

    settling settled() { return {time}; }

    // Each with all that follows from it at once.
    template <class Operation>
    void cancel(Operation& what)
    {
        what.cancel();
        time.settle();
    }
    void respond(expectation& to, reply with);
    void lose(expectation& what);
    void cut();
    void mend();
    void cut_all();
    void mend_all();
    void pubsub_down();
    void pubsub_up();
    void publish(std::string const& to, std::string payload = "0");
    void stop();

    lock mutex(std::string name = "k") const { return {client, std::move(name)}; }
    unsigned link() const { return server->link_of(decide::slot_of("k")); }
    call const& last() const { return server->written().back(); }
    static std::string channel() { return "redisson_lock__channel:{k}"; }
    std::string mailbox() { return inside().mailbox_prefix(0) + inside().uuid(); }
    void open_mailbox();
    /// What it gets when somebody forces the ownership that has this key, by its field.
    static std::string letter_about(std::string const& field, std::string const& key = "k");

    /// Lets the client go and ends what waits for real time.
    asio::io_context context;
    virtual_time time{context};
    fake_transport* server = nullptr;
    std::shared_ptr<recorder> events = std::make_shared<recorder>();
    std::vector<std::string> log;
    pending<> run;
    colock::client client;
};

}  // namespace colock::test

template <class... Values>
struct boost::asio::async_result<colock::test::settling, void(colock::error_code, Values...)> {
    template <class Initiation, class... Arguments>
    static auto initiate(
        Initiation initiation, colock::test::settling how, Arguments&&... arguments
    )
    {
        colock::test::pending<Values...> begun;
        std::move(initiation)(begun.token(), std::forward<Arguments>(arguments)...);
        how.time.settle();
        return begun;
    }
};
