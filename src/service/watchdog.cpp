#include "service/core.hpp"
#include "service/tenure.hpp"
#include "service/watchdog.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace colock {

namespace {

// Renewals that are due within this go with those that are due now.
constexpr milliseconds coalescing_window{20};

/// Logs what a coroutine of ours could not handle; there is nobody else to tell.
auto log_failure(core_ptr const& owner)
{
    return [owner](std::exception_ptr failure) {
        if (!failure)
            return;
        owner->log(log_level::error, [&]() -> std::string {
            try {
                std::rethrow_exception(failure);
            } catch (std::exception const& e) {
                return std::string{"watchdog: "} + e.what() +
                    "; holds are lost when their lease ends";
            }
        });
    };
}

/// The script call of a batch, with the texts that it refers to.
struct renewal_call {
    explicit renewal_call(std::vector<std::shared_ptr<tenure>> const& batch, time_point now)
    {
        leases.reserve(batch.size());
        for (auto const& t : batch) {
            keys.push_back(t->name());
            leases.push_back(std::to_string(t->promise(now).count()));
            arguments.push_back(t->field());
            arguments.push_back(leases.back());
        }
    }

    std::vector<std::string> leases;
    std::vector<std::string_view> keys, arguments;
};

template <class Handler>
sequence submit(core& owner, step& s, Handler handler)
{
    owner.transport().submit(s);
    answer got = co_await s.answered;
    std::move(handler)(std::move(got));
}

/// Runs a step for an Asio coroutine, whose handler is called where the answer arrives.
auto call(core& owner, step& s)
{
    return asio::async_initiate<asio::deferred_t const, void(answer)>(
        [&owner, &s](auto handler) { submit(owner, s, std::move(handler)); }, asio::deferred
    );
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
            asio::bind_executor(core_.strand(), log_failure(core_.shared_from_this()))
        );
    } else if (earliest && schedule_.next() < armed_)
        wake();
}

void watchdog::forget(tenure& t) noexcept { schedule_.remove(t); }

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
    auto due = schedule_.take(clock::now(), coalescing_window);
    auto const owned = [](decide::renewal_schedule::entry* e) {
        return static_cast<tenure*>(e)->shared_from_this();
    };
    // Losses first, by the clock: after a pause of the whole process no renewal comes before them.
    std::vector<std::shared_ptr<tenure>> lost, renew;
    std::ranges::transform(due.lost, std::back_inserter(lost), owned);
    std::ranges::transform(due.renew, std::back_inserter(renew), owned);
    for (auto const& t : lost)
        t->expire(clock::now());

    std::erase_if(renew, [](auto const& t) { return !t->begin_renewal(clock::now()); });
    auto const link = [this](auto const& t) { return core_.transport().link_of(t->slot()); };
    std::ranges::stable_sort(renew, {}, link);
    for (auto first = renew.begin(); first != renew.end();) {
        auto last = first;
        while (last != renew.end() && link(*last) == link(*first) &&
               static_cast<std::size_t>(last - first) < largest_batch)
            ++last;
        auto self = core_.shared_from_this();
        asio::co_spawn(
            core_.strand(),
            watchdog::renew(self, {first, last}),
            asio::bind_executor(core_.strand(), log_failure(self))
        );
        first = last;
    }
}

asio::awaitable<void, strand_type> watchdog::renew(
    core_ptr owner, std::vector<std::shared_ptr<tenure>> batch
)
{
    renewal_call const texts{batch, clock::now()};
    step s{scripts::renew, batch.front()->slot(), texts.keys, texts.arguments};
    answer const got = co_await call(*owner, s);
    bool const whole = got.what == answer::kind::replied &&
        got.value.what == decide::reply::kind::list && got.value.items.size() == batch.size();
    for (std::size_t i = 0; i != batch.size(); ++i) {
        tenure& t = *batch[i];
        if (!t.is_renewing())
            continue;  // released or lost meanwhile: the answer is no news
        auto const outcome =
            whole ? decide::read_extend(got.value.items[i]) : decide::extend_answer::malformed;
        if (outcome == decide::extend_answer::extended)
            t.renewed(got.sent);
        else if (outcome == decide::extend_answer::gone)
            t.gone(error::lost);
        else
            t.renewal_failed(got.ec ? got.ec : error_code{error::bad_reply});
    }
}

}  // namespace colock
