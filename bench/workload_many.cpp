#include "session.hpp"
#include "workloads.hpp"
#include <colock/acquire_many.hpp>

#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

constexpr int rounds = 8;

struct took {
    samples acquire, release;
    std::int64_t errors = 0;
};

asio::awaitable<void> by_one_call(
    colock::client const* redis, std::vector<std::string> names, took* times
)
{
    auto const begun = steady::now();
    auto held = co_await colock::acquire_many(*redis, std::move(names));
    auto const has_all = steady::now();
    times->errors += static_cast<std::int64_t>(held.size() - held.held());
    co_await held.release();
    times->acquire.add(has_all - begun);
    times->release.add(steady::now() - has_all);
}

asio::awaitable<void> release(colock::hold* held) { co_await held->release(); }

asio::awaitable<void> each_by_its_own(
    colock::client const* redis, std::string prefix, std::size_t count, took* times
)
{
    std::vector<colock::hold> held(count);
    auto const begun = steady::now();
    times->errors += co_await hold_many(redis, prefix, static_cast<int>(count), &held);
    auto const has_all = steady::now();
    crew releasing{co_await asio::this_coro::executor};
    for (auto& each : held)
        releasing.add(release(&each));
    co_await releasing.join();
    times->acquire.add(has_all - begun);
    times->release.add(steady::now() - has_all);
}

}  // namespace

json::object run_many(plan const& asked)
{
    json::object out;
    auto const count = static_cast<std::size_t>(asked.locks);
    std::vector<std::string> names;
    for (std::size_t i = 0; i != count; ++i)
        names.push_back(asked.key + ':' + std::to_string(i));
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        took times;
        for (int i = 0; i != rounds; ++i) {
            if (i == 1)
                times = {};  // what comes once, such as the text of a script, is past
            if (asked.variant == "loop")
                co_await each_by_its_own(&redis, asked.key, count, &times);
            else
                co_await by_one_call(&redis, names, &times);
        }
        out["locks"] = asked.locks;
        out["acquire_s"] = times.acquire.microseconds(0.5) / 1e6;
        out["release_s"] = times.release.microseconds(0.5) / 1e6;
        out["errors"] = times.errors;
    });
    return out;
}

}  // namespace bench
