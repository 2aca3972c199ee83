#include "core/core.hpp"
#include "holds/watchdog.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace colock {

namespace {

// Renewals that are due within this time go with those that are due now.
constexpr milliseconds coalescing_window{64};

/// Locks per renewal call: a long call would make the server's other clients wait.
constexpr std::size_t largest_batch = 128;

/// Calls under way per lane.
constexpr unsigned most_under_way = 2;

/// From this many holds on, first renewals spread.
constexpr std::size_t many_holds = 1'000;

/// A loop that fails would leave holds that nobody renews and nobody tells. As in a `strand_task`,
/// only an allocation can fail.
void end_with_failure(std::exception_ptr const& failure)
{
    if (failure)
        std::terminate();
}

}  // namespace

/// The renewals of one lane, by the script.
struct watchdog::line {
    using list = boost::intrusive::list<
        renewable,
        boost::intrusive::base_hook<renewal_hook>,
        boost::intrusive::constant_time_size<false>>;

    list* next()
    {
        auto const at = std::ranges::find_if(due, [](auto& each) { return !each.second.empty(); });
        return at == due.end() ? nullptr : &at->second;
    }
    bool is_idle() { return under_way == 0 && !next(); }

    std::map<scripts::script const*, list> due;
    unsigned under_way = 0;
};

watchdog::watchdog(core& owner) : core_{owner}, timer_{owner.strand()} {}

watchdog::~watchdog() = default;

void watchdog::watch(renewable& t, time_point renew_at, time_point lose_at)
{
    bool const earliest = schedule_.set(t, renew_at, lose_at);
    if (!running_) {
        running_ = true;
        asio::co_spawn(
            core_.strand(),
            run(core_.shared_from_this(), round_),
            asio::bind_executor(core_.strand(), &end_with_failure)
        );
    } else if (earliest && schedule_.next() < armed_)
        wake();
}

void watchdog::forget(renewable& t) noexcept
{
    schedule_.remove(t);
    if (core_.is_stopped())
        stop();
}

void watchdog::wake()
{
    armed_ = schedule_.next();
    timer_.expires_at(armed_);  // the wait of `run` ends with an error, and it looks again
}

void watchdog::stop()
{
    if (!schedule_.empty())
        return;  // holds live until their leases end, and must be told then
    ++round_;
    running_ = false;
    timer_.cancel();
}

asio::awaitable<void, strand_type> watchdog::run(core_ptr owner, std::uint64_t round)
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
            self.process_due();
    }
}

void watchdog::process_due()
{
    auto const due = schedule_.take(clock::now(), coalescing_window);
    auto const owned = [](decide::renewal_schedule::entry* e) {
        return static_cast<renewable*>(e)->share();
    };
    renewables lost;
    std::ranges::transform(due.lost, std::back_inserter(lost), owned);
    // Losses come first, by the clock: after a pause of the whole process no renewal comes before
    // them.
    for (auto const& t : lost)
        t->expire(clock::now());
    for (auto* e : due.renew)
        static_cast<renewable*>(e)->renew();
    send_all();
}

void watchdog::send_all()
{
    std::vector<unsigned> lanes;
    lanes.reserve(lines_.size());
    for (auto const& [lane, there] : lines_)
        lanes.push_back(lane);
    for (auto const lane : lanes)
        send(lane);
}

time_point watchdog::first_renewal(time_point sent, milliseconds lease)
{
    using schedule = decide::renewal_schedule;
    return core_.count.holds.load(std::memory_order_relaxed) < many_holds
        ? schedule::renewal_time(sent, lease, core_.jitter())
        : schedule::spread_time(sent, lease, core_.jitter());
}

void watchdog::enqueue(renewable& t)
{
    in(core_.transport().lane_of(t.slot())).due[&t.renewal_script()].push_back(t);
}

watchdog::line& watchdog::in(unsigned lane)
{
    auto& there = lines_[lane];
    if (!there)
        there = std::make_unique<line>();
    return *there;
}

// While the link is down nothing is sent, so that no lost ownership is renewed.
void watchdog::send(unsigned lane)
{
    line& here = in(lane);
    ++here.under_way;  // an answer that comes at once must not end the lane
    while (here.next() && here.under_way <= most_under_way && !core_.is_stopped()) {
        if (!core_.transport().is_up(lane)) {
            core_.transport().want_link(lane);
            break;
        }
        auto& due = *here.next();
        renewables some;
        while (!due.empty() && some.size() != largest_batch) {
            some.push_back(due.front().share());
            due.pop_front();
        }
        ++here.under_way;
        renew(lane, std::move(some));
    }
    --here.under_way;
    if (here.is_idle())
        lines_.erase(lane);
}

strand_task watchdog::renew(unsigned lane, renewables some)
{
    renewal_texts texts;
    renewals asked;
    asked.reserve(some.size());
    for (auto const& each : some)
        each->write_renewal(texts, asked.emplace_back(each->begin_renewal()));
    auto const arguments = texts.arguments();
    step s{some.front()->renewal_script(), some.front()->slot(), texts.keys(), arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --in(lane).under_way;
    auto const& items = got.value.items;
    bool const is_whole = got.what == answer::kind::replied && items.size() == some.size();
    if (got.what == answer::kind::failed && got.sent != time_point{} && some.size() > 1) {
        split(lane, some, asked);
        co_return;
    }
    double const jitter = core_.jitter();
    for (std::size_t i = 0; i != some.size(); ++i)
        some[i]->renewal_answered(asked[i], got, is_whole ? &items[i] : nullptr, jitter);
    send(lane);
}

// Another lock of the call may be the forbidden one: repeat with each half.
void watchdog::split(unsigned lane, renewables const& refused, renewals const& as)
{
    renewables again;
    for (std::size_t i = 0; i != refused.size(); ++i)
        if (refused[i]->renewal_refused(as[i]))
            again.push_back(refused[i]);
    auto const middle = again.begin() + static_cast<std::ptrdiff_t>((again.size() + 1) / 2);
    for (auto& half : {renewables{again.begin(), middle}, renewables{middle, again.end()}})
        if (!half.empty()) {
            ++in(lane).under_way;
            renew(lane, half);
        }
    send(lane);
}

}  // namespace colock
