// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An error says what the call was, which lock it was about, which server has it, and what that
// said.
#include "support/cancel_after.hpp"
#include "unit/api/guarded.hpp"
#include "unit/service/group.hpp"
#include <colock/acquire_many.hpp>
#include <colock/admin.hpp>
#include <colock/blocking.hpp>
#include <colock/countdown_latch.hpp>
#include <colock/diagnostics.hpp>
#include <colock/election.hpp>
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/lock_watch.hpp>
#include <colock/multi_lock.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/red_lock.hpp>
#include <colock/spin_lock.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <string_view>

namespace colock::test {

namespace {

template <class Operation>
asio::awaitable<void> await(Operation operation)
{
    static_cast<void>(co_await std::move(operation));
}

struct diagnosed : guarded {
    /// The text of what it throws.
    template <class Operation>
    std::string said_of(Operation operation)
    {
        running const one{*this, [&operation]() { return await(std::move(operation)); }};
        time.settle();
        return one.said();
    }
};

BOOST_FIXTURE_TEST_SUITE(api_diagnostics, diagnosed)

BOOST_AUTO_TEST_CASE(every_operation_names_itself_its_object_and_the_server)
{
    std::string const at = " at 127.0.0.1:6379: ";
    auto const closed = error_code{error::closed}.message();
    pending_hold one;
    mutex().acquire(one.token());
    time.settle();
    hold kept = std::move(one.value());
    election const office{client, "office"};
    client.close(settled());

    lock const plain{client, "k"};
    semaphore const some{client, "s"};
    permit_semaphore const seats{client, "p"};
    countdown_latch const latch{client, "l"};
    auto const expect = [&](std::string const& call, auto operation) {
        BOOST_TEST(said_of(std::move(operation)) == call + at + closed);
    };
    expect("acquire k", plain.acquire());
    expect("try_acquire k", plain.try_acquire());
    expect("try_acquire_for k", plain.try_acquire_for(1s));
    expect("try_acquire_until k", plain.try_acquire_until(time.now() + 1s));
    expect("is_locked k", plain.is_locked());
    expect("remaining_lease k", plain.remaining_lease());
    expect("force_release k", plain.force_release());
    expect("acquire f", fair_lock{client, "f"}.acquire());
    expect("acquire f", spin_lock{client, "f"}.acquire());
    expect("token f", fenced_lock{client, "f"}.token());
    expect("acquire r", read_write_lock{client, "r"}.read().acquire());
    expect("acquire r", read_write_lock{client, "r"}.write().acquire());
    expect("acquire a,b", multi_lock{lock{client, "a"}, lock{client, "b"}}.acquire());
    expect("acquire a,b", red_lock{lock{client, "a"}, lock{client, "b"}}.acquire());
    expect("acquire_many a and 1 more", acquire_many(client, {"a", "b"}));
    expect("acquire s", some.acquire());
    expect("try_acquire s", some.try_acquire());
    expect("release s", some.release());
    expect("add_permits s", some.add_permits(1));
    expect("acquire p", seats.acquire());
    expect("available p", seats.available());
    expect("wait l", latch.wait());
    expect("count_down l", latch.count_down());
    expect("current office", office.current());
    expect("inspect k", client.inspect("k"));
    expect("ping", client.ping());
    BOOST_TEST(said_of(kept.extend(1s)).starts_with("extend k" + at));
}

BOOST_AUTO_TEST_CASE(a_refusal_has_the_words_of_the_server)
{
    auto const whole =
        "acquire k at 127.0.0.1:6379: the server refused a command: NOPERM not yours";
    server->expect(scripts::acquire).fail(detail::refusal("NOPERM not yours", false));
    BOOST_TEST(said_of(mutex().acquire()) == whole);

    server->expect(scripts::acquire).fail(detail::refusal("NOPERM not yours", false));
    BOOST_TEST(said_of(mutex().acquire(with_diagnostics(asio::use_awaitable))) == whole);

    diagnostics said;
    pending_hold one;
    server->expect(scripts::acquire).fail(detail::refusal("NOPERM not yours", false));
    mutex().acquire(with_diagnostics(said, one.token()));
    time.settle();
    BOOST_TEST((one.ec() == error::server_refused));
    BOOST_TEST(said.text() == whole);

    // The next one that succeeds leaves nothing of it.
    pending_hold two;
    mutex().acquire(with_diagnostics(said, two.token()));
    time.settle();
    BOOST_TEST(!two.ec());
    BOOST_TEST(said.text().empty());
}

BOOST_AUTO_TEST_CASE(what_a_release_is_told_reaches_the_one_call_for_many)
{
    pending<held_locks> got;
    acquire_many(client, {"a", "b"}, got.token());
    time.settle();
    server->expect(scripts::release).fail(detail::refusal("NOPERM not yours", false));
    auto const said = said_of(got.value().release());
    BOOST_TEST(said.starts_with("release a and 1 more at 127.0.0.1:6379: "));
    BOOST_TEST(said.ends_with("NOPERM not yours"));
}

BOOST_AUTO_TEST_CASE(the_exception_has_its_code_and_its_text)
{
    server->expect(scripts::acquire).fail(error::wrong_type);
    auto done = mutex().acquire(with_diagnostics(asio::use_future));
    time.settle();
    try {
        (void)done.get();
        BOOST_FAIL("nothing was thrown");
    } catch (error_with_diagnostics const& e) {
        BOOST_TEST((e.code() == error::wrong_type));
        BOOST_TEST(e.get_diagnostics().text() == e.what());
        BOOST_TEST(std::string{e.what()}.starts_with("acquire k at 127.0.0.1:6379: the key holds"));
    }
}

BOOST_AUTO_TEST_CASE(the_token_keeps_the_executor_and_the_cancellation_of_the_one_in_it)
{
    redis.occupy("k", 1h);
    asio::any_io_executor const strand = asio::make_strand(context);
    asio::cancellation_signal stop;
    bool is_there = false;
    diagnostics said;
    error_code ended;
    mutex().acquire(with_diagnostics(
        said,
        asio::bind_cancellation_slot(
            stop.slot(),
            asio::bind_executor(
                strand,
                [&](error_code ec, hold) {
                    using on_context = asio::strand<asio::io_context::executor_type>;
                    auto const* const own = strand.target<on_context>();
                    is_there = own && own->running_in_this_thread();
                    ended = ec;
                }
            )
        )
    ));
    time.settle();
    stop.emit(asio::cancellation_type::terminal);
    time.settle();
    BOOST_TEST(is_there);
    BOOST_TEST((ended == asio::error::operation_aborted));
    BOOST_TEST(said.text().starts_with("acquire k at "));
}

BOOST_AUTO_TEST_CASE(a_limit_of_asio_goes_into_it_and_round_a_call_without_a_token)
{
    redis.occupy("k", 1h);
    diagnostics said;
    error_code inner, outer;
    mutex().acquire(with_diagnostics(said, asio::cancel_after(1ms, [&](error_code ec, hold) {
                                         inner = ec;
                                     })));
    std::exception_ptr thrown;
    mutex().acquire()(asio::cancel_after(1ms, [&](std::exception_ptr e, hold) { thrown = e; }));
    mutex().acquire(asio::cancel_after(1ms, with_diagnostics([&](std::exception_ptr e, hold) {
                                           outer =
                                               e ? asio::error::operation_aborted : error_code{};
                                       })));
    // Asio's timers know no virtual time.
    auto const latest = std::chrono::steady_clock::now() + 20s;
    while (!(inner && thrown && outer) && std::chrono::steady_clock::now() < latest)
        time.settle();
    BOOST_TEST((inner == asio::error::operation_aborted));
    BOOST_TEST(said.text().starts_with("acquire k at "));
    BOOST_TEST_REQUIRE(bool{thrown});
    BOOST_CHECK_THROW(std::rethrow_exception(thrown), error_with_diagnostics);
    BOOST_TEST((outer == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_call_without_a_token_can_be_begun_twice)
{
    auto const operation = mutex().is_locked();
    for (int i = 0; i != 2; ++i) {
        server->expect(scripts::inspect).fail(error::wrong_type);
        std::exception_ptr thrown;
        operation([&](std::exception_ptr e, bool) { thrown = e; });
        time.settle();
        BOOST_TEST_REQUIRE(bool{thrown});
        BOOST_CHECK_EXCEPTION(
            std::rethrow_exception(thrown),
            error_with_diagnostics,
            [](error_with_diagnostics const& e) {
                return std::string_view{e.what()}.starts_with("is_locked k at 127.0.0.1:6379: ");
            }
        );
    }
}

BOOST_AUTO_TEST_CASE(of_locks_at_several_servers_the_words_name_the_one_that_failed)
{
    auto settings = short_leases();
    settings.addresses = {{"10.0.0.2", 6379}};
    elsewhere other{*this, settings};
    multi_lock const both{lock{client, "a"}, lock{other.client, "b"}};
    other.server->expect(scripts::acquire)
        .fail(detail::refusal("NOPERM not yours", false, "10.0.0.2:6379"));
    BOOST_TEST(
        said_of(both.acquire()) == "acquire a,b: 10.0.0.2:6379 refused a command: NOPERM not yours"
    );
    pending<group_hold> got;
    both.acquire(got.token());
    time.settle();
    other.server->expect(scripts::release)
        .fail(detail::refusal("NOPERM not yours", false, "10.0.0.2:6379"));
    BOOST_TEST(
        said_of(got.value().release()) ==
        "release a,b: 10.0.0.2:6379 refused a command: NOPERM not yours"
    );
}

BOOST_AUTO_TEST_CASE(a_loss_under_the_work_is_named_and_steers_no_terminal)
{
    lock const wild{client, "k\x1b[2J"};
    running const section{
        *this, [&] {
            return with_lock(wild, [](hold&) -> asio::awaitable<void> { co_await rest(1min); });
        }};
    time.settle();
    wild.force_release(settled());
    time.advance(31s);
    BOOST_TEST((section.thrown() == error::lost));
    BOOST_TEST(section.said().starts_with("with_lock k\\x1b[2J at 127.0.0.1:6379: "));
}

BOOST_AUTO_TEST_CASE(a_thread_that_has_nothing_to_release_is_told_the_name)
{
    blocking::client threads{client};
    blocking::mutex idle{threads, "k"};
    try {
        std::async(std::launch::async, [&] { idle.release(); }).get();
        BOOST_FAIL("nothing was thrown");
    } catch (error_with_diagnostics const& e) {
        BOOST_TEST((e.code() == error::not_held));
        BOOST_TEST(std::string{e.what()}.starts_with("release k: "));
    }
}

BOOST_AUTO_TEST_CASE(an_empty_hold_has_no_server_to_name)
{
    hold nothing;
    try {
        nothing.release(blocking::wait);
        BOOST_FAIL("nothing was thrown");
    } catch (error_with_diagnostics const& e) {
        BOOST_TEST(e.what() == "release: " + error_code{error::not_held}.message());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
