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
#include <utility>
#include <vector>

namespace colock {

namespace {

// Renewals that are due within this time go with those that are due now; of the default lease those
// within some 300 ms, see `renewal_schedule::take`. To be woken more often costs more than they do.
constexpr milliseconds coalescing_window{512};

/// Locks or permits per renewal call: a long call would make the server's other clients wait.
constexpr std::size_t largest_call = cohort::largest;

/// A cohort of fewer members than this takes in others that are due with it.
constexpr std::size_t large_enough = largest_call * 3 / 4;

/// The holds that are lost within this time are renewed first: a million renewals take some
/// seconds.
constexpr milliseconds urgent{5'000};

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

/// The renewals that are due in one lane, by urgency and script.
struct watchdog::lane_renewals {
    template <class Entry, class Hook>
    using list = decide::linked_list<Entry, Hook>;

    struct queue {
        bool empty() const noexcept { return cohorts.empty() && single.empty(); }

        /// When the first one is lost.
        time_point lose_at() const noexcept
        {
            return std::min(
                cohorts.empty() ? never : cohorts.front().lose_at(),
                single.empty() ? never : single.front().lose_at()
            );
        }

        list<cohort, cohort_hook> cohorts;
        list<ownership, renewal_hook> single;
    };

    queue* next()
    {
        queue* found = nullptr;
        for (auto& [key, each] : due)
            if (!each.empty() && (!found || each.lose_at() < found->lose_at()))
                found = &each;
        return found;
    }
    bool is_idle() { return under_way == 0 && !next(); }

    queue& of(decide::renewal_schedule::entry const& which, scripts::script const& by)
    {
        return due[{which.lose_at() < clock::now() + urgent, &by}];
    }

    std::map<std::pair<bool, scripts::script const*>, queue> due;
    unsigned under_way = 0;
};

/// The renewals of one call: a cohort, and others behind it.
struct watchdog::call {
    void add(cohort& first)
    {
        base = &first;
        of_base = first.size();
    }

    void add(std::shared_ptr<ownership> of)
    {
        auto const place = size();
        if (auto const round = of->begin_renewal(texts))
            parts.push_back({std::move(of), *round, place});
    }

    /// All are there, and the call stays where it is: makes its words.
    void finish()
    {
        if (base)
            base->begin_call(words);
        for (auto const key : texts.keys())
            words.keys.push_back(key);
        for (auto const argument : texts.arguments())
            words.arguments.push_back(argument);
    }

    std::size_t size() const noexcept { return of_base + parts.size(); }

    /// Of the one at this place in the call.
    std::span<std::string_view const> arguments(std::size_t place) const
    {
        auto const each = words.arguments.size() / words.keys.size();
        return std::span{words.arguments}.subspan(place * each, each);
    }

    cohort* base = nullptr;
    std::size_t of_base = 0;  ///< how many of the call are its members
    std::vector<cohort::part> parts;
    script_texts texts;  ///< of `parts`
    cohort::words words;
};

watchdog::watchdog(core& owner) : core_{owner}, timer_{owner.strand()} {}

watchdog::~watchdog()
{
    for (auto const& each : all_cohorts_)
        for (auto* const one : each->members())
            if (one)
                one->join(nullptr);
}

// ---- Times -------------------------------------------------------------------------------------

void watchdog::watch(ownership& of, time_point renew_at, time_point lose_at)
{
    if (lose_at == never)
        return forget(of);
    on_scheduled(schedule_.set(of, renew_at, lose_at));
}

void watchdog::on_scheduled(bool is_earliest)
{
    if (!running_) {
        running_ = true;
        asio::co_spawn(
            core_.strand(),
            run(core_.shared_from_this(), loop_),
            asio::bind_executor(core_.strand(), &end_with_failure)
        );
    } else if (is_earliest && next() < armed_)
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
    if (!schedule_.empty() || !cohorts_.empty())
        return;  // holds live until their leases end, and must be told then
    ++loop_;
    running_ = false;
    timer_.cancel();
}

asio::awaitable<void, strand_type> watchdog::run(core_ptr owner, std::uint64_t loop)
{
    watchdog& self = owner->watchdog();
    while (loop == self.loop_) {
        if (self.schedule_.empty() && self.cohorts_.empty() && owner->is_stopped()) {
            self.stop();
            break;
        }
        self.armed_ = self.next();
        self.timer_.expires_at(self.armed_);
        error_code woken;
        co_await self.timer_.async_wait(asio::redirect_error(asio::deferred, woken));
        if (loop == self.loop_)
            self.process_due();
    }
}

void watchdog::process_due()
{
    auto const now = clock::now();
    auto const due = schedule_.take(now, coalescing_window);
    auto const due_cohorts = cohorts_.take(now, coalescing_window);
    std::vector<std::shared_ptr<ownership>> lost;
    lost.reserve(due.lost.size());
    for (auto* const e : due.lost)
        lost.push_back(static_cast<ownership*>(e)->shared_from_this());
    for (auto* const e : due.renew)
        enqueue(static_cast<ownership&>(*e));
    for (auto* const e : due_cohorts.renew)
        enqueue(static_cast<cohort&>(*e));
    for (auto* const e : due_cohorts.lost) {
        auto& all = static_cast<cohort&>(*e);
        for (auto* const one : all.members())
            if (one)
                lost.push_back(one->shared_from_this());
        dissolve(all);
    }
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
    auto& here = in(core_.transport().lane_of(of.slot()));
    here.of(of, *of.how().script.renew).single.push_back(of);
}

// Its members may have come into different lanes since they were together.
void watchdog::enqueue(cohort& all)
{
    if (all.is_queued() || all.is_under_way())
        return;
    auto const slots = all.slots();
    auto const lane = core_.transport().lane_of(slots.front());
    in(lane).of(all, all.script()).cohorts.push_back(all);
    if (std::ranges::any_of(slots, [&](auto s) { return core_.transport().lane_of(s) != lane; }))
        dissolve(all);
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
    while (here.next() && here.under_way <= most_under_way && !core_.is_stopped()) {
        if (!core_.transport().is_up(lane)) {
            core_.transport().want_link(lane);
            break;
        }
        auto& due = *here.next();
        call some;
        if (!due.cohorts.empty()) {
            auto& first = due.cohorts.front();
            due.cohorts.pop_front();
            some.add(first);
        }
        while (!due.cohorts.empty() && some.size() < large_enough &&
               due.cohorts.front().lease() == some.base->lease() &&
               some.size() + due.cohorts.front().size() <= largest_call)
            dissolve(due.cohorts.front());  // its members follow, and join
        while (!due.single.empty() && some.size() != largest_call) {
            auto next = due.single.front().shared_from_this();
            due.single.pop_front();
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
    if (some.size() == 0)
        return;
    ++in(lane).under_way;
    renew(lane, std::move(some));
}

strand_task watchdog::renew(unsigned lane, call some)
{
    some.finish();
    auto const& script =
        some.base ? some.base->script() : *some.parts.front().of->how().script.renew;
    auto const slot = some.base ? some.base->slots().front() : some.parts.front().of->slot();
    step s{script, slot, some.words.keys, some.words.arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --in(lane).under_way;
    if (got.what == answer::kind::failed && got.sent != time_point{} && some.size() > 1)
        split(lane, some);
    else
        conclude(some, got);
    send(lane);
}

// Another lock of the call may be the forbidden one: repeat with each half.
void watchdog::split(unsigned lane, call& refused)
{
    if (refused.base) {
        dissolve(*refused.base);
        std::ranges::move(refused.base->end_call(), std::back_inserter(refused.parts));
        drop(*refused.base);
    }
    std::vector<std::shared_ptr<ownership>> again;
    for (auto const& [of, round, place] : refused.parts)
        if (of->renewal_refused(round))
            again.push_back(of);
    call halves[2];
    for (std::size_t i = 0; i != again.size(); ++i)
        halves[2 * i < again.size() ? 0 : 1].add(again[i]);
    for (auto& half : halves)
        send(lane, std::move(half));
}

// Look at the clock before the answer: after a pause of the process no timer has fired yet.
void watchdog::conclude(call& over, answer const& got)
{
    auto const parts = over.words.keys.size();
    auto const* const all_parts = got.what == answer::kind::replied ? &got.value : nullptr;
    double const jitter = core_.jitter();
    auto* const base = over.base;
    if (base) {
        bool all = base->size() != 0 && clock::now() < base->loss_time();
        for (std::size_t i = 0; all && i != base->members().size(); ++i)
            all = !base->members()[i] || decide::is_extended(decide::part_of(all_parts, parts, i));
        if (!all)
            dissolve(*base);
        std::ranges::move(base->end_call(), std::back_inserter(over.parts));
        if (all)
            succeed(*base, got.sent, jitter);
        else
            over.base = nullptr;
    }
    for (auto const& [of, round, place] : over.parts) {
        auto const next =
            of->renewal_answered(round, got, decide::part_of(all_parts, parts, place), jitter);
        watch(*of, next.renew_at, next.lose_at);
    }
    gather(over, got, jitter);
    if (base != over.base)
        drop(*base);  // only now, because the words of the call are its own
}

// ---- Cohorts -----------------------------------------------------------------------------------

void watchdog::take_out(ownership& one, cohort& of)
{
    bool const was_queued = of.is_queued();
    if (auto const round = one.leave(of))
        of.keep_answer_for({one.shared_from_this(), *round, of.place_of(one)});
    else if (was_queued)
        enqueue(one);
    strike_out(one, of);
}

void watchdog::strike_out(ownership const& one, cohort& of) noexcept
{
    of.remove(one);
    if (of.size() == 0 && !of.is_under_way())
        drop(of);
}

void watchdog::dissolve(cohort& of)
{
    auto const members = of.members();
    for (auto* const one : std::vector(members.begin(), members.end()))
        if (one)
            take_out(*one, of);
}

void watchdog::drop(cohort& of) noexcept
{
    if (of.members().empty())
        return;  // it was dropped already
    cohorts_.remove(of);
    of.disband();
    spare_cohorts_.push_back(&of);
}

void watchdog::succeed(cohort& of, time_point sent, double jitter)
{
    auto const now = clock::now();
    of.renewed(sent, now);
    on_scheduled(cohorts_.set(
        of, decide::renewal_schedule::renewal_time(sent, of.lease(), jitter), of.loss_time()
    ));
    auto const valid_for = std::chrono::duration_cast<milliseconds>(of.valid_until() - now);
    if (!core_.events().wants_each_renewal())
        return core_.events().renewed_many(of.size(), valid_for);
    for (auto const* const one : of.members())
        if (one)
            core_.events().renewed(one->name(), valid_for);
}

// Ownerships that one call has renewed are renewed by one call again.
void watchdog::gather(call const& over, answer const& got, double jitter)
{
    std::vector<cohort::part const*> ready;
    for (auto const& part : over.parts)
        if (over.base && part.place < over.of_base)
            continue;  // it has left in the meantime
        else if (part.of->may_join(got.sent, part.round.lease))
            ready.push_back(&part);
    auto const join = [&](cohort& to) {
        std::erase_if(ready, [&](auto const* part) {
            if (part->round.lease != to.lease())
                return false;
            auto const& of = part->of;
            to.add(*of, of->slot(), over.words.keys[part->place], over.arguments(part->place));
            schedule_.remove(*of);
            of->join(&to);
            return true;
        });
        to.fit();
    };
    if (over.base)
        join(*over.base);
    while (ready.size() > 1) {
        auto const& first = *ready.front();
        cohort::terms const terms{
            first.of->how().script.renew, first.round.lease, core_.settings().loss_margin};
        join(form(terms, got.sent, jitter));
    }
}

cohort& watchdog::form(cohort::terms const& terms, time_point sent, double jitter)
{
    if (spare_cohorts_.empty()) {
        all_cohorts_.push_back(std::make_unique<cohort>());
        spare_cohorts_.reserve(all_cohorts_.capacity());
        spare_cohorts_.push_back(all_cohorts_.back().get());
    }
    auto& made = *spare_cohorts_.back();
    spare_cohorts_.pop_back();
    made.form(terms, core_.uuid());
    made.renewed(sent, clock::now());
    on_scheduled(cohorts_.set(
        made, decide::renewal_schedule::renewal_time(sent, terms.lease, jitter), made.loss_time()
    ));
    return made;
}

}  // namespace colock
