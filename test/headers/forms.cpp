// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Every compiler has to take each form of an operation that programs write. For check_traps.py.
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using colock::acquire_options;
using colock::error_code;
using colock::hold;
using colock::if_acquired;
using colock::permit;
using namespace std::chrono_literals;

namespace {

/// What a deferred operation completes with.
template <class Operation>
using signature = asio::completion_signature_of_t<Operation>;

/// An operation without a token throws its error in place of the code.
template <class Signature>
struct thrown;
template <class... Values>
struct thrown<void(error_code, Values...)> {
    using type = void(std::exception_ptr, Values...);
};

/// An operation without a token completes so. It isn't started.
template <class Signature, class Operation>
void ends(Operation&&)
{
    using expected = typename thrown<Signature>::type;
    static_assert(std::same_as<signature<std::decay_t<Operation>>, expected>);
}

template <class... Values>
void gives(auto&& operation)
{
    ends<void(error_code, Values...)>(operation);
}

/// Tokens of each kind, and how they are passed.
struct tokens {
    static constexpr auto deferred = asio::deferred;
    static constexpr auto tuple = asio::as_tuple(asio::deferred);
    static auto bound() { return asio::bind_executor(asio::system_executor{}, asio::deferred); }
    static auto handler()
    {
        return [](error_code, auto&&...) {};
    }
};

/// Compiles an operation with each token, as the last of these arguments.
template <class Begin>
void with_tokens(Begin const& begin)
{
    auto const kept = tokens::bound();
    auto told = tokens::handler();
    error_code ec;
    static_cast<void>(begin(tokens::deferred));
    static_cast<void>(begin(tokens::tuple));
    static_cast<void>(begin(tokens::bound()));
    static_cast<void>(begin(kept));
    static_cast<void>(begin(asio::redirect_error(asio::deferred, ec)));
    static_cast<void>(begin(asio::use_awaitable));
    static_cast<void>(begin(asio::use_future));
    static_cast<void>(begin(colock::blocking::wait));
    begin(asio::detached);
    begin(told);
    begin(tokens::handler());
}

constexpr auto until() { return std::chrono::system_clock::time_point{}; }

// What does not fit a hold isn't there.
template <class Held>
concept travels = requires(Held& held) { held.give(); };
template <class Held>
concept has_token = requires(Held& held) { held.fencing_token(); };
template <class Held>
concept has_tokens = requires(Held& held) { held.fencing_token(1); };
template <class Held>
concept may_stay_taken = requires(Held& held) { held.forgo_at_least(); };

static_assert(travels<hold> && has_token<hold> && !has_tokens<hold> && may_stay_taken<hold>);
using several = colock::group_hold;
static_assert(!travels<several> && has_tokens<several> && !may_stay_taken<several>);
static_assert(!travels<permit> && !has_token<permit> && !may_stay_taken<permit>);
using office = colock::leadership;
static_assert(!travels<office> && has_token<office> && !has_tokens<office>);
static_assert(!std::convertible_to<permit, hold> && !std::constructible_from<hold, permit>);
static_assert(!std::default_initializable<colock::basic_hold>);
static_assert(!std::destructible<colock::basic_hold>);

// What is called here is compiled, and never run.

template <class Lock, class Hold>
void forms_of_lock(Lock const& l)
{
    colock::owner const me;
    acquire_options const options{.lease = 3s, .as = me};
    acquire_options changed;
    using acquired = void(error_code, Hold);
    using tried = void(error_code, if_acquired<Hold>);

    ends<acquired>(l.acquire());
    ends<acquired>(l.acquire({}));
    ends<acquired>(l.acquire({.lease = 5s}));
    ends<acquired>(l.acquire({.lease = 5s, .renew = true}));
    ends<acquired>(l.acquire(acquire_options{.lease = 5s}));
    ends<acquired>(l.acquire(options));
    ends<acquired>(l.acquire(changed));
    static_assert(std::same_as<
                  signature<decltype(l.acquire({.lease = 5s}, tokens::deferred))>,
                  acquired>);
    with_tokens([&](auto&& token) { return l.acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) {
        return l.acquire({.lease = 5s}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.acquire(options, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) { return l.acquire({}, std::forward<decltype(token)>(token)); });

    ends<tried>(l.try_acquire());
    ends<tried>(l.try_acquire({}));
    ends<tried>(l.try_acquire({.as = me}));
    ends<tried>(l.try_acquire(options));
    with_tokens([&](auto&& token) { return l.try_acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) {
        return l.try_acquire({.as = me}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.try_acquire(options, std::forward<decltype(token)>(token));
    });

    ends<tried>(l.try_acquire_for(2s));
    ends<tried>(l.try_acquire_for(200ms, {}));
    ends<tried>(l.try_acquire_for(1.5s, {.lease = 5s}));
    ends<tried>(l.try_acquire_for(0s, options));
    with_tokens([&](auto&& token) {
        return l.try_acquire_for(2s, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.try_acquire_for(2s, {.lease = 5s}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.try_acquire_for(2s, options, std::forward<decltype(token)>(token));
    });

    ends<tried>(l.try_acquire_until(until()));
    ends<tried>(l.try_acquire_until(hold::clock::time_point{}, {.lease = 5s}));
    ends<tried>(l.try_acquire_until(until(), options));
    with_tokens([&](auto&& token) {
        return l.try_acquire_until(until(), std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.try_acquire_until(until(), {.lease = 5s}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return l.try_acquire_until(until(), options, std::forward<decltype(token)>(token));
    });

    gives<bool>(l.is_locked());
    gives<std::int64_t>(l.hold_count(me));
    gives<std::optional<std::chrono::milliseconds>>(l.remaining_lease());
    gives<bool>(l.force_release());
    with_tokens([&](auto&& token) { return l.is_locked(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return l.hold_count(me, std::forward<decltype(token)>(token)); }
    );
}

void forms_of_semaphore(colock::semaphore const& s)
{
    int const n = 3;
    std::size_t const many = 3;
    gives<>(s.acquire());
    gives<>(s.acquire(2));
    gives<>(s.acquire(n));
    gives<>(s.acquire(std::int64_t{3}));
    gives<>(s.acquire(static_cast<std::int64_t>(many)));
    with_tokens([&](auto&& token) { return s.acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return s.acquire(n, std::forward<decltype(token)>(token)); });
    gives<bool>(s.try_acquire());
    gives<bool>(s.try_acquire(2));
    with_tokens([&](auto&& token) { return s.try_acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return s.try_acquire(2, std::forward<decltype(token)>(token)); }
    );
    gives<bool>(s.try_acquire_for(2s));
    gives<bool>(s.try_acquire_for(2s, 2));
    with_tokens([&](auto&& token) {
        return s.try_acquire_for(2s, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return s.try_acquire_for(2s, n, std::forward<decltype(token)>(token));
    });
    gives<>(s.release());
    gives<>(s.release(2));
    with_tokens([&](auto&& token) { return s.release(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return s.release(2, std::forward<decltype(token)>(token)); });
    gives<bool>(s.release_if_exists(2));
    with_tokens([&](auto&& token) {
        return s.release_if_exists(2, std::forward<decltype(token)>(token));
    });
    gives<bool>(s.try_set_permits(5));
    gives<bool>(s.try_set_permits(5, 1h));
    with_tokens([&](auto&& token) {
        return s.try_set_permits(5, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return s.try_set_permits(5, 1h, std::forward<decltype(token)>(token));
    });
    gives<>(s.add_permits(-1));
    gives<std::int64_t>(s.drain());
    gives<std::int64_t>(s.available());
    with_tokens([&](auto&& token) { return s.add_permits(1, std::forward<decltype(token)>(token)); }
    );
}

void forms_of_permits(colock::permit_semaphore const& p)
{
    acquire_options const options{.lease = 3s};
    std::string const id;
    std::vector<std::string> const ids;
    gives<permit>(p.acquire());
    gives<permit>(p.acquire({}));
    gives<permit>(p.acquire({.lease = 5s}));
    gives<permit>(p.acquire(options));
    with_tokens([&](auto&& token) { return p.acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) {
        return p.acquire({.lease = 5s}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return p.acquire(options, std::forward<decltype(token)>(token));
    });
    gives<if_acquired<permit>>(p.try_acquire());
    gives<if_acquired<permit>>(p.try_acquire({.lease = 5s}));
    with_tokens([&](auto&& token) { return p.try_acquire(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) {
        return p.try_acquire(options, std::forward<decltype(token)>(token));
    });
    gives<if_acquired<permit>>(p.try_acquire_for(2s));
    gives<if_acquired<permit>>(p.try_acquire_for(2s, {.lease = 5s}));
    with_tokens([&](auto&& token) {
        return p.try_acquire_for(2s, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return p.try_acquire_for(2s, {.lease = 5s}, std::forward<decltype(token)>(token));
    });
    gives<colock::permit_list>(p.acquire_many(3));
    gives<colock::permit_list>(p.acquire_many(3, {.lease = 5s}));
    with_tokens([&](auto&& token) {
        return p.acquire_many(3, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return p.acquire_many(3, {.lease = 5s}, std::forward<decltype(token)>(token));
    });
    gives<colock::permit_list>(p.try_acquire_many_for(2s, 3));
    gives<colock::permit_list>(p.try_acquire_many_for(2s, 3, {.lease = 5s}));
    with_tokens([&](auto&& token) {
        return p.try_acquire_many_for(2s, 3, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return p.try_acquire_many_for(2s, 3, options, std::forward<decltype(token)>(token));
    });
    gives<bool>(p.release(id));
    gives<bool>(p.release("0123456789abcdef"));
    gives<bool>(p.release(ids));
    gives<bool>(p.release({id, id}));
    gives<bool>(p.release(std::vector<std::string>{id}));
    with_tokens([&](auto&& token) { return p.release(id, std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return p.release(ids, std::forward<decltype(token)>(token)); });
    gives<bool>(p.extend(id, 10s));
    gives<bool>(p.try_set_permits(5));
    gives<bool>(p.try_set_permits(5, 1h));
    with_tokens([&](auto&& token) {
        return p.try_set_permits(5, 1h, std::forward<decltype(token)>(token));
    });
    gives<>(p.set_permits(5));
    gives<>(p.add_permits(5));
    gives<bool>(p.remove());
    gives<std::int64_t>(p.available());
    gives<std::int64_t>(p.acquired());
    gives<std::int64_t>(p.permits());
    with_tokens([&](auto&& token) { return p.permits(std::forward<decltype(token)>(token)); });
}

void forms_of_latch(colock::countdown_latch const& c)
{
    gives<bool>(c.try_set_count(3));
    gives<>(c.count_down());
    gives<std::int64_t>(c.count());
    gives<>(c.wait());
    gives<bool>(c.wait_for(2s));
    gives<bool>(c.remove());
    with_tokens([&](auto&& token) { return c.wait(std::forward<decltype(token)>(token)); });
    with_tokens([&](auto&& token) { return c.wait_for(2s, std::forward<decltype(token)>(token)); });
}

void forms_of_client(colock::client& redis)
{
    acquire_options const options{.lease = 3s};
    std::vector<std::string> const names;
    colock::claim const given;
    gives<>(redis.run());
    gives<>(redis.close());
    gives<std::chrono::microseconds>(redis.ping());
    gives<colock::lock_info>(redis.inspect("order"));
    gives<hold>(redis.adopt(given));
    gives<hold>(redis.adopt(given, {}));
    gives<hold>(redis.adopt(given, {.lease = 5s}));
    gives<hold>(redis.adopt(given, options));
    with_tokens([&](auto&& token) {
        return redis.adopt(given, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return redis.adopt(given, {.lease = 5s}, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return redis.adopt(given, options, std::forward<decltype(token)>(token));
    });

    gives<colock::held_locks>(colock::acquire_many(redis, names));
    gives<colock::held_locks>(colock::acquire_many(redis, {"a", "b"}));
    gives<colock::held_locks>(colock::acquire_many(redis, names, {}));
    gives<colock::held_locks>(colock::acquire_many(redis, {"a", "b"}, {.take = colock::many::free})
    );
    gives<colock::held_locks>(
        colock::acquire_many(redis, names, {.wait = 2s, .with = {.lease = 5s}})
    );
    with_tokens([&](auto&& token) {
        return colock::acquire_many(redis, names, std::forward<decltype(token)>(token));
    });
    with_tokens([&](auto&& token) {
        return colock::acquire_many(
            redis, {"a"}, {.wait = 2s}, std::forward<decltype(token)>(token)
        );
    });
}

template <class Held>
void forms_of_hold(Held& held)
{
    gives<>(held.extend(10s));
    gives<>(held.lost());
    with_tokens([&](auto&& token) { return held.extend(10s, std::forward<decltype(token)>(token)); }
    );
    with_tokens([&](auto&& token) { return held.lost(std::forward<decltype(token)>(token)); });
}

asio::awaitable<void> forms_of_work(
    colock::lock l, colock::semaphore s, colock::permit_semaphore p, colock::election e
)
{
    auto work = []() -> asio::awaitable<void> { co_return; };
    auto counted = [](hold&) -> asio::awaitable<int> { co_return 7; };
    acquire_options const options{.lease = 3s};
    co_await colock::with_lock(l, work);
    co_await colock::with_lock(l, {.lease = 5s}, work);
    co_await colock::with_lock(l, options, work);
    int const seven = co_await colock::with_lock(l, counted);
    bool const ran = co_await colock::with_lock_for(l, 2s, work);
    std::optional<int> const result = co_await colock::with_lock_for(l, 2s, {.lease = 5s}, counted);
    static_cast<void>(co_await colock::with_lock_for(l, 2s, options, work));
    static_cast<void>(co_await colock::once_per(l, 1h, work));
    co_await colock::with_lock(p, work);
    co_await colock::with_permits(s, 2, work);
    static_cast<void>(co_await colock::with_permits_for(s, 2s, 2, work));
    colock::permit_guard taken{s, 1};
    co_await taken.release();
    hold held = co_await l.acquire();
    co_await colock::guard(held, work);
    colock::claim const given = co_await held.give();
    colock::leadership mine = co_await e.campaign("here");
    co_await mine.publish("there");
    co_await mine.resign();
    co_await e.lead("here", work);
    co_await e.stand("here", work);
    std::optional<colock::leader> const now = co_await e.current();
    static_cast<void>(co_await e.next(now));
    co_await e.observe([](std::optional<colock::leader> const&) {});
    colock::lock_watch watch{l};
    static_cast<void>(co_await watch.next());
    static_cast<void>(co_await colock::lock_watch::ask_to_release(l));
    static_cast<void>(seven + ran + result.value_or(0) + given.valid_for.count());
}

}  // namespace

void forms(
    colock::client& redis,
    colock::lock const& l,
    colock::multi_lock const& all,
    colock::semaphore const& s,
    colock::permit_semaphore const& p,
    colock::countdown_latch const& c,
    colock::election const& e,
    hold& held,
    permit& seat
)
{
    forms_of_lock<colock::lock, hold>(l);
    forms_of_lock<colock::multi_lock, colock::group_hold>(all);
    forms_of_semaphore(s);
    forms_of_permits(p);
    forms_of_latch(c);
    forms_of_client(redis);
    forms_of_hold(held);
    forms_of_hold(seat);
    static_cast<void>(forms_of_work(l, s, p, e));
}
