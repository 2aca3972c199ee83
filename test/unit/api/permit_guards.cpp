// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Permits are given back on every way out, also while their client closes.
#include "unit/api/guarded.hpp"
#include <colock/with_permits.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(api_permit_guards, guarded)

BOOST_AUTO_TEST_CASE(permits_come_back_after_the_work)
{
    auto const s = permits(3);
    std::string got;
    auto const work = [this]() -> asio::awaitable<std::string> {
        BOOST_TEST(redis.counter("s") == 1);
        co_await rest(5ms);
        co_return "seven";
    };
    running const section{
        *this, [&]() -> asio::awaitable<void> { got = co_await with_permits(s, 2, work); }};
    time.advance(6ms);
    BOOST_TEST(section.succeeded());
    BOOST_TEST(got == "seven");
    BOOST_TEST(redis.counter("s") == 3);
}

BOOST_AUTO_TEST_CASE(work_may_give_its_permits_back_early)
{
    auto const s = permits(3);
    auto const work = [this](permit_guard& mine) -> asio::awaitable<void> {
        BOOST_TEST(mine.count() == 2);
        co_await mine.release();
        BOOST_TEST(redis.counter("s") == 3);
        co_await rest(5ms);
    };
    running const section{*this, [&] { return with_permits(s, 2, work); }};
    time.advance(6ms);
    BOOST_TEST(section.succeeded());
    BOOST_TEST(redis.counter("s") == 3);
}

// A cancelled coroutine begins no operation any more: a plain release would never be sent.
BOOST_AUTO_TEST_CASE(permits_come_back_after_a_cancellation)
{
    auto const s = permits(1);
    for (auto const stage : {0, 1}) {
        running section{*this, [&] {
                            return with_permits(s, 1, [stage]() -> asio::awaitable<void> {
                                if (stage == 1)
                                    co_await asio::this_coro::throw_if_cancelled(false);
                                try {
                                    co_await rest(10s);
                                } catch (boost::system::system_error const&) {
                                    if (stage == 0)
                                        throw;
                                }
                            });
                        }};
        BOOST_TEST(redis.counter("s") == 0);
        cancel(section);
        BOOST_TEST(section.ended());
        BOOST_TEST(redis.counter("s") == 1, stage);
    }
}

BOOST_AUTO_TEST_CASE(a_wait_for_permits_that_runs_out_takes_none)
{
    auto const s = permits(1);
    std::optional<bool> was_run;
    running const section{
        *this, [&]() -> asio::awaitable<void> {
            was_run =
                co_await with_permits_for(s, 50ms, 2, []() -> asio::awaitable<void> { co_return; });
        }};
    time.advance(51ms);
    BOOST_TEST((section.succeeded() && was_run == false));
    BOOST_TEST(redis.counter("s") == 1);
}

BOOST_AUTO_TEST_CASE(a_guard_gives_permits_back_once)
{
    auto const s = permits(5);
    auto taken = s.acquire(4, settled());
    {
        permit_guard first{s, 4};
        auto second = std::move(first);
        BOOST_TEST((!first && second.count() == 4));
        auto const begun_by_nobody = second.release();
        BOOST_TEST(second.count() == 4);
        pending<> given;
        second.release(given.token());
        auto again = second.release(settled());
        BOOST_TEST((given.succeeded() && again.succeeded()));
        BOOST_TEST(redis.counter("s") == 5);
    }
    time.settle();
    BOOST_TEST(redis.counter("s") == 5);
    s.acquire(4, taken.token());
    time.settle();
    {
        permit_guard const dropped{s, 4};
    }
    time.settle();
    BOOST_TEST(redis.counter("s") == 5);
}

BOOST_AUTO_TEST_CASE(closing_waits_for_the_permits_of_a_guard)
{
    auto const s = permits(1);
    running const section{*this, [&] { return with_permits(s, 1, [] { return rest(20ms); }); }};
    auto closed = client.close(settled());
    time.advance(19ms);
    BOOST_TEST((!closed.is_done() && !section.ended()));
    time.advance(2ms);
    BOOST_TEST((closed.succeeded() && section.succeeded()));
    BOOST_TEST(redis.counter("s") == 1);
}

// Its caller has not resumed yet.
BOOST_AUTO_TEST_CASE(closing_waits_for_work_that_was_granted_its_permits_and_has_not_begun)
{
    auto const s = permits(1);
    bool has_worked = false;
    auto& asked = server->expect(scripts::semaphore_acquire);
    running const section{*this, [&] {
                              return with_permits(s, 1, [&]() -> asio::awaitable<void> {
                                  has_worked = true;
                                  co_return;
                              });
                          }};
    pending<> closed;
    asked.reply(redis.run(asked.seen()));
    while (redis.counter("s") == 0 && client.stats().waiters != 0 && time.step()) {}
    BOOST_TEST(!has_worked);
    client.close(closed.token());
    time.settle();
    BOOST_TEST((has_worked && section.succeeded() && closed.succeeded()));
    BOOST_TEST(redis.counter("s") == 1);
}

BOOST_AUTO_TEST_CASE(work_without_permits_holds_nothing_up)
{
    auto const s = permits(1);
    running const section{*this, [&] { return with_permits(s, 0, [] { return rest(1ms); }); }};
    running const refused{*this, [&] { return with_permits(s, -1, [] { return rest(1ms); }); }};
    permit_guard kept{s, 1};
    pending<> closed;
    auto given = kept.release(settled());
    time.advance(2ms);
    BOOST_TEST((section.succeeded() && refused.thrown() == error::invalid_argument));
    client.close(closed.token());
    time.settle();
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(permits_that_a_closed_client_cannot_give_back_are_logged)
{
    auto const s = permits(1);
    pending<> closed;
    auto taken = s.acquire(settled());
    {
        permit_guard const kept{s, 1};
        client.close(closed.token());
        time.advance(short_leases().lease + 1ms);
        BOOST_TEST((closed.ec() == error::unavailable));
    }
    time.settle();
    BOOST_TEST(redis.counter("s") == 0);
    BOOST_TEST(std::ranges::any_of(log, [](auto const& line) {
        return line.find("may be out for good") != std::string::npos;
    }));
}

BOOST_AUTO_TEST_CASE(a_guard_does_not_make_a_semaphore_that_has_gone)
{
    auto const s = permits(2);
    auto taken = s.acquire(settled());
    {
        permit_guard const kept{s, 1};
        redis.ask({"DEL", "s"});  // its life is over
    }
    time.settle();
    BOOST_TEST(redis.ask({"EXISTS", "s"}).number == 0);
    auto set = s.try_set_permits(5, 1h, settled());
    BOOST_TEST(set.gave_something());
    BOOST_TEST(redis.counter("s") == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
