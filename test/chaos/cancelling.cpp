// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/cancelling.hpp"
#include "decide/fair_wait.hpp"
#include "support/cancel_after.hpp"
#include "support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <memory>

namespace colock::test {

// What is here is awaited where its arguments live.
// NOLINTBEGIN(*-avoid-reference-coroutine-parameters)

namespace {

/// After two round trips, on a machine that does other things as well: what it took is printed.
constexpr milliseconds soon = within(100ms);

constexpr milliseconds linger{50};
constexpr milliseconds long_lease{20'000};  ///< what is left is not to go by itself

config slow(redis_server& server, proxy const& network)
{
    auto c = quick(server.by_port());
    c.addresses.front().port = network.port();
    c.lease = long_lease;
    c.linger = linger;
    c.log = {[](log_level, std::string_view) {}, log_level::error};
    return c;
}

}  // namespace

attempt::attempt(client const& at, kind of, std::string name, random_numbers& dice)
    : at_{at}
    , of_{of}
    , name_{std::move(name)}
    , dice_{dice}
{}

void attempt::start(asio::io_context& on)
{
    asio::co_spawn(
        on,
        live(),
        asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr) { over = true; })
    );
}

asio::awaitable<void> attempt::live()
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    has_begun = true;
    auto got = co_await take(at_, of_, name_, {});
    if (got.error() == asio::error::operation_aborted)
        was_cancelled = true;
    else if (got.error())
        failed = true;
    if (!got)
        co_return;
    if (got.is_hold())
        co_await stay(got.held());
    if (dice_.one_in(2))
        got.drop();
    else
        co_await got.give_back();
}

// Both end by themselves, and may be cancelled before.
asio::awaitable<void> attempt::stay(hold& held)
{
    auto const [extended] = co_await held.extend(long_lease, tuple);
    auto const [lost] = co_await held.lost(asio::cancel_after(milliseconds{dice_.below(3)}, tuple));
    failed = !held || lost != asio::error::operation_aborted;
    was_cancelled = extended == asio::error::operation_aborted;
}

cancelling::cancelling(random_numbers& dice)
    : dice_{dice}
    , clients_{&at_.connect(slow(server_, network_)), &at_.connect(slow(server_, network_))}
{
    network_.remember(false);
    network_.delay(delay);
}

asio::awaitable<void> cancelling::prepare()
{
    for (auto const each : all_kinds) {
        bool const is_counted = each == kind::semaphore || each == kind::permits;
        auto const ec = co_await make(
            clients_.front()->client, each, name(each), is_counted ? chaos_permits : 1
        );
        BOOST_REQUIRE(!ec);
    }
}

asio::awaitable<void> cancelling::round(kind of, outcome& sum)
{
    std::list<attempt> all;
    for (std::size_t i = 0; i != 16; ++i)
        all.emplace_back(this->of(i % 2), of, name(of), dice_).start(at_.context());
    // Nobody opens the latch: there all have to be cancelled.
    for (auto& each : all)
        if (of == kind::latch || !dice_.one_in(4))
            cancel_later(dice_.below(12), each);
    co_await finish(of, all, sum);
}

asio::awaitable<void> cancelling::look(kind of, outcome& sum)
{
    stopwatch const watch;
    std::string left;
    co_await ever([&] { return (left = all_left(of, false)).empty(); }, 5s);
    sum.stayed.push_back(watch.ms());
    check(of, sum, left, milliseconds{watch.ms()} <= soon);
    // Whoever was handed the lock lets it linger twice as long.
    co_await ever([&] { return (left = all_left(of, true)).empty(); }, 5s);
    check(of, sum, left, milliseconds{watch.ms()} <= 2 * linger + 2 * soon);
}

asio::awaitable<void> cancelling::look_at_the_end(kind of, outcome& sum)
{
    stopwatch const watch;
    auto const is_forgotten = [&] {
        return std::ranges::all_of(clients_, [](auto* each) {
            return leftovers(each->client, true).empty();
        });
    };
    bool const forgotten = co_await ever(is_forgotten, decide::ticket_life + 2 * soon);
    check(of, sum, forgotten ? "" : "an entry", true);
    sum.forgotten = watch.ms();
}

void cancelling::cancel_later(int ms, attempt& which)
{
    auto const timer = std::make_shared<asio::steady_timer>(at_.context(), milliseconds{ms});
    using enum asio::cancellation_type;
    auto const how =
        std::array{terminal, partial, total}.at(static_cast<std::size_t>(dice_.below(3)));
    ++pending_;
    timer->async_wait([this, timer, &which, how](error_code) {
        --pending_;
        if (!which.over)
            which.signal.emit(how);
    });
}

asio::awaitable<void> cancelling::finish(kind of, std::list<attempt>& all, outcome& sum)
{
    bool const over = co_await eventually(
        [&] {
            return pending_ == 0 &&
                std::ranges::all_of(all, [](auto const& each) { return each.over; });
        },
        10s
    );
    BOOST_REQUIRE(over);
    for (auto const& each : all) {
        sum.cancelled += each.was_cancelled;
        check(of, sum, each.failed ? "an error" : "", true);
    }
    co_await look(of, sum);
}

void cancelling::check(kind of, outcome& sum, std::string const& left, bool in_time)
{
    bool const is_well = left.empty() && in_time;
    BOOST_TEST(is_well, name_of(of) << ": " << (left.empty() ? "too late" : left));
    sum.violations += !is_well;
}

std::string cancelling::all_left(kind of, bool what_lingers)
{
    std::string left;
    for (auto* each : clients_)
        left += leftovers(each->client, what_lingers && of != kind::fair);
    if (!left.empty())
        return left;
    if (what_lingers)
        for (auto const& each : server_.ask("PUBSUB", "CHANNELS").items)
            left += each.text + "; ";
    return left + leftovers(server_, of, name(of));
}

// NOLINTEND(*-avoid-reference-coroutine-parameters)

}  // namespace colock::test
