#include "plan.hpp"

#include <map>

namespace bench {

namespace {

struct defaults {
    double seconds = 5;
    int workers = 1;
    int locks = 0;
    int processes = 1;
    int hold_us = 0;
};

std::map<std::string, defaults> const of_workload{
    {"W1", {}},
    {"W2", {.workers = 64}},
    {"W3", {.workers = 100}},
    {"W4", {.workers = 8, .processes = 4, .hold_us = 1000}},
    {"W5", {.workers = 1000}},
    {"W6", {.seconds = 35, .workers = 256, .locks = 10'000}},
    {"W7", {.processes = 8}},
    {"W8", {.workers = 10'000}},
    {"W9", {.seconds = 12, .locks = 100'000}},
    {"W10", {.workers = 1000, .processes = 4}},
    {"W11", {.workers = 32, .locks = 1000, .processes = 16, .hold_us = 1000}},
    {"W12", {.locks = 100'000}},
    {"W1d", {}},
    {"keys", {.locks = 1000}},
    {"PING", {}},
    {"connections", {.locks = 200}},
    {"many", {.locks = 10'000}},
};

}  // namespace

plan with_defaults(plan asked)
{
    auto const& own = of_workload.at(asked.workload);
    auto const fill = [](auto& number, auto value) {
        if (number <= 0)
            number = value;
    };
    fill(asked.seconds, own.seconds);
    fill(asked.workers, own.workers);
    fill(asked.locks, own.locks);
    fill(asked.processes, own.processes);
    if (asked.hold.count() < 0)
        asked.hold = std::chrono::microseconds{own.hold_us};
    return asked;
}

window window_of(plan const& asked)
{
    auto begin = steady::now();
    if (asked.start_at) {
        using namespace std::chrono;
        begin += milliseconds{asked.start_at} - system_clock::now().time_since_epoch();
    } else
        begin += seconds(asked.warmup);
    return {begin, begin + seconds(asked.seconds)};
}

}  // namespace bench
