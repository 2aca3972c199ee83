// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Clients are closed at random moments, at the worst ones too, while their tasks take, hold, wait
// for, renew and give back locks of all kinds.
#include "chaos/closing_ordeal.hpp"
#include "support/from_environment.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Places of the dead in the queues of fair locks end when somebody comes by, in five seconds.
asio::awaitable<void> pass_through(
    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): awaited where they live
    redis_server& server,
    client const& at,
    std::vector<std::string> const& queues
)
{
    std::size_t served = 0;
    auto const here = co_await asio::this_coro::executor;
    for (auto const& name : queues)
        fair_lock{at, name}.try_acquire_for(
            10s,
            asio::bind_executor(
                here, [&served](error_code ec, std::optional<hold> held) { served += !ec && held; }
            )
        );
    bool const all = co_await eventually([&] { return served == queues.size(); }, 12s);
    BOOST_TEST(all, "a queue of the dead does not end");
    for (auto const& name : queues) {
        std::string left;
        co_await eventually(
            [&] { return (left = leftovers(server, kind::fair, name)).empty(); }, 1s
        );
        BOOST_TEST(left.empty(), "left of a queue: " << left);
    }
}

/// Of all runs with one trouble.
struct tally {
    int runs = 0, held = 0, reported = 0, succeeded = 0, late = 0, violations = 0;
    std::int64_t longest = 0;
    std::vector<std::string> queues;  ///< that may have places of the closed

    void add(closing_ordeal const& one)
    {
        ++runs;
        violations += !one.wrong.empty();
        held += one.held;
        reported += one.reported;
        succeeded += one.succeeded;
        late += milliseconds{one.took} > closing_ordeal::close_timeout + 20ms;
        longest = std::max(longest, one.took);
        if (!one.succeeded)
            queues.push_back(one.name(kind::fair));
    }
};

std::ostream& operator<<(std::ostream& to, tally const& all)
{
    return to << "runs " << all.runs << ", violations " << all.violations << ", longest close "
              << all.longest << " ms of " << closing_ordeal::close_timeout.count()
              << " (by more than 20 later: " << all.late << "), all released " << all.succeeded
              << ", held then " << all.held
              << " (waiting for their loss, and told: " << all.reported << ")";
}

/// How the closing of a client ends that holds some and waits for one, if it is cancelled after so
/// many handlers.
error_code cancelled_after(lab& at, client const& beside, int handlers)
{
    constexpr std::array held_kinds{
        kind::plain, kind::fair, kind::read, kind::fenced, kind::permits};
    auto const base = unique_name("closing");
    auto const name_for = [&](kind of) { return base + ':' + std::string{name_of(of)}; };
    auto settings = at.settings();
    settings.lease = settings.close_timeout.emplace(20s);  // nothing ends by time
    running_client closing{at.context().get_executor(), settings, std::make_shared<log_lines>()};
    std::vector<taken> held;
    std::optional<error_code> waited;
    at.run_only([&]() -> asio::awaitable<void> {
        co_await make(beside, kind::permits, name_for(kind::permits), chaos_permits);
        for (auto const of : held_kinds)
            held.push_back(co_await take(closing.client, of, name_for(of), {}));
        lock const taken_already{closing.client, name_for(kind::plain)};
        taken_already.acquire([&](error_code ec, hold) { waited = ec; });
        bool const waits =
            co_await eventually([&] { return closing.client.stats().subscriptions > 0; });
        BOOST_TEST_REQUIRE(waits);
    });
    asio::cancellation_signal signal;
    std::vector<error_code> ends;
    closing.client.close(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) {
        ends.push_back(ec);
    }));
    for (int i = 0; i != handlers && ends.empty(); ++i)
        at.context().run_one_for(20ms);
    signal.emit(asio::cancellation_type::total);
    at.run_only([&]() -> asio::awaitable<void> {
        bool const over = co_await eventually(
            [&] { return !ends.empty() && waited && closing.ended->has_value(); }, 15s
        );
        BOOST_TEST_REQUIRE(over);
    });
    BOOST_TEST(ends.size() == 1U);
    BOOST_TEST(*waited == error::closed);
    for (auto& each : held)
        BOOST_TEST(!each.held());
    for (auto const of : held_kinds)
        BOOST_TEST(leftovers(at.server(), of, name_for(of)) == "");
    BOOST_TEST(leftovers(closing.client, true) == "");
    return ends.front();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(closing)

// The closing goes on.
BOOST_AUTO_TEST_CASE(cancelled_after_each_handler)
{
    redis_server server;
    lab at{server};
    auto& beside = at.connect();
    int const step = from_environment("COLOCK_CHAOS_HANDLER_STEP", 1);
    error_code how = asio::error::operation_aborted;
    int cancelled = 0;
    for (int handlers = 0; how == asio::error::operation_aborted && handlers < 1'000;
         handlers += step)
        BOOST_TEST_CONTEXT("after " << handlers << " handlers")
        {
            how = cancelled_after(at, beside.client, handlers);
            cancelled += how == asio::error::operation_aborted;
        }
    BOOST_TEST(!how, how.message());
    BOOST_TEST(cancelled > 0);
    std::cout << "close() cancelled after each handler: " << cancelled << " times" << std::endl;
}

BOOST_AUTO_TEST_CASE(at_random_moments)
{
    random_numbers dice;
    std::cout << "seed " << dice.seed() << std::endl;
    int const runs = from_environment("COLOCK_CHAOS_CLOSINGS", 20);
    redis_server server;
    proxy network{server.port()};
    network.remember(false);
    lab at{server};
    auto& beside = at.connect();
    for (auto const which :
         {trouble::none, trouble::cut, trouble::refused, trouble::black_hole, trouble::paused}) {
        tally all;
        while (all.runs != (runs + 4) / 5) {
            closing_ordeal one{server, network, beside.client, dice};
            at.run_only([&] { return one.run(which); }, 30s);
            for (auto const& each : one.wrong)
                BOOST_TEST(false, which << ", run " << all.runs << ": " << each);
            all.add(one);
        }
        at.run_only([&] { return pass_through(server, beside.client, all.queues); }, 30s);
        server.ask("FLUSHALL");
        std::cout << "close() at a random moment, " << which << ": " << all << std::endl;
        // A server that can be reached answers in time.
        if (which == trouble::none || which == trouble::cut)
            BOOST_TEST(100 * all.succeeded >= 95 * all.runs, which << ": " << all);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
