#include "core/core.hpp"
#include "decide/names.hpp"
#include "holds/ownership.hpp"
#include "holds/watchdog.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/redirect_error.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
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

/// The renewals of one lane: by the script of most locks, and by the script of readers.
struct watchdog::line {
    using list = boost::intrusive::list<
        ownership,
        boost::intrusive::base_hook<renewal_hook>,
        boost::intrusive::constant_time_size<false>>;

    list& due_with(ownership const& t) { return t.how().has_leases ? readers : due; }
    list* next() { return !due.empty() ? &due : !readers.empty() ? &readers : nullptr; }
    bool is_idle() { return under_way == 0 && !next(); }

    list due, readers;
    unsigned under_way = 0;
};

/// One call, with the texts that it refers to.
struct watchdog::batch {
    batch(core const& owner, std::span<std::shared_ptr<ownership> const> some)
        : how{some.front()->how()}
    {
        keys.reserve(some.size());
        arguments.reserve(3 * some.size());
        asked.reserve(some.size());
        std::size_t size = some.size() * longest_texts;
        if (how.has_leases)
            for (auto const& t : some)
                size += longest_more + owner.settings().key_prefix.size() + t->name().size();
        texts.reserve(size);  // so that the texts do not move
        for (auto const& t : some) {
            asked.push_back(t->begin_renewal());
            keys.push_back(t->name());
            add([&] {
                owner.write_field(texts, t->number());
                texts += t->how().field_end;
            });
            add([&] { decide::write_number(texts, asked.back().lease.count()); });
            if (how.has_leases)
                add([&] { texts += how.leases(t->name(), owner.settings().key_prefix); });
        }
    }

    protocol const& how;
    std::vector<ownership::renewal> asked;
    std::vector<std::string_view> keys, arguments;

private:
    static constexpr std::size_t longest_texts = 36 + 1 + 20 + 6 + 20;
    static constexpr std::size_t longest_more = 2;  // beside prefix and name

    template <class Write>
    void add(Write const& write)
    {
        auto const begin = texts.size();
        write();
        arguments.push_back(std::string_view{texts}.substr(begin));
    }

    std::string texts;
};

watchdog::watchdog(core& owner) : core_{owner}, timer_{owner.strand()} {}

watchdog::~watchdog() = default;

void watchdog::watch(ownership& t, time_point renew_at, time_point lose_at)
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

void watchdog::forget(ownership& t) noexcept
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
        return static_cast<ownership*>(e)->shared_from_this();
    };
    std::vector<std::shared_ptr<ownership>> lost;
    std::ranges::transform(due.lost, std::back_inserter(lost), owned);
    // Losses come first, by the clock: after a pause of the whole process no renewal comes before
    // them.
    for (auto const& t : lost)
        t->expire(clock::now());
    for (auto* e : due.renew)
        static_cast<ownership*>(e)->renew();
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

void watchdog::enqueue(ownership& t)
{
    in(core_.transport().lane_of(t.slot())).due_with(t).push_back(t);
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
        ownerships some;
        while (!due.empty() && some.size() != largest_batch) {
            some.push_back(due.front().shared_from_this());
            due.pop_front();
        }
        ++here.under_way;
        renew(lane, std::move(some));
    }
    --here.under_way;
    if (here.is_idle())
        lines_.erase(lane);
}

strand_task watchdog::renew(unsigned lane, ownerships some)
{
    batch asking{core_, some};
    step s{*asking.how.renew, some.front()->slot(), asking.keys, asking.arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --in(lane).under_way;
    auto const& items = got.value.items;
    bool const is_whole = got.what == answer::kind::replied && items.size() == some.size();
    if (got.what == answer::kind::failed && got.sent != time_point{} && some.size() > 1) {
        split(lane, some, asking);
        co_return;
    }
    double const jitter = core_.jitter();
    for (std::size_t i = 0; i != some.size(); ++i)
        some[i]->renewal_answered(asking.asked[i], got, is_whole ? &items[i] : nullptr, jitter);
    send(lane);
}

// Another lock of the call may be the forbidden one: repeat with each half.
void watchdog::split(unsigned lane, ownerships const& refused, batch const& as)
{
    ownerships again;
    for (std::size_t i = 0; i != refused.size(); ++i)
        if (refused[i]->renewal_refused(as.asked[i]))
            again.push_back(refused[i]);
    auto const middle = again.begin() + static_cast<std::ptrdiff_t>((again.size() + 1) / 2);
    for (auto& half : {ownerships{again.begin(), middle}, ownerships{middle, again.end()}})
        if (!half.empty()) {
            ++in(lane).under_way;
            renew(lane, half);
        }
    send(lane);
}

}  // namespace colock
