// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Processes take and give permits by the ten thousand, and some of them are killed in the middle.
#include "integration/suites.hpp"
#include "support/child_process.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"
#include "workers/permit_board.hpp"

#include <vector>

namespace colock::test {

/// COLOCK_KILLED_OPERATIONS, or 20,000.
int const operations = from_environment("COLOCK_KILLED_OPERATIONS", 20'000);
constexpr int permit_count = 10, tasks_each = 3;
constexpr unsigned processes = 4, kills = 3;

/// Processes on one semaphore.
struct crew {
    crew(redis_server& on, std::string k) : server{on}, kind{std::move(k)}
    {
        board.run_for(operations);
        for (unsigned i = 0; i != processes; ++i)
            hire();
    }

    void hire()
    {
        running.emplace_back(
            std::vector<std::string>{
                beside_this_program("colock-worker-permits"),
                "unix://" + server.unix_socket(),
                kind,
                name,
                std::to_string(permit_count),
                std::to_string(tasks_each),
                file.path(),
                std::to_string(hired++)},
            "/dev/stderr"
        );
    }

    /// The one that has been there longest; another comes in its place.
    void replace_one()
    {
        running.front().kill();
        running.erase(running.begin());
        hire();
    }

    /// Kills now and then, looking after each millisecond, until the work is done.
    asio::awaitable<void> work(std::function<void(unsigned killed)> look)
    {
        for (unsigned killed = 0; board.is_on();) {
            if (killed < kills &&
                board.operations() > 2'000 + operations / 4 * static_cast<int>(killed)) {
                replace_one();
                ++killed;
            }
            look(killed);
            co_await time_passes(1ms);
        }
        for (auto& each : running) {
            bool const ended = each.wait(5s);
            BOOST_TEST(ended);
        }
    }

    redis_server& server;
    std::string kind;
    std::string name = unique_name("crew");
    temporary_file file;
    permit_board board{file.path()};
    std::vector<child_process> running;
    unsigned hired = 0;
};

BOOST_AUTO_TEST_SUITE(kills_in_the_middle)

// What the killed had is gone: a plain semaphore does not know whose they were.
BOOST_DATA_TEST_CASE(of_a_semaphore_never_too_many_are_out, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run(
        [&]() -> asio::awaitable<void> {
            crew all{server, "semaphore"};
            co_await semaphore{c.client, all.name}.try_set_permits(permit_count);
            co_await all.work([&](unsigned) {
                auto const left = std::stoll(server.ask("GET", all.name).text);
                BOOST_REQUIRE(left >= 0);
                BOOST_REQUIRE(left <= permit_count);
            });
            BOOST_TEST(all.board.excesses() == 0);
            auto const left = std::stoll(server.ask("GET", all.name).text);
            BOOST_TEST_MESSAGE(permit_count - left << " permits died");
            BOOST_TEST(left <= permit_count - all.board.out());
            BOOST_TEST(left >= permit_count - static_cast<int>(kills) * tasks_each);
            server.ask("DEL", all.name);
        },
        100s
    );
}

BOOST_DATA_TEST_CASE(permits_of_the_killed_come_back_within_a_lease, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run(
        [&]() -> asio::awaitable<void> {
            crew all{server, "permit_semaphore"};
            permit_semaphore const mine{c.client, all.name};
            co_await mine.try_set_permits(permit_count);
            auto const leases = "{" + all.name + "}:timeout";
            unsigned noticed = 0;
            co_await all.work([&](unsigned killed) {
                if (noticed != killed)
                    all.board.forget(noticed++);
                auto const sum = server.ask(
                    "EVAL",
                    "return redis.call('get', KEYS[1]) + redis.call('zcard', KEYS[2])",
                    "2",
                    all.name,
                    leases
                );
                BOOST_REQUIRE(sum.number == permit_count);
            });
            BOOST_TEST(all.board.excesses() == 0);
            std::int64_t left = 0;
            stopwatch const watch;
            while (left != permit_count && watch.ms() < 5'000)  // a lease is 1 s
                left = co_await mine.available();
            BOOST_TEST(left == permit_count);
            server.ask("DEL", all.name, leases);
        },
        100s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
