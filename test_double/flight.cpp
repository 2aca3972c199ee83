#include "base/clock.hpp"
#include "flight.hpp"
#include <colock/testing/scripted_client.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace {

using namespace std::chrono_literals;
using real_clock = std::chrono::steady_clock;

/// How long a test may take; after that it waits for something that never comes. One limit for the
/// whole process, because a debugger or valgrind slows all of it.
std::atomic<std::chrono::milliseconds> run_timeout{10s};
constexpr clock::duration longest_flight = 1h;

}  // namespace

flight::flight(asio::io_context& context, strand_type strand, plan given)
    : context_{context}
    , plan_{std::move(given)}
    , poker_{std::move(strand)}
{}

void flight::run_until(std::function<bool()> const& is_so)
{
    begun_ = real_clock::now();
    flown_ = {};
    while (!is_so()) {
        if (!run_ready()) {
            if (clock::now() < until_ || plan_.is_wanted())
                step();
            else
                context_.run_one_for(1ms);
        }
        check_limits();
    }
    while (run_ready())
        check_limits();
}

void flight::run_for(clock::duration time)
{
    until_ = clock::now() + time;
    run_until([this] { return clock::now() >= until_; });
}

void flight::freeze(clock::duration time)
{
    skip(time);
    poke([] {});
}

bool flight::run_ready()
{
    // The code under test may stop the context.
    if (context_.stopped())
        context_.restart();
    return context_.poll_one() != 0;
}

/// To the next moment at which something may happen, and not far.
void flight::step()
{
    auto const now = clock::now();
    auto time = std::clamp<clock::duration>(flown_ / 10, 1ms, plan_.longest_step);
    for (auto const stop : {until_, plan_.next_stop()})
        if (stop > now)
            time = std::min(time, stop - now);
    skip(time);
    // A handler may throw out of this and leave the poker waiting.
    auto const poked = std::make_shared<bool>(false);
    poke([poked] { *poked = true; });
    while (!*poked) {
        if (context_.stopped())
            context_.restart();
        context_.run_one();
        check_limits();
    }
}

void flight::skip(clock::duration time)
{
    skip_time(time);
    flown_ += time;
}

/// A timer that is due before all others makes Asio look at each by the clock as it is now.
template <class Then>
void flight::poke(Then then)
{
    poker_.expires_at(time_point{});
    poker_.async_wait([then](boost::system::error_code const&) { then(); });
}

void flight::check_limits() const
{
    bool const too_far = flown_ > longest_flight;
    auto const limit = run_timeout.load();
    // In milliseconds, as the limit is: the longest of those has no count in nanoseconds.
    auto const taken = std::chrono::floor<std::chrono::milliseconds>(real_clock::now() - begun_);
    if (!too_far && taken <= limit)
        return;
    std::string text = "colock::testing::scripted_client: what it runs has not ended after ";
    text += too_far ? "an hour of colock's clock" : std::to_string(limit.count()) + " ms";
    text += plan_.who_waits();
    if (!too_far)
        text += "; under a debugger or valgrind, scripted_client::set_run_timeout allows more";
    throw std::runtime_error{text};
}

void flight::set_run_timeout(std::chrono::milliseconds limit) noexcept { run_timeout = limit; }

void scripted_client::set_run_timeout(milliseconds limit) noexcept
{
    flight::set_run_timeout(limit);
}

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
