// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/machine.hpp"

#include <stdexcept>
#include <utility>

namespace colock::simulation {

namespace {

/// What every steady clock shows when the world begins.
constexpr time_point beginning{std::chrono::hours{1'000}};

/// More handlers than this at one moment go round in a circle.
constexpr std::uint64_t most_handlers = 2'000'000;

constexpr std::int64_t million = 1'000'000;

}  // namespace

machine::machine(int drift)
    : drift_{drift}
    , timers_{boost::asio::use_service<timer_queue>(context_)}
{}

// What is dropped may post more, which is dropped as well.
machine::~machine()
{
    is_gone_ = true;
    interruption_ = {};
    while (!ready_.empty()) {
        auto const dropped = std::exchange(ready_, {});
    }
}

time_point machine::local(moment t) const noexcept
{
    auto const whole = t.count() / million, rest = t.count() % million;
    return beginning + clock::duration{t.count() + whole * drift_ + rest * drift_ / million};
}

moment machine::when(time_point shown) const noexcept
{
    if (shown <= beginning)
        return moment{0};
    // Near enough to be found in a few steps.
    auto const ticks = static_cast<double>((shown - beginning).count());
    moment t{static_cast<moment::rep>(ticks / (1 + drift_ / 1e6)) - 1'000};
    while (local(t) < shown)
        t += std::max(moment{1}, moment{(shown - local(t)).count() * 98 / 100});
    return std::max(t, moment{0});
}

moment machine::next(moment now) const noexcept
{
    auto wanted = never_again;
    if (!ready_.empty() || interruption_)
        wanted = now;
    else if (auto const timer = timers_.next(); timer != never)
        wanted = std::max(now, when(timer));
    return wanted == never_again ? wanted : std::max(wanted, stands_until_);
}

void machine::serve(moment now)
{
    clock::fake(local(now));
    if (std::exchange(is_suspended_, false))
        resumed_ = clock::now();
    clock::fake_suspension(slept_, resumed_);
    timers_.fire(clock::now());
    auto const limit = handlers_ + most_handlers;
    while (run_one())
        if (handlers_ == limit)
            throw std::runtime_error{"handlers run in a circle"};
}

bool machine::run_one()
{
    if (interruption_ && (interrupts_in_ == 0 || ready_.empty())) {
        std::exchange(interruption_, {})();
        return true;
    }
    if (ready_.empty()) {
        if (context_users_ == 0)
            return false;
        context_.restart();
        return context_.poll() != 0 || !ready_.empty();
    }
    interrupts_in_ -= interrupts_in_ != 0;
    ++handlers_;
    auto next = std::move(ready_.front());
    ready_.pop_front();
    next();
    return true;
}

void machine::interrupt(std::size_t handlers_from_now, task what)
{
    interruption_ = std::move(what);
    interrupts_in_ = handlers_from_now;
}

}  // namespace colock::simulation
