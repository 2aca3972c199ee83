// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The order of fair locks, also where many of those who wait die or go.
#include "decide/names.hpp"
#include "integration/suites.hpp"
#include "support/child_process.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <deque>
#include <ranges>
#include <string>
#include <vector>

namespace colock::test {

/// A fair lock that no other test has, and what is in Redis about it.
struct fair_lab : lab {
    explicit fair_lab(server_kind kind) : fair_lab{shared_server(kind)} {}
    explicit fair_lab(redis_server& where) : lab{where} {}

    std::vector<std::string> texts(std::string const& command, std::string const& key)
    {
        auto const got =
            command == "HKEYS" ? server().ask(command, key) : server().ask(command, key, "0", "-1");
        std::vector<std::string> found;
        for (auto const& item : got.items)
            found.push_back(item.text);
        return found;
    }
    std::vector<std::string> queue() { return texts("LRANGE", keys.queue); }
    std::int64_t queued() { return server().ask("LLEN", keys.queue).number; }
    std::string holder()
    {
        auto const fields = texts("HKEYS", name);
        return fields.size() == 1 ? fields.front() : "";
    }
    bool is_any_left()
    {
        return exists(server(), name) || exists(server(), keys.queue) ||
            exists(server(), keys.timeouts) || exists(server(), keys.tickets);
    }
    asio::awaitable<void> until_queued(std::int64_t count)
    {
        bool const came = co_await eventually([&] { return queued() == count; }, 10s);
        BOOST_TEST_REQUIRE(came);
    }
    /// As if nobody had kept them alive for their life.
    void let_tickets_die()
    {
        for (auto const& field : queue())
            server().ask("ZADD", keys.tickets, "XX", "1", field);
    }
    fair_lock of(running_client& c) const { return {c.client, name}; }

    std::string name = unique_name("fair");
    decide::fair_keys keys{name};
};

inline constexpr int all_waiters = 500, living_clients = 6, stopped_clients = 3, each_has = 50;
inline constexpr int cancelled_waiters = 100;
static_assert((living_clients + stopped_clients + 1) * each_has == all_waiters);

/// Those who wait in this process, and how they were served.
struct fair_crowd {
    explicit fair_crowd(fair_lab& where) : at{where}, waiting{where.context()} {}

    void join(running_client& c)
    {
        asio::cancellation_signal& signal = signals.emplace_back();
        present.push_back(&signal);
        waiting.start([this, &c, &signal]() -> asio::awaitable<void> {
            auto [ec, held] =
                co_await at.of(c).acquire(asio::bind_cancellation_slot(signal.slot(), tuple));
            std::erase(present, &signal);
            if (ec)
                co_return;
            served.push_back(at.holder());
            gaps.push_back(since_last.ms());
            co_await critical.stay(0ms);
            cancel_some();
            since_last = {};
            co_await held.release();
        });
    }

    /// Now and then one of those who still wait wants no more.
    void cancel_some()
    {
        while (cancelled < cancelled_waiters && dice.one_in(2)) {
            auto const one = present.begin() + dice.below(static_cast<int>(present.size()));
            (*std::exchange(*one, present.back())).emit(asio::cancellation_type::terminal);
            present.pop_back();
            ++cancelled;
        }
    }

