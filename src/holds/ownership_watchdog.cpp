// The watchdog, which knows each ownership.
#include "core/core.hpp"
#include "decide/linked_list.hpp"
#include "holds/ownership.hpp"
#include "holds/watchdog.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace colock {

namespace {

// Renewals that are due within this time go with those that are due now; of the default lease those
// within some 300 ms, see `renewal_schedule::take`. To be woken more often costs more than they do.
constexpr milliseconds renewal_window{512};

/// The holds that are lost within this time are renewed first: a million renewals take some
/// seconds.
constexpr milliseconds urgent{5'000};

/// Calls under way per lane.
constexpr unsigned most_renewals_under_way = 2;

/// From this many holds on, first renewals spread.
constexpr std::size_t many_holds = 1'000;

/// A loop that fails would leave holds that nobody renews and nobody tells. As in a `strand_task`,
/// only an allocation can fail.
void end_with_failure(std::exception_ptr const& thrown)
{
    if (thrown)
        std::terminate();
}

}  // namespace

/// The renewals that are due in one lane, by urgency, script and wanted copies: those that want
/// none wait for none.
struct watchdog::lane_renewals {
    using queue = decide::linked_list<ownership, renewal_hook>;

    /// The one whose first renewal is lost first.
    queue* next()
    {
        queue* found = nullptr;
        for (auto& [key, each] : due)
            if (!each.empty() && (!found || each.front().lose_at() < found->front().lose_at()))
                found = &each;
        return found;
    }
    bool is_idle() { return under_way == 0 && !next(); }

    queue& of(ownership const& which)
    {
        return due[{
            which.lose_at() < clock::now() + urgent, which.how().script.renew, which.wants()}];
    }

    std::map<std::tuple<bool, scripts::script const*, decide::copies>, queue> due;
    unsigned under_way = 0;
};

/// The renewals of one call.
struct watchdog::call {
    struct part {
        std::shared_ptr<ownership> of;
        decide::lease_steps::step sent;
    };

    void add(std::shared_ptr<ownership> of)
    {
        if (auto const sent = of->begin_renewal(texts)) {
            wants |= of->wants();
            shortest = std::min(shortest, sent->lease);
            parts.push_back({std::move(of), *sent});
        }
    }

