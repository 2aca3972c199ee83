// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/trials.hpp"
#include "support/cancel_after.hpp"
#include "support/patience.hpp"
#include "support/seed.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace colock::test {

/// What happens to a client just before it is closed, and lasts until that is done.
enum class trouble { none, cut, refused, black_hole, paused };

std::ostream& operator<<(std::ostream&, trouble);

/// One client that is closed while its tasks use locks of all kinds, beside one whose tasks want
/// the same ones.
class closing_ordeal {
public:
    static constexpr milliseconds close_timeout = within(400ms);

    closing_ordeal(redis_server&, proxy&, client const& beside, random_numbers&);

    asio::awaitable<void> run(trouble);

    std::vector<std::string> wrong;
    std::int64_t took = 0;   ///< milliseconds
    bool succeeded = false;  ///< all was released
    int held = 0;            ///< when it was closed
    int reported = 0;        ///< of those, to their owners who waited for that

    std::string name(kind of) const { return base_ + ':' + std::string{name_of(of)}; }

private:
    void start(asio::any_io_executor const& on, client const& at, bool to_the_end);
    asio::awaitable<void> live(client const& at, bool to_the_end);
    asio::awaitable<void> use(taken& got, bool of_mine);
    asio::awaitable<void> stay(taken& got, bool of_mine);
    manner some_manner(bool without_end);
    void begin(trouble);
    void end(trouble);
    asio::awaitable<void> close(running_client&, trouble);
    asio::awaitable<void> look(running_client&);
    asio::awaitable<void> pass_by();
    bool is_clean(client const&) const;
    std::string all_left();

    redis_server& server_;
    proxy& network_;
    client const& other_;
    random_numbers& dice_;
    std::string base_ = unique_name("closing");
    int mine_ = 0, others_ = 0;  ///< tasks of the client that is closed, and of the other
    bool stopping_ = false, closed_ = false;
    std::vector<taken*> inside_;
    int not_returned_ = 0;  ///< permits that nobody else can know of
};

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

/// Permits whose leases are over are back when somebody asks. An acquire that lies in a socket is
/// executed after its client has given up, and may put it into the wait list behind the last
/// release; the next release passes it over.
asio::awaitable<void> closing_ordeal::pass_by()
{
    manner const patient{.wait = 1s};  // what comes too late is only given back behind it
    for (auto const of : all_kinds) {
        bool const has_list = of != kind::fair && of != kind::latch;
        if (of != kind::permits && (succeeded || !has_list))
            continue;
        auto got = co_await take(other_, of, name(of), patient);
        if (got)
            co_await got.give_back();
        else if (of == kind::semaphore)
            co_await semaphore{other_, name(of)}.release(
                1, tuple
            );  // the closed client has them all
    }
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

namespace {

// Clients are closed at random moments, at the worst ones too, while their tasks take, hold, wait
// for, renew and give back locks of all kinds.

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
        bool const waits = co_await eventually([&] { return closing.client.stats().waiters == 1; });
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
