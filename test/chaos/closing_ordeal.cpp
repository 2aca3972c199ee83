// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/closing_ordeal.hpp"
#include "support/cancel_after.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace colock::test {

// What is here is awaited where its arguments live, or joined before they go.
// NOLINTBEGIN(*-avoid-reference-coroutine-parameters)

namespace {

constexpr milliseconds slack = within(250ms), lease = within(500ms);

bool is_reachable(trouble which) { return which == trouble::none || which == trouble::cut; }

asio::awaitable<void> pass(int ms)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, milliseconds{ms}};
    co_await timer.async_wait(tuple);
}

}  // namespace

std::ostream& operator<<(std::ostream& to, trouble which)
{
    constexpr std::array words{
        "no fault", "links cut", "links cut and refused", "black hole", "server paused"};
    return to << words.at(static_cast<std::size_t>(which));
}

closing_ordeal::closing_ordeal(
    redis_server& on, proxy& between, client const& beside, random_numbers& dice
)
    : server_{on}
    , network_{between}
    , other_{beside}
    , dice_{dice}
{}

asio::awaitable<void> closing_ordeal::run(trouble which)
{
    auto const here = co_await asio::this_coro::executor;
    auto settings = quick(server_.by_port());
    settings.addresses.front().port = network_.port();
    settings.lease = lease;
    settings.close_timeout = close_timeout;
    auto const lines = std::make_shared<log_lines>();
    settings.log = {lines->sink().sink, log_level::warning};
    running_client closing{here, settings, lines};
    for (auto const each : all_kinds)
        co_await make(other_, each, name(each), chaos_permits);
    for (int i = 0; i != 24; ++i)
        start(here, closing.client, true);
    for (int i = 0; i != 8; ++i)
        start(here, other_, false);
    co_await pass(dice_.below(80));
    begin(which);
    co_await pass(dice_.below(20));
    co_await close(closing, which);
    end(which);
    co_await look(closing);
}

void closing_ordeal::start(asio::any_io_executor const& on, client const& at, bool to_the_end)
{
    ++(to_the_end ? mine_ : others_);
    asio::co_spawn(on, live(at, to_the_end), [this, to_the_end](std::exception_ptr thrown) {
        --(to_the_end ? mine_ : others_);
        if (thrown)
            wrong.emplace_back("a task has thrown");
    });
}

asio::awaitable<void> closing_ordeal::live(client const& at, bool to_the_end)
{
    while (to_the_end || !stopping_) {
        auto const which = all_kinds.at(static_cast<std::size_t>(dice_.below(all_kinds.size())));
        auto got = co_await take(at, which, name(which), some_manner(to_the_end));
        if (got.error() == error::closed)
            co_return;
        if (got)
            co_await use(got, to_the_end);
        else
            co_await pass(1);
    }
}

manner closing_ordeal::some_manner(bool without_end)
{
    manner how;
    if (!without_end || dice_.one_in(2))
        how.wait = milliseconds{dice_.below(30)};
    if (dice_.one_in(6))
        how.options.lease = within(200ms);
    return how;
}

asio::awaitable<void> closing_ordeal::use(taken& got, bool of_mine)
{
    if (of_mine)
        inside_.push_back(&got);
    co_await stay(got, of_mine);
    if (of_mine)
        std::erase(inside_, &got);
    bool const is_permit = !got.is_hold();
    auto const ec = co_await got.give_back();
    not_returned_ += is_permit && ec;
}

asio::awaitable<void> closing_ordeal::stay(taken& got, bool of_mine)
{
    if (!got.is_hold() || dice_.one_in(2))
        co_return co_await pass(dice_.below(4));
    if (dice_.one_in(3))
        co_await got.held().extend(lease, tuple);
    auto const longest = of_mine && dice_.one_in(3) ? 10s : milliseconds{dice_.below(20)};
    auto const [ec] = co_await got.held().lost(asio::cancel_after(longest, tuple));
    reported += closed_ && !got.held() && ec != asio::error::operation_aborted;
}

