#include "service/core.hpp"
#include "service/tenure.hpp"
#include "service/watchdog.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <iterator>
#include <string>

namespace colock {

namespace {

// Renewals that are due within this go with those that are due now.
constexpr milliseconds coalescing_window{20};

/// A patrol that fails would leave holds that nobody renews and nobody tells; as in a `sequence`,
/// it can fail by allocation alone.
void end_with_failure(std::exception_ptr const& failure)
{
    if (failure)
        std::terminate();
}

}  // namespace

watchdog::watchdog(core& owner) : core_{owner}, timer_{owner.strand()} {}

void watchdog::watch(tenure& t, time_point renew_at, time_point lose_at)
{
    bool const earliest = schedule_.set(t, renew_at, lose_at);
    if (!patrolling_) {
        patrolling_ = true;
        asio::co_spawn(
            core_.strand(),
            patrol(core_.shared_from_this(), round_),
            asio::bind_executor(core_.strand(), &end_with_failure)
        );
    } else if (earliest && schedule_.next() < armed_)
        wake();
}

void watchdog::forget(tenure& t) noexcept
{
    schedule_.remove(t);
    if (core_.is_stopped())
        stop();
}

void watchdog::wake()
{
    armed_ = schedule_.next();
    timer_.expires_at(armed_);  // the patrol's wait ends with an error, and it looks again
}

void watchdog::stop()
{
    if (!schedule_.empty())
        return;  // holds live on until their leases end, and must be told
    ++round_;
    patrolling_ = false;
    timer_.cancel();
}

asio::awaitable<void, strand_type> watchdog::patrol(core_ptr owner, std::uint64_t round)
{
    watchdog& self = owner->watchdog();
    while (round == self.round_) {
        if (self.schedule_.empty() && owner->is_stopped()) {
            self.stop();
            break;
        }
        self.armed_ = self.schedule_.next();
        self.timer_.expires_at(self.armed_);
        error_code woken;
        co_await self.timer_.async_wait(asio::redirect_error(asio::deferred, woken));
        if (round == self.round_)
            self.round_up();
    }
}

void watchdog::round_up()
{
    auto const due = schedule_.take(clock::now(), coalescing_window);
    auto const owned = [](decide::renewal_schedule::entry* e) {
        return static_cast<tenure*>(e)->shared_from_this();
    };
    std::vector<std::shared_ptr<tenure>> lost, renew;
    std::ranges::transform(due.lost, std::back_inserter(lost), owned);
    std::ranges::transform(due.renew, std::back_inserter(renew), owned);
    // Losses first, by the clock: after a pause of the whole process no renewal comes before them.
    for (auto const& t : lost)
        t->expire(clock::now());
    for (auto const& t : renew)
        t->renew();
}

}  // namespace colock
