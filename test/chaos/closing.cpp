// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Clients are closed at random moments, at the worst ones too, while their tasks take, hold, wait
// for, renew and give back locks of all kinds.
#include "chaos/leftovers.hpp"
#include "unit/random_seed.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

namespace {

enum class trouble { none, cut, refused, black_hole, paused };

bool is_reachable(trouble which) { return which == trouble::none || which == trouble::cut; }

std::ostream& operator<<(std::ostream& to, trouble which)
{
    constexpr std::array words{
        "no fault", "links cut", "links cut and refused", "black hole", "server paused"};
    return to << words.at(static_cast<std::size_t>(which));
}

constexpr milliseconds close_timeout{400}, slack{250}, lease{500};

/// One client that is closed, beside one that wants the same locks.
class ordeal_of_a_client {
public:
    ordeal_of_a_client(redis_server& on, proxy& between, client const& beside, random_numbers& r)
        : server_{on}
        , network_{between}
        , other_{beside}
        , dice_{r}
    {}

    asio::awaitable<void> run(trouble which)
    {
        auto const here = co_await asio::this_coro::executor;
        auto settings = quick(server_.by_port());
        settings.addresses.front().port = network_.port();
        settings.lease = lease;
        settings.close_timeout = close_timeout;
        settings.log = {[](log_level, std::string_view) {}, log_level::error};
        running_client closing{here, settings, std::make_shared<log_lines>()};
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

    std::vector<std::string> wrong;
    std::int64_t took = 0;  ///< milliseconds
    bool succeeded = false;
    int held = 0;      ///< when it was closed
    int reported = 0;  ///< of those, to their owners

    std::string name(kind of) const { return base_ + ':' + std::string{name_of(of)}; }

private:
    void start(asio::any_io_executor const& on, client const& at, bool to_the_end)
    {
        ++(to_the_end ? mine_ : others_);
        asio::co_spawn(on, live(at, to_the_end), [this, to_the_end](std::exception_ptr thrown) {
            --(to_the_end ? mine_ : others_);
            if (thrown)
                wrong.emplace_back("a task has thrown");
        });
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): joined before it goes
    asio::awaitable<void> live(client const& at, bool to_the_end)
    {
        while (to_the_end || !stopping_) {
            auto const which =
                all_kinds.at(static_cast<std::size_t>(dice_.below(all_kinds.size())));
            auto got = co_await take(at, which, name(which), some_manner(to_the_end));
            if (got.error() == error::closed)
                co_return;
            if (got)
                co_await use(got, to_the_end);
            else
                co_await pass(1);
        }
    }

    manner some_manner(bool without_end)
    {
        manner how;
        if (!without_end || dice_.one_in(2))
            how.wait = milliseconds{dice_.below(30)};
        if (dice_.one_in(6))
            how.options.lease = 200ms;
        return how;
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): awaited by whoever has it
    asio::awaitable<void> use(taken& got, bool of_mine)
    {
        if (of_mine)
            inside_.push_back(&got);
        co_await stay(got, of_mine);
        if (of_mine)
            std::erase(inside_, &got);
        bool const is_permit = !got.is_hold();
        auto const ec = co_await got.give_back();
        // Nobody else can know of it.
        not_returned_ += is_permit && ec;
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): as above
    asio::awaitable<void> stay(taken& got, bool of_mine)
    {
        if (!got.is_hold() || dice_.one_in(2))
            co_return co_await pass(dice_.below(4));
        if (dice_.one_in(3))
            co_await got.held().extend(lease, tuple);
        auto const longest = of_mine && dice_.one_in(3) ? 10s : milliseconds{dice_.below(20)};
        auto const [ec] = co_await got.held().lost(asio::cancel_after(longest, tuple));
        reported += closed_ && !got.held() && ec != asio::error::operation_aborted;
    }

    asio::awaitable<void> pass(int ms)
    {
        asio::steady_timer timer{co_await asio::this_coro::executor, milliseconds{ms}};
        co_await timer.async_wait(tuple);
    }

    void begin(trouble which)
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

    void end(trouble which)
    {
        network_.serve(true);
        network_.let_through();
        if (which == trouble::paused)
            server_.resume();
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): awaited where it lives
    asio::awaitable<void> close(running_client& closing, trouble which)
    {
        held = static_cast<int>(inside_.size());
        closed_ = true;
        stopwatch const watch;
        auto const [ec] = co_await closing.client.close(tuple);
        took = watch.ms();
        succeeded = !ec;
        if (milliseconds{took} > close_timeout + slack)
            wrong.push_back("close took " + std::to_string(took) + " ms");
        if (ec && (ec != error::unavailable || is_reachable(which)))
            wrong.push_back("close: " + ec.message());
        for (auto* each : inside_)
            if (each->is_hold() && each->held())
                wrong.emplace_back("a hold that says it is one");
        bool const ended = co_await eventually([&] { return mine_ == 0; }, 1s);
        if (!ended)
            wrong.push_back(std::to_string(mine_) + " tasks hang");
        bool const over = co_await eventually([&] { return closing.ended->has_value(); }, 1s);
        if (!over)
            wrong.emplace_back("run() goes on");
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): as above
    asio::awaitable<void> look(running_client& closing)
    {
        stopping_ = true;
        bool const over = co_await eventually([&] { return others_ == 0; }, 5s);
        if (!over)
            wrong.emplace_back("the others hang");
        // Whatever a client that could reach its server has held is free at once; else in a lease.
        std::string left;
        auto const limit = succeeded ? 100ms : lease + 500ms;
        co_await eventually([&] { return (left = all_left()).empty(); }, limit);
        if (!left.empty())
            wrong.push_back("left: " + left);
        bool const clean = co_await eventually([&] { return is_clean(closing.client); }, limit);
        if (!clean)
            wrong.push_back("tables: " + leftovers(closing.client, true));
        // Not before its tasks, which refer to this.
        co_await eventually([&] { return mine_ == 0; }, 10s);
    }

    /// What it owes a semaphore or a queue a client remembers that could not reach its server.
    bool is_clean(client const& at) const
    {
        auto const s = at.stats();
        return s.holds + s.waiters + s.owed_releases == 0 && (!succeeded || s.keys == 0);
    }

    std::string all_left()
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

    redis_server& server_;
    proxy& network_;
    client const& other_;
    random_numbers& dice_;
    std::string base_ = unique_name("closing");
    int mine_ = 0, others_ = 0;
    bool stopping_ = false, closed_ = false;
    std::vector<taken*> inside_;
    int not_returned_ = 0;
};

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

}  // namespace

BOOST_AUTO_TEST_SUITE(closing)

BOOST_AUTO_TEST_CASE(at_random_moments)
{
    random_numbers dice;
    std::cout << "seed " << dice.seed() << std::endl;
    int const runs = chaos_number("COLOCK_CHAOS_CLOSINGS", 50);
    redis_server server;
    proxy network{server.port()};
    network.remember(false);
    lab at{server};
    auto& beside = at.connect();
    for (auto const which :
         {trouble::none, trouble::cut, trouble::refused, trouble::black_hole, trouble::paused}) {
        int done = 0, held = 0, reported = 0, succeeded = 0, violations = 0;
        std::int64_t longest = 0;
        std::vector<std::string> queues;
        for (; done != (runs + 4) / 5; ++done) {
            ordeal_of_a_client one{server, network, beside.client, dice};
            at.run_only([&] { return one.run(which); }, 30s);
            for (auto const& each : one.wrong)
                BOOST_TEST(false, which << ", run " << done << ": " << each);
            violations += !one.wrong.empty();
            held += one.held;
            reported += one.reported;
            succeeded += one.succeeded;
            longest = std::max(longest, one.took);
            if (!one.succeeded)
                queues.push_back(one.name(kind::fair));
        }
        at.run_only([&] { return pass_through(server, beside.client, queues); }, 30s);
        server.ask("FLUSHALL");
        std::cout << "close() at a random moment, " << which << ": runs " << done << ", violations "
                  << violations << ", longest close " << longest << " ms of "
                  << close_timeout.count() << ", all released " << succeeded << ", held then "
                  << held << " (waiting for their loss, and told: " << reported << ")" << std::endl;
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