void closing_ordeal::begin(trouble which)
{
    if (which == trouble::cut || which == trouble::refused) {
        network_.serve(which == trouble::cut);
        network_.cut();
    } else if (which == trouble::black_hole) {
        network_.hold_back_all(static_cast<proxy::way>(dice_.below(3)));
    } else if (which == trouble::paused) {
        server_.pause();
    }
}

void closing_ordeal::end(trouble which)
{
    network_.serve(true);
    network_.let_through();
    if (which == trouble::paused)
        server_.resume();
}

asio::awaitable<void> closing_ordeal::close(running_client& closing, trouble which)
{
    held = static_cast<int>(inside_.size());
    closed_ = true;
    stopwatch const watch;
    auto const [ec] = co_await closing.client.close(tuple);
    took = watch.ms();
    succeeded = !ec;
    if (milliseconds{took} > close_timeout + slack)
        wrong.push_back("close took " + std::to_string(took) + " ms");
    // Whoever can reach his server, however slow the machine is, doesn't give up before the time.
    bool const too_soon = is_reachable(which) && milliseconds{took} < close_timeout;
    if (ec && (ec != error::unavailable || too_soon))
        wrong.push_back("close: " + ec.message() + ", " + closing.log->all());
    for (auto* each : inside_)
        if (each->is_hold() && each->held())
            wrong.emplace_back("a hold that says it is one");
    bool const ended = co_await ever([&] { return mine_ == 0; }, 1s);
    if (!ended)
        wrong.push_back(std::to_string(mine_) + " tasks hang");
    bool const over = co_await ever([&] { return closing.ended->has_value(); }, 1s);
    if (!over)
        wrong.emplace_back("run() goes on");
}

asio::awaitable<void> closing_ordeal::look(running_client& closing)
{
    stopping_ = true;
    bool const over = co_await ever([&] { return others_ == 0; }, 5s);
    if (!over)
        wrong.emplace_back("the others hang");
    // Whatever a client that could reach its server has held is free at once; else in a lease.
    auto const limit = succeeded ? within(100ms) : lease + 500ms;
    stopwatch const since;
    std::string left;
    do {
        co_await pass_by();
        left = all_left();
    } while (!left.empty() && milliseconds{since.ms()} < limit);
    if (!left.empty())
        wrong.push_back("left: " + left);
    bool const clean = co_await ever([&] { return is_clean(closing.client); }, limit);
    if (!clean)
        wrong.push_back("tables: " + leftovers(closing.client, true));
    // Not before its tasks, which refer to this.
    co_await eventually([&] { return mine_ == 0; }, 10s);
}

/// Permits whose leases are over are back when somebody asks.
asio::awaitable<void> closing_ordeal::pass_by()
{
    manner const patient{.wait = 1s};  // what comes too late is only given back behind it
    auto const of = name(kind::permits);
    auto got = co_await take(other_, kind::permits, of, patient);
    if (got)
        co_await got.give_back();
}

/// What it owes a semaphore or a queue a client remembers that could not reach its server.
bool closing_ordeal::is_clean(client const& at) const
{
    auto const s = at.stats();
    return s.holds + s.waiters + s.owed_releases + s.subscriptions == 0 &&
        (!succeeded || s.keys == 0);
}

std::string closing_ordeal::all_left()
{
    std::string left;
    for (auto const each : all_kinds) {
        // Where it failed, leases of permits and places in a queue end when somebody asks.
        int const missing =
            succeeded ? (each == kind::semaphore ? not_returned_ : 0) : chaos_permits;
        if (succeeded || (each != kind::permits && each != kind::fair))
            left += leftovers(server_, each, name(each), missing);
    }
    return left;
}

// NOLINTEND(*-avoid-reference-coroutine-parameters)

}  // namespace colock::test