    fair_lab& at;
    tasks waiting;
    section critical;
    std::deque<asio::cancellation_signal> signals;
    std::vector<asio::cancellation_signal*> present;  ///< of those who still wait
    std::vector<std::string> served;                  ///< fields
    std::vector<std::int64_t> gaps;                   ///< between a release and the next grant
    stopwatch since_last;
    int cancelled = 0;
    random_numbers dice;
};

/// Whether `some` are in the same order as in `all`.
inline bool is_in_order(std::vector<std::string> const& some, std::vector<std::string> const& all)
{
    auto at = all.begin();
    for (auto const& field : some) {
        at = std::find(at, all.end(), field);
        if (at == all.end())
            return false;
    }
    return true;
}

BOOST_AUTO_TEST_SUITE(fair_locks)

// Somebody wants to ask as soon as the network is there again; another client may have noticed
// meanwhile that nobody kept the tickets alive, and then each asks for a new place.
BOOST_DATA_TEST_CASE(after_an_outage_they_stand_in_the_order_of_arrival, each_server(), kind)
{
    for (bool const is_noticed : {false, true}) {
        redis_server far{kind};
        proxy network{far.port()};
        fair_lab at{far};
        auto settings = quick(far.by_port());
        settings.addresses.front().port = network.port();
        settings.links = 1;
        settings.poll_cap = 20ms;
        auto unhurried = quick(far.by_port());
        unhurried.lease = 10s;
        auto& holder = at.connect(unhurried);
        auto& other = at.connect();
        auto& cut_off = at.connect(settings);
        at.run([&]() -> asio::awaitable<void> {
            hold first = co_await at.of(holder).acquire();
            tasks waiting{at.context()};
            std::vector<int> served;
            for (int i = 0; i != 200; ++i) {
                waiting.start([&, i]() -> asio::awaitable<void> {
                    hold held = co_await at.of(cut_off).acquire();
                    served.push_back(i);
                    co_await held.release();
                });
                co_await at.until_queued(i + 1);
            }
            auto const order = at.queue();
            auto const made = network.connections();
            network.serve(false);
            network.cut();
            BOOST_TEST(co_await eventually([&] { return network.connections() > made + 4; }));
            at.let_tickets_die();
            if (is_noticed) {
                BOOST_TEST(is_refused(co_await at.of(other).try_acquire()));
                BOOST_TEST(at.queued() == 0);
            }
            network.serve(true);
            bool const came = co_await eventually([&] {
                auto const& alive = at.server().ask("ZCOUNT", at.keys.tickets, "2", "+inf");
                return alive.number == 200;
            });
            BOOST_TEST(came);
            BOOST_TEST(at.queue() == order, boost::test_tools::per_element());
            co_await first.release();
            co_await waiting.join(10s);
            BOOST_TEST(served.size() == 200U);
            BOOST_TEST(std::ranges::is_sorted(served));
            BOOST_TEST(!at.is_any_left());
        });
    }
}

// The dead stood in the queue for at most the 5 s of a ticket's life, all at the same time.
BOOST_DATA_TEST_CASE(of_500_the_200_that_live_keep_their_order, each_server(), kind)
{
    fair_lab at{kind};
    auto& holder = at.connect();
    std::vector<running_client*> clients;
    for (int i = 0; i != living_clients + stopped_clients; ++i)
        clients.push_back(&at.connect());
    at.run(
        [&]() -> asio::awaitable<void> {
            hold first = co_await at.of(holder).acquire();
            fair_crowd all{at};
            std::vector<running_client*> arriving;
            for (int i = 0; i != each_has; ++i)
                arriving.insert(arriving.end(), clients.begin(), clients.end());
            for (std::size_t i = arriving.size(); i > 1; --i)
                std::swap(
                    arriving[i - 1],
                    arriving[static_cast<std::size_t>(all.dice.below(static_cast<int>(i)))]
                );
            auto const half = arriving.begin() + all_waiters / 2;  // the child's come between
            for (auto* c : std::ranges::subrange(arriving.begin(), half))
                all.join(*c);
            child_process doomed{
                {beside_this_program("colock-worker-fair_waiters"),
                 "unix://" + at.server().unix_socket(),
                 at.name,
                 std::to_string(each_has)},
                "/dev/stderr"};
            co_await at.until_queued(all_waiters / 2 + each_has);
            for (auto* c : std::ranges::subrange(half, arriving.end()))
                all.join(*c);
            co_await at.until_queued(all_waiters);
            auto const order = at.queue();

            doomed.kill();
            for (int i = 0; i != stopped_clients; ++i)
                clients[static_cast<std::size_t>(living_clients + i)]->client.stop();
            stopwatch const watch;
            all.since_last = {};
            co_await first.release();
            co_await all.waiting.join(30s);
            BOOST_TEST_MESSAGE(
                "served after " << watch.ms() << " ms, the longest gap "
                                << std::ranges::max(all.gaps) << " ms"
            );
            BOOST_TEST(all.cancelled == cancelled_waiters);
            BOOST_TEST(all.served.size() == 200U);
            BOOST_TEST(is_in_order(all.served, order));
            BOOST_TEST(std::ranges::max(all.gaps) < 5'000 + 1'000);
            // What a hand-over takes on a busy machine is not the dead ones' doing.
            std::int64_t dead_time = 0;
            for (auto const gap : all.gaps)
                dead_time += gap > 200 ? gap : 0;
            BOOST_TEST(dead_time < 5'000 + 1'000);
            co_await eventually([&] { return !at.is_any_left(); });
            BOOST_TEST(!at.is_any_left());
        },
        60s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
