// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// One counter, many workers, three locks: SET NX with DEL, SET NX with a token and a script, both
// of which poll, and colock.
//
//     15_choosing [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <regex>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using examples::raw_redis;
using tutorial::expect;

int const workers = 8;
int const sections_each = 50;

// [naive
asio::awaitable<bool> try_naive(raw_redis* server, std::string lease)
{
    auto const reply = co_await server->command("SET", "lock", "1", "NX", "PX", lease);
    co_return reply == "OK";
}

asio::awaitable<void> release_naive(raw_redis* server)
{
    co_await server->command("DEL", "lock");  // even if it is somebody else's
}
// naive]

// [lua
char const* const delete_if_mine = R"(
    if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
    return 0)";

asio::awaitable<bool> try_lua(raw_redis* server, std::string me, std::string lease)
{
    auto const reply = co_await server->command("SET", "lock", me, "NX", "PX", lease);
    co_return reply == "OK";
}

asio::awaitable<bool> release_lua(raw_redis* server, std::string me)
{
    auto const reply = co_await server->command("EVAL", delete_if_mine, "1", "lock", me);
    co_return reply == "1";
}
// lua]

// [mistake
asio::awaitable<void> who_deletes_whose(raw_redis* server)
{
    co_await try_naive(server, "100");  // A, whose work takes longer than its lease
    co_await tutorial::pause(150ms);
    co_await try_naive(server, "30000");  // B has it now
    co_await release_naive(server);       // A ends
    bool const c = co_await try_naive(server, "30000");
    std::printf("SET NX and DEL: A deletes B's lock, and C %s\n", c ? "gets in beside B" : "waits");
    expect(c, "a lock that anybody may delete");
    co_await release_naive(server);

    co_await try_lua(server, "A", "100");
    co_await tutorial::pause(150ms);
    co_await try_lua(server, "B", "30000");
    bool const deleted = co_await release_lua(server, "A");
    std::printf("with a token: A deletes %s\n", deleted ? "B's lock" : "nothing");
    expect(!deleted, "the script compares");
    co_await release_lua(server, "B");
}
// mistake]

/// The data that the lock protects, and its measurements.
struct counter {
    int value = 0;
    int inside = 0;
    tutorial::milliseconds longest{};
};

asio::awaitable<void> section(counter* one, tutorial::steady_clock::time_point asked)
{
    auto const waited = tutorial::steady_clock::now() - asked;
    one->longest = std::max(one->longest, std::chrono::ceil<tutorial::milliseconds>(waited));
    expect(++one->inside == 1, "one at a time");
    int const before = one->value;
    co_await tutorial::pause(1ms);
    one->value = before + 1;
    --one->inside;
}

asio::awaitable<void> poll(std::string url, std::string me, counter* one, bool naive)
{
    auto server = co_await raw_redis::connect(url);
    for (int i = 0; i < sections_each; ++i) {
        auto const asked = tutorial::steady_clock::now();
        for (bool in = false; !in;) {
            in = co_await try_lua(&server, me, "30000");
            if (!in)
                co_await tutorial::pause(5ms);  // shorter: more commands; longer: more waiting
        }
        co_await section(one, asked);
        if (naive)
            co_await release_naive(&server);
        else
            co_await release_lua(&server, me);
    }
}

asio::awaitable<void> wait(colock::lock lock, counter* one)
{
    for (int i = 0; i < sections_each; ++i) {
        auto const asked = tutorial::steady_clock::now();
        colock::hold held = co_await lock.acquire();
        co_await section(one, asked);
        co_await held.release();
    }
}

/// The commands that clients sent since the last CONFIG RESETSTAT; what scripts call is not in it.
asio::awaitable<long> commands_sent(raw_redis* server, std::vector<std::string> kinds)
{
    auto const statistics = co_await server->command("INFO", "commandstats");
    long sum = 0;
    for (auto const& kind : kinds) {
        std::smatch found;
        if (std::regex_search(statistics, found, std::regex{"cmdstat_" + kind + ":calls=(\\d+)"}))
            sum += std::stol(found[1]);
    }
    co_return sum;
}

/// Starts them side by side; the number is that of those which are left.
std::shared_ptr<std::size_t> start(
    asio::any_io_executor const& executor, std::vector<asio::awaitable<void>> tasks
)
{
    auto left = std::make_shared<std::size_t>(tasks.size());
    for (auto& task : tasks)
        asio::co_spawn(executor, std::move(task), [left](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
            --*left;
        });
    return left;
}

asio::awaitable<void> measure(
    char const* name,
    raw_redis* server,
    std::vector<asio::awaitable<void>> tasks,
    std::vector<std::string> kinds,
    std::shared_ptr<counter> one
)
{
    co_await server->command("CONFIG", "RESETSTAT");
    tutorial::stopwatch const time;
    auto const left = start(co_await asio::this_coro::executor, std::move(tasks));
    while (*left)
        co_await tutorial::pause(1ms);
    auto const ms = time.ms();
    auto const sent = co_await commands_sent(server, std::move(kinds));
    expect(one->value == workers * sections_each, "no section is lost");
    std::printf(
        "%-22s ~%lld ms, ~%ld commands, longest wait ~%lld ms\n",
        name,
        ms,
        sent,
        static_cast<long long>(one->longest.count())
    );
}

asio::awaitable<void> lesson(std::string url)
{
    auto server = co_await raw_redis::connect(url);
    co_await who_deletes_whose(&server);

    std::printf("%d workers, %d sections of 1 ms each:\n", workers, sections_each);
    auto one = std::make_shared<counter>();
    std::vector<asio::awaitable<void>> tasks;
    tasks.reserve(workers);
    for (int i = 0; i < workers; ++i)
        tasks.push_back(poll(url, "worker " + std::to_string(i), one.get(), true));
    std::vector<std::string> kinds{"set", "del"};
    co_await measure("SET NX, DEL, polling", &server, std::move(tasks), kinds, one);

    one = std::make_shared<counter>();
    tasks.clear();
    for (int i = 0; i < workers; ++i)
        tasks.push_back(poll(url, "worker " + std::to_string(i), one.get(), false));
    kinds = {"set", "eval"};
    co_await measure("SET NX, Lua, polling", &server, std::move(tasks), kinds, one);

    one = std::make_shared<counter>();
    tasks.clear();
    auto const executor = co_await asio::this_coro::executor;
    colock::client process_a{executor, colock::config::from_url(url)};
    colock::client process_b{executor, colock::config::from_url(url)};
    process_a.run(asio::detached);
    process_b.run(asio::detached);
    for (int i = 0; i < workers; ++i) {
        colock::lock const lock{i % 2 ? process_a : process_b, "lock"};
        tasks.push_back(wait(lock, one.get()));
    }
    kinds = {"evalsha", "subscribe", "unsubscribe"};
    co_await measure("colock", &server, std::move(tasks), kinds, one);
    co_await process_b.close();
    co_await process_a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
