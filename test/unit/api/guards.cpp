// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Guards: what is held is given back on every way out, and errors say of what they are.
#include "unit/api/guarded.hpp"
#include <colock/multi_lock.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/with_lock.hpp>
#include <colock/with_permits.hpp>

#include <stdexcept>

namespace colock::test {

namespace {

asio::awaitable<void> nothing(hold&) { co_return; }

BOOST_FIXTURE_TEST_SUITE(api_guards, guarded)

// ---- with_lock_for -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_wait_that_runs_out_runs_nothing)
{
    redis.occupy("k", 1h);
    std::optional<bool> was_run;
    running const section{*this, [&]() -> asio::awaitable<void> {
                              was_run = co_await with_lock_for(mutex(), 50ms, nothing);
                          }};
    time.advance(49ms);
    BOOST_TEST(!section.ended());
    time.advance(2ms);
    BOOST_TEST_REQUIRE(section.succeeded());
    BOOST_TEST((was_run == false));
}

BOOST_AUTO_TEST_CASE(what_the_work_gives_comes_in_an_optional)
{
    std::optional<std::unique_ptr<int>> got;
    auto const work = [this](hold&) -> asio::awaitable<std::unique_ptr<int>> {
        co_await rest(500ms);  // longer than the wait, which is for the lock alone
        BOOST_TEST(redis.is_locked("k"));
        co_return std::make_unique<int>(7);
    };
    running const section{*this, [&]() -> asio::awaitable<void> {
                              got = co_await with_lock_for(mutex(), 50ms, {.lease = 1s}, work);
                          }};
    time.advance(501ms);
    BOOST_TEST_REQUIRE(section.succeeded());
    BOOST_TEST_REQUIRE(got.has_value());
    BOOST_TEST(**got == 7);
    BOOST_TEST(!redis.is_locked("k"));
}

// ---- guard -------------------------------------------------------------------------------------

/// Takes the lock, and guards the work with it.
template <class Work>
asio::awaitable<void> acquire_and_guard(lock of, acquire_options options, Work work)
{
    auto got = co_await of.try_acquire_for(1s, options);
    if (!got)
        throw std::logic_error{"nothing acquired"};
    co_await guard(*got, work);
    BOOST_TEST(static_cast<bool>(*got));  // the guard has not released it
}

BOOST_AUTO_TEST_CASE(a_guard_leaves_the_hold_to_its_caller)
{
    running const section{*this, [this] { return acquire_and_guard(mutex(), {}, nothing); }};
    time.advance(1ms);
    BOOST_TEST(section.succeeded());
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(work_under_a_guard_that_throws_does_not_wait_for_a_loss)
{
    running const section{
        *this, [this] {
            return acquire_and_guard(mutex(), {}, [](hold&) -> asio::awaitable<void> {
                co_await rest(1ms);
                throw std::runtime_error{"no"};
            });
        }};
    time.advance(5ms);
    BOOST_TEST(section.said() == "no");
    BOOST_TEST(!redis.is_locked("k"));
}

BOOST_AUTO_TEST_CASE(a_loss_ends_the_work_under_a_guard)
{
    running const section{
        *this, [this] {
            return acquire_and_guard(mutex(), {.lease = 200ms}, [](hold&) { return rest(10s); });
        }};
    time.advance(200ms);
    BOOST_TEST((section.thrown() == error::lost));
    BOOST_TEST(section.said().find("guard k") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_guard_does_not_begin_work_for_what_is_not_held)
{
    bool has_begun = false;
    auto const work = [&](hold&) -> asio::awaitable<void> {
        has_begun = true;
        co_return;
    };
    hold empty;
    auto first = acquire(), second = acquire(mutex("other"), {.lease = 200ms});
    hold& released = first.value();
    hold& lost_one = second.value();
    release(released);
    time.jump(300ms);
    running const a{*this, [&] { return guard(empty, work); }};
    running const b{*this, [&] { return guard(released, work); }};
    running const c{*this, [&] { return guard(lost_one, work); }};
    BOOST_TEST((a.thrown() == error::not_held));
    BOOST_TEST((b.thrown() == error::not_held));
    BOOST_TEST((c.thrown() == error::lost));
    BOOST_TEST(!has_begun);
}

// ---- Names, moments, leases --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_hold_knows_what_it_holds)
{
    auto c = short_leases();
    c.key_prefix = "shop:";
    guarded at{c};
    auto one = at.acquire();
    BOOST_TEST(one.value().name() == "k");
    pending<group_hold> several;
    multi_lock{at.mutex("a"), at.mutex("b")}.acquire(several.token());
    pending<permit> permitted;
    at.redis.set_counter("shop:p", 1);
    permit_semaphore{at.client, "p"}.acquire(permitted.token());
    at.time.settle();
    BOOST_TEST(several.value().name() == "a,b");
    BOOST_TEST(permitted.value().name() == "p");
    at.release(one.value());
    BOOST_TEST(one.value().name() == "k");
    BOOST_TEST(hold{}.name().empty());
}

BOOST_AUTO_TEST_CASE(a_wait_until_a_moment_counts_from_its_beginning)
{
    redis.occupy("k", 1h);
    auto operation = mutex().try_acquire_until(time.now() + 100ms, asio::deferred);
    time.advance(60ms);
    pending_try first;
    std::move(operation)(first.token());
    auto second = mutex().try_acquire_until(time.now() - 1s, settled());
    BOOST_TEST(second.gave_nothing());
    time.advance(39ms);
    BOOST_TEST(!first.is_done());
    time.advance(2ms);
    BOOST_TEST(first.gave_nothing());
}

BOOST_AUTO_TEST_CASE(several_locks_may_be_waited_for_until_a_moment)
{
    redis.occupy("b", 1h);
    auto got = multi_lock{mutex("a"), mutex("b")}.try_acquire_until(time.now() + 100ms, settled());
    time.advance(300ms);
    BOOST_TEST(got.gave_nothing());
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(a_lease_of_its_own_can_be_renewed)
{
    auto mine = acquire({.lease = 600ms, .renew = true});
    BOOST_TEST((redis.lease_left("k") == 600ms));
    time.advance(10s);
    BOOST_TEST(static_cast<bool>(mine.value()));
    BOOST_TEST((redis.lease_left("k") <= 600ms));
    BOOST_TEST(events->count("renewed") > 40);
    BOOST_TEST(
        (acquire(mutex("other"), {.lease = 50ms, .renew = true}).ec() == error::invalid_argument)
    );
}

BOOST_AUTO_TEST_CASE(several_locks_with_a_lease_of_their_own_can_be_renewed)
{
    auto several =
        multi_lock{mutex("a"), mutex("b")}.acquire({.lease = 600ms, .renew = true}, settled());
    time.advance(5s);
    BOOST_TEST_REQUIRE(several.succeeded());
    BOOST_TEST(static_cast<bool>(several.value()));
    BOOST_TEST((redis.lease_left("a") <= 600ms));
}

BOOST_AUTO_TEST_CASE(a_permit_with_a_lease_of_its_own_can_be_renewed)
{
    redis.set_counter("p", 1);
    auto got = permit_semaphore{client, "p"}.acquire({.lease = 600ms, .renew = true}, settled());
    time.advance(5s);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(static_cast<bool>(got.value()));
}

// ---- Errors ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_cannot_be_acquired_is_named)
{
    server->expect(scripts::acquire).fail(error::wrong_type);
    running const section{*this, [this] { return with_lock(mutex(), nothing); }};
    BOOST_TEST((section.thrown() == error::wrong_type));
    BOOST_TEST(section.said().find("acquire k at ") != std::string::npos);

    server->expect(scripts::acquire).fail(detail::refusal("NOPERM not yours", false));
    running const limited{*this, [this]() -> asio::awaitable<void> {
                              (void)co_await with_lock_for(mutex(), 1s, nothing);
                          }};
    BOOST_TEST((limited.thrown() == error::server_refused));
    BOOST_TEST(limited.said().find("try_acquire_for k at ") != std::string::npos);
    BOOST_TEST(limited.said().find("NOPERM not yours") != std::string::npos);

    redis.ask({"SET", "s", "text"});
    server->expect(scripts::semaphore_acquire).fail(error::wrong_type);
    running const counted{
        *this, [this] {
            return with_permits({client, "s"}, 1, []() -> asio::awaitable<void> { co_return; });
        }};
    BOOST_TEST(counted.said().find("acquire s at ") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(vocabulary_error)

BOOST_AUTO_TEST_CASE(a_refusal_has_the_words_of_the_server)
{
    auto const ec = detail::refusal("NOPERM no permissions to run\x1b[2J\nthe command", false);
    BOOST_TEST((ec == error::server_refused));
    BOOST_TEST((ec.category() == error_category()));
    BOOST_TEST(
        ec.text() ==
        "the server refused a command: NOPERM no permissions to run\\x1b[2J\\x0athe command"
    );
    BOOST_TEST(detail::refusal(std::string(9'999, 'x'), false).text().size() == 300U);
    BOOST_TEST((ec == detail::refusal("OOM", true)));
    BOOST_TEST((ec != error::unavailable));
    BOOST_TEST((ec != condition::retryable));
    BOOST_TEST((detail::refusal("OOM command not allowed", true) == condition::retryable));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_available_has_its_words)
{
    auto const ec = detail::unavailable("the server refuses for the moment: LOADING");
    BOOST_TEST((ec == error::unavailable));
    BOOST_TEST((ec == condition::retryable));
    BOOST_TEST((ec != error::server_refused));
    BOOST_TEST(ec.text() == "the server refuses for the moment: LOADING");
    BOOST_TEST(detail::failure{error::lost}.text() == error_code{error::lost}.message());
}

BOOST_AUTO_TEST_CASE(a_text_names_the_call_the_lock_and_the_server)
{
    auto const server = std::make_shared<std::string const>("10.0.0.7:6379");
    detail::call_about const about{"acquire", detail::short_name{"k\n"}, server};
    BOOST_TEST(
        text_of(detail::refusal("OOM", true), about) ==
        "acquire k\\x0a at 10.0.0.7:6379: the server refused a command: OOM"
    );
    BOOST_TEST(
        text_of(detail::unavailable("no connection to 10.0.0.7:6379: refused"), about) ==
        "acquire k\\x0a: no connection to 10.0.0.7:6379: refused"
    );
    auto const lost = error_code{error::lost}.message();
    BOOST_TEST(detail::text_of({error::lost}, {"release", {}, nullptr}) == "release: " + lost);
    BOOST_TEST(detail::text_of({error::lost}, {}) == lost);
}

BOOST_AUTO_TEST_CASE(a_long_name_loses_its_middle)
{
    std::string const fits(63, 'x');
    BOOST_TEST(detail::short_name{fits}.view() == fits);
    BOOST_TEST(
        detail::short_name{"a" + fits + "z"}.view() ==
        "a" + fits.substr(0, 29) + "..." + fits.substr(0, 29) + "z"
    );
    BOOST_TEST(detail::short_name{}.view().empty());
}

BOOST_AUTO_TEST_CASE(what_may_pass_is_retryable)
{
    namespace fault = asio::error;
    for (error_code const ec : std::initializer_list<error_code>{
             error::unavailable, error::not_replicated, error::no_quorum})
        BOOST_TEST((ec == condition::retryable), ec.message());
    for (error_code const ec : std::initializer_list<error_code>{
             error_code{},
             error::closed,
             error::lost,
             error::not_held,
             error::wrong_type,
             error::invalid_argument,
             error::server_refused,
             error::bad_reply,
             error::invalid_config,
             error::would_deadlock,
             fault::connection_reset,  // perhaps of the work under the lock
             fault::operation_aborted})
        BOOST_TEST((ec != condition::retryable), ec.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
