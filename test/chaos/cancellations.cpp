// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/trials.hpp"
#include "decide/fair_wait.hpp"
#include "support/cancel_after.hpp"
#include "support/patience.hpp"
#include "support/seed.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

/// A visit that may be cancelled at any point: acquire, extend, wait for the loss, release.
class attempt {
public:
    attempt(client const& at, kind of, std::string name, random_numbers& dice);

    void start(asio::io_context& on);

    asio::cancellation_signal signal;
    bool has_begun = false, was_cancelled = false, failed = false, over = false;

private:
    asio::awaitable<void> live();
    asio::awaitable<void> stay(hold&);

    client const& at_;
    kind of_;
    std::string name_;
    random_numbers& dice_;
};

/// Two clients that contend through a slow network, and how long what they leave stays.
class cancelling {
public:
    /// Each way; a round trip is twice that, and what two processors take.
    static constexpr milliseconds delay{2};

    struct outcome {
        int cancelled = 0;
        int violations = 0;
        std::vector<std::int64_t> stayed{};  ///< milliseconds, of each round
        std::int64_t forgotten = 0;          ///< milliseconds from the last round on
    };

    explicit cancelling(random_numbers& dice);

    /// Makes the semaphores, and a latch that nobody opens.
    asio::awaitable<void> prepare();

    /// Some want it at once, and most of them change their minds.
    asio::awaitable<void> round(kind of, outcome& sum);

    /// Waits until nothing is left but what lingers, and then until that is gone, and counts what
    /// takes too long.
    asio::awaitable<void> look(kind of, outcome& sum);

    /// The queue of a fair lock is looked after for five seconds where a release has told one who
    /// was leaving. When all is done, that is over too.
    asio::awaitable<void> look_at_the_end(kind of, outcome& sum);

    lab& where() noexcept { return at_; }
    client const& of(std::size_t i) { return clients_.at(i)->client; }
    std::string name(kind of) const { return "{" + base_ + "}" + std::string{name_of(of)}; }

private:
    void cancel_later(int ms, attempt& which);
    asio::awaitable<void> finish(kind of, std::list<attempt>& all, outcome& sum);
    void check(kind of, outcome& sum, std::string const& left, bool in_time);
    std::string all_left(kind of, bool what_lingers);

    random_numbers& dice_;
    redis_server server_;
    proxy network_{server_.port()};
    lab at_{server_};
    std::array<running_client*, 2> clients_;
    std::string base_ = unique_name("cancelled");
    int pending_ = 0;
};

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
    c.timeout = long_lease;  // no end of a call is about the time
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
            if (each.text.find(":mailbox:") == std::string::npos)  // of a client, not of a wait
                left += each.text + "; ";
    return left + leftovers(server_, of, name(of));
}

// NOLINTEND(*-avoid-reference-coroutine-parameters)

namespace {

// Whoever changes his mind, at whatever moment, leaves nothing: no key, no place in a queue, no
// hold and no waiter after two round trips, and no subscription and no entry of the key after the
// linger.

/// How long things have stayed, behind what was done.
void report(std::string const& what, cancelling::outcome const& sum)
{
    std::cout << what << ", cancelled " << sum.cancelled << ", violations " << sum.violations
              << "; anything but what lingers stayed at the longest "
              << (sum.stayed.empty() ? 0 : std::ranges::max(sum.stayed))
              << " ms (two round trips are " << 4 * cancelling::delay.count()
              << " ms and more), all forgotten after " << sum.forgotten << " ms" << std::endl;
}

/// One acquire that is cancelled after so many handlers; false if it was over before.
bool cancelled_after(cancelling& all, kind of, bool is_taken, int handlers, random_numbers& dice)
{
    auto& context = all.where().context();
    std::vector<taken> before;
    bool const is_counted = of == kind::semaphore || of == kind::permits;
    auto const fill = [&]() -> asio::awaitable<void> {
        for (int i = 0; i != (is_counted ? chaos_permits : 1); ++i) {
            // A reader only waits for a writer.
            auto const what = of == kind::read ? kind::write : of;
            before.push_back(co_await take(all.of(1), what, all.name(of), {}));
        }
    };
    if (is_taken)
        all.where().run_only(fill);
    attempt one{all.of(0), of, all.name(of), dice};
    one.start(context);
    for (int i = 0; (i < handlers || !one.has_begun) && !one.over; ++i) {
        if (i == 24)
            before.clear();  // then it gets in
        context.run_one_for(20ms);
    }
    bool const was_over = one.over;
    if (!was_over)
        one.signal.emit(asio::cancellation_type::total);
    before.clear();
    all.where().run_only([&]() -> asio::awaitable<void> {
        bool const over = co_await eventually([&] { return one.over; }, 5s);
        BOOST_REQUIRE(over);
    });
    BOOST_TEST(!one.failed);
    return !was_over;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cancellations)

BOOST_AUTO_TEST_CASE(at_random_moments)
{
    random_numbers dice;
    std::cout << "seed " << dice.seed() << std::endl;
    int const wanted = from_environment("COLOCK_CHAOS_CANCELLATIONS", 300);
    cancelling all{dice};
    all.where().run_only([&] { return all.prepare(); });
    for (auto const of : all_kinds) {
        cancelling::outcome sum;
        int runs = 0;
        auto const part = wanted / static_cast<int>(all_kinds.size()) + 1;
        all.where().run_only(
            [&]() -> asio::awaitable<void> {
                for (; sum.cancelled < part && runs != part; ++runs)
                    co_await all.round(of, sum);
            },
            10min
        );
        all.where().run_only([&] { return all.look_at_the_end(of, sum); });
        report(
            "cancelled at random moments, " + std::string{name_of(of)} + ": acquires " +
                std::to_string(16 * runs),
            sum
        );
    }
}

BOOST_AUTO_TEST_CASE(after_each_handler)
{
    random_numbers dice;
    int const step = from_environment("COLOCK_CHAOS_HANDLER_STEP", 1);
    cancelling all{dice};
    all.where().run_only([&] { return all.prepare(); });
    for (auto const of : all_kinds) {
        cancelling::outcome sum;
        for (bool const is_taken : {false, true}) {
            if (of == kind::latch && is_taken)
                continue;
            // A latch stays closed, so nobody gets through.
            int const most = of == kind::latch ? 40 : 400;
            bool goes_on = true;
            for (int handlers = dice.below(step); goes_on && handlers < most; handlers += step) {
                goes_on = cancelled_after(all, of, is_taken, handlers, dice);
                sum.cancelled += goes_on;
                BOOST_TEST_CONTEXT((is_taken ? "taken" : "free") << ", after " << handlers)
                all.where().run_only([&] { return all.look(of, sum); });
            }
            BOOST_TEST(goes_on == (of == kind::latch), name_of(of) << " has no end");
        }
        all.where().run_only([&] { return all.look_at_the_end(of, sum); });
        report("cancelled after each handler, " + std::string{name_of(of)}, sum);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