    std::vector<part> parts;
    script_texts texts;
    decide::copies wants{};
    milliseconds shortest = milliseconds::max();  ///< lease
};

watchdog::watchdog(core& owner)
    : core_{owner}
    , timer_{owner.strand()}
    , resume_notice_{owner.strand()}
    , resumed_{clock::resumed()}
{}

watchdog::~watchdog() = default;

// ---- Times -------------------------------------------------------------------------------------

void watchdog::watch(ownership& of, time_point renew_at, time_point lose_at)
{
    if (lose_at == never)
        return forget(of);
    bool const is_earliest = schedule_.set(of, renew_at, lose_at);
    if (!running_) {
        running_ = true;
        resume_notice_.start([this, life = core_.shared_from_this()] { on_resumed(); });
        asio::co_spawn(
            core_.strand(),
            run(core_.shared_from_this(), loop_),
            asio::bind_executor(core_.strand(), &end_with_failure)
        );
    } else if (is_earliest && schedule_.next() < armed_)
        wake();
}

void watchdog::forget(ownership& of) noexcept
{
    schedule_.remove(of);
    if (core_.is_stopped())
        stop();
}

void watchdog::stop()
{
    if (!schedule_.empty())
        return;  // holds live until their leases end, and must be told then
    ++loop_;
    running_ = false;
    timer_.cancel();
    resume_notice_.stop();
}

void watchdog::on_resumed()
{
    auto const resumed = clock::resumed();
    if (!running_ || std::exchange(resumed_, resumed) == resumed)
        return;  // somebody has set the wall clock
    process_due();
    core_.holds().confirm([](unsigned) { return true; });
    send_all();
    wake();
}

asio::awaitable<void, strand_type> watchdog::run(core_ptr owner, std::uint64_t loop)
{
    watchdog& self = owner->watchdog();
    while (loop == self.loop_) {
        if (self.schedule_.empty() && owner->is_stopped()) {
            self.stop();
            break;
        }
        self.armed_ = self.schedule_.next();
        self.timer_.expires_at(self.armed_);
        error_code woken;
        co_await self.timer_.async_wait(asio::redirect_error(asio::deferred, woken));
        if (loop == self.loop_)
            self.process_due();
    }
}

void watchdog::process_due()
{
    auto const due = schedule_.take(clock::now(), renewal_window);
    std::vector<std::shared_ptr<ownership>> lost;
    lost.reserve(due.lost.size());
    for (auto* const e : due.lost)
        lost.push_back(static_cast<ownership*>(e)->shared_from_this());
    for (auto* const e : due.renew)
        enqueue(static_cast<ownership&>(*e));
    // Losses come first, by the clock: after a pause of the whole process no renewal comes before
    // them.
    for (auto const& of : lost)
        of->expire(clock::now());
    send_all();
}

time_point watchdog::first_renewal(time_point sent, milliseconds lease)
{
    using schedule = decide::renewal_schedule;
    return core_.count.holds.load(std::memory_order_relaxed) < many_holds
        ? schedule::renewal_time(sent, lease, core_.jitter())
        : schedule::spread_time(sent, lease, core_.jitter());
}

// ---- Calls -------------------------------------------------------------------------------------

void watchdog::send_all()
{
    std::vector<unsigned> lanes;
    lanes.reserve(lanes_.size());
    for (auto const& [lane, there] : lanes_)
        lanes.push_back(lane);
    for (auto const lane : lanes)
        send(lane);
}

void watchdog::enqueue(ownership& of)
{
    if (of.renewal_hook::is_linked())
        return;
    in(core_.transport().lane_of(of.slot())).of(of).push_back(of);
}

watchdog::lane_renewals& watchdog::in(unsigned lane)
{
    auto& there = lanes_[lane];
    if (!there)
        there = std::make_unique<lane_renewals>();
    return *there;
}

// While the link is down nothing is sent, so that no lost ownership is renewed.
void watchdog::send(unsigned lane)
{
    lane_renewals& here = in(lane);
    ++here.under_way;  // an answer that comes at once must not end the lane
    while (here.next() && here.under_way <= most_renewals_under_way && !core_.is_stopped()) {
        if (!core_.transport().is_up(lane)) {
            core_.transport().want_link(lane);
            break;
        }
        auto& due = *here.next();
        call some;
        while (!due.empty() && some.parts.size() != largest_call) {
            auto next = due.front().shared_from_this();
            due.pop_front();
            some.add(std::move(next));
        }
        send(lane, std::move(some));
    }
    --here.under_way;
    if (here.is_idle())
        lanes_.erase(lane);
}

void watchdog::send(unsigned lane, call some)
{
    if (some.parts.empty())
        return;
    ++in(lane).under_way;
    renew(lane, std::move(some));
}

strand_task watchdog::renew(unsigned lane, call some)
{
    auto const& first = *some.parts.front().of;
    auto const keys = some.texts.keys();
    auto const arguments = some.texts.arguments();
    step s{*first.how().script.renew, first.slot(), keys, arguments};
    s.whole = true;
    if (!some.wants.is_none())
        core_.ask_copies(s, some.wants, some.shortest);
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --in(lane).under_way;
    if (got.what == answer::kind::failed && got.sent != time_point{} && some.parts.size() > 1)
        split(lane, some, got, s.on);
    else
        conclude(some, got, s.on);
    send(lane);
}

// Another lock of the call may be the forbidden one: repeat with each half.
void watchdog::split(
    unsigned lane, call& refused, answer const& got, decide::connection_life const& on
)
{
    std::vector<std::shared_ptr<ownership>> again;
    for (auto const& [of, sent] : refused.parts)
        if (of->renewal_refused(sent, got, on))
            again.push_back(of);
    call halves[2];
    for (std::size_t i = 0; i != again.size(); ++i)
        halves[2 * i < again.size() ? 0 : 1].add(again[i]);
    for (auto& half : halves)
        send(lane, std::move(half));
}

void watchdog::conclude(call const& over, answer const& got, decide::connection_life const& on)
{
    auto const* const all_parts = got.what == answer::kind::replied ? &got.value : nullptr;
    double const jitter = core_.jitter();
    for (std::size_t i = 0; i != over.parts.size(); ++i) {
        auto const& [of, sent] = over.parts[i];
        auto const* const reply = decide::part_of(all_parts, over.parts.size(), i);
        auto const next = of->renewal_answered(sent, got, on, reply, jitter);
        watch(*of, next.renew_at, next.lose_at);
    }
}

}  // namespace colock
