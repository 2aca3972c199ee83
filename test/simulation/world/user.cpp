// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "holds/ownership.hpp"
#include "simulation/world/user.hpp"
#include "simulation/world/world.hpp"
#include "support/as_hold.hpp"
#include <colock/countdown_latch.hpp>
#include <colock/fair_lock.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/red_lock.hpp>
#include <colock/semaphore.hpp>
#include <colock/spin_lock.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace colock::simulation {

using namespace std::chrono_literals;

section draw_section(scenario const& plan, dice d, std::size_t objects)
{
    section s;
    s.pause = d.between(plan.shortest_pause, plan.longest_pause);
    s.object = static_cast<unsigned>(d.below(objects));
    s.writes = d.percent(plan.writes);
    auto const lease = plan.settings.lease;
    s.stay = d.between(plan.shortest_stay, plan.longest_stay);
    if (d.percent(plan.long_stays))
        s.stay = d.between(lease / 2, 2 * lease);
    auto const how = d.below(100);
    using way = section::way;
    s.how = how < plan.tries                                    ? way::attempt
        : how < plan.tries + plan.timed_tries                   ? way::timed
        : how < plan.tries + plan.timed_tries + plan.coroutines ? way::coroutine
                                                                : way::wait;
    s.limit = milliseconds{d.below(static_cast<std::uint64_t>(2 * lease.count()))};
    auto const below = [&d](milliseconds limit) {
        return milliseconds{d.below(static_cast<std::uint64_t>(limit.count()))};
    };
    if (d.percent(plan.own_leases))
        s.on.lease = 20ms + below(lease);
    bool const re_enters = d.percent(plan.re_entries);
    s.as_owner = re_enters || d.percent(20);
    if (d.percent(plan.cancellations))
        s.cancel_after = d.between(0ms, d.percent(50) ? moment{2ms} : moment{lease});
    bool const extends = d.percent(plan.extensions);
    if (extends)
        s.extensions.push_back({s.stay / 2, 100ms + below(2 * lease)});
    s.drops = d.percent(plan.drops);
    s.permits = 1 + static_cast<std::int64_t>(d.below(2));
    s.gives = d.percent(plan.gifts);
    s.adopts = d.percent(50);

    if (s.on.lease && d.percent(plan.renewed_leases)) {
        s.on.renew = true;
        s.on.lease = std::max(*s.on.lease, decide::shortest_renewed_lease);
    }
    if (d.percent(plan.at_least)) {
        s.on.at_least = 10ms + below(lease);
        if (s.on.lease && !s.on.renew)
            s.on.at_least = std::min(s.on.at_least, *s.on.lease);
    }
    if (d.percent(plan.own_terms) && d.percent(20))
        s.on.synced = 1 + static_cast<int>(d.below(2));
    auto const again =
        re_enters ? 1 + d.below(static_cast<std::uint64_t>(plan.most_re_entries)) : 0;
    for (std::uint64_t n = 0; n != again; ++n) {
        auto& made =
            s.re_entries.emplace_back(section::re_entry{{}, {s.on.lease, s.on.renew, s.on.synced}});
        if (!d.percent(plan.own_terms))
            continue;
        made.after = d.between(0ms, s.stay);
        made.writes = d.percent(50);
        made.on.lease.reset();
        made.on.renew = d.percent(50);
        if (d.percent(70))
            made.on.lease = (made.on.renew ? 100ms : 20ms) + below(3 * lease);
        made.on.synced = d.percent(40) ? 1 + static_cast<int>(d.below(2)) : 0;
        if (d.percent(plan.at_least) && (!made.on.lease || made.on.renew))
            made.on.at_least = 10ms + below(lease);
    }
    if (again != 0 && d.percent(plan.outer_first))
        s.stays_inside = d.between(0ms, 2 * moment{lease});
    auto const more = extends ? d.below(static_cast<std::uint64_t>(plan.most_extensions)) : 0;
    for (std::uint64_t n = 0; n != more; ++n)
        s.extensions.push_back(
            {d.between(0ms, s.stay + s.stays_inside.value_or(0ms)),
             10ms + below(4 * lease),
             static_cast<std::size_t>(d.below(again + 1))}
        );
    return s;
}

bool section::may_end() const noexcept
{
    return on.lease || !extensions.empty() ||
        std::ranges::any_of(re_entries, [](auto const& each) { return !!each.on.lease; });
}

user::user(process& home, int number, std::uint64_t first_section)
    : home_{home}
    , number_{number}
    , next_{first_section}
    , dice_{home.around().luck(1'000'000 + static_cast<std::uint64_t>(number))}
{}

template <class F>
void user::after(moment time, F f)
{
    home_.around().time().after(
        time,
        [weak = weak_from_this(), of = operation_, f = std::move(f)]() mutable {
            auto const self = weak.lock();
            if (!self || self->is_dead_)
                return;
            self->home_.computer().post([self, of, f = std::move(f)]() mutable {
                if (self->operation_ == of)
                    f(*self);
            });
        }
    );
}

void user::go_on()
{
    auto& around = home_.around();
    idle_ = true;
    if (around.is_ending() || next_ >= around.how().sections)
        return;
    ++operation_;
    now_ = draw_section(around.plan(), dice_.apart(next_++), around.objects().size());
    of_ = around.objects()[now_.object].get();
    if (of_->what == kind::permits)
        now_.on.synced = 0;
    after(now_.pause, [](user& self) {
        if (!self.home_.around().is_ending())
            self.begin();
    });
}

void user::begin()
{
    idle_ = false;
    cancelled_ = is_adopted_ = false;
    ++operation_;
    auto& around = home_.around();
    waits_since_ = asked_ = around.time().now();
    mishaps_ = around.truth().mishaps_of(*of_);
    permit_.clear();
    uuids_.clear();
    for (std::size_t i = 0; i != of_->parts.size(); ++i)
        uuids_.push_back(home_.uuid_at(i));
    around.past().note(
        around.time().now(), home_.number(), "asks", of_->name, static_cast<std::int64_t>(number_)
    );
    if (now_.cancel_after)
        after(*now_.cancel_after, [](user& self) {
            self.cancelled_ = true;
            self.signal_.emit(boost::asio::cancellation_type::terminal);
        });
    ask();
}

// ---- Locks -------------------------------------------------------------------------------------

acquire_options user::options(asked_terms const& on) const
{
    acquire_options o;
    o.lease = on.lease;
    o.renew = on.renew;
    if (now_.as_owner)
        o.as = self_;
    o.sync_replicas = on.synced;
    if (may_stay_taken())
        o.at_least = on.at_least;
    return o;
}

// A writer that reads as well would keep it for longer.
bool user::may_stay_taken() const noexcept
{
    auto const what = of_->what;
    return what == kind::plain || what == kind::spin || what == kind::fenced ||
        what == kind::fair || (what == kind::read_write && now_.writes && now_.re_entries.empty());
}

void user::ask()
{
    auto const& at = home_.at(0);
    auto const& name = of_->parts.front();
    if (now_.adopts && of_->given)
        return adopt();
    auto const parts = [&] {
        std::vector<lock> all;
        for (std::size_t i = 0; i != of_->parts.size(); ++i)
            all.emplace_back(home_.at(i), of_->parts[i]);
        return all;
    };
    switch (of_->what) {
    case kind::plain:
        return now_.how == section::way::coroutine ? run_coroutine() : ask_for(lock{at, name});
    case kind::spin: return ask_for(spin_lock{at, name});
    case kind::fenced: return ask_for(fenced_lock{at, name});
    case kind::fair: return ask_for(fair_lock{at, name});
    case kind::multi: return ask_for(multi_lock{parts()});
    case kind::red: return ask_for(red_lock{parts()});
    case kind::permits: return ask_for(permit_semaphore{at, name});
    case kind::semaphore: return ask_semaphore();
    case kind::latch: return ask_latch();
    case kind::read_write: {
        read_write_lock const both{at, name};
        return now_.writes ? ask_for(both.write()) : ask_for(both.read());
    }
    }
}

template <class Lock>
void user::ask_for(Lock const& l)
{
    using got_type = typename Lock::hold_type;
    auto const id_of = [](got_type const& g) {
        if constexpr (std::is_same_v<got_type, permit>)
            return g.id();
        else
            return std::string{};
    };
    auto self = shared_from_this();
    auto got = cancellable([self, id_of](error_code ec, got_type g) {
        auto id = id_of(g);
        self->on_answer(ec, test::as_hold(std::move(g)), std::move(id));
    });
    auto tried = cancellable([self, id_of](error_code ec, std::optional<got_type> g) {
        auto id = g ? id_of(*g) : std::string{};
        self->on_answer(ec, g ? test::as_hold(std::move(*g)) : hold{}, std::move(id));
    });
    switch (now_.how) {
    case section::way::attempt: return l.try_acquire(options(now_.on), std::move(tried));
    case section::way::timed:
        return l.try_acquire_for(now_.limit, options(now_.on), std::move(tried));
    case section::way::coroutine:
    case section::way::wait: return l.acquire(options(now_.on), std::move(got));
    }
}

// ---- Claims ------------------------------------------------------------------------------------

bool user::may_travel() const noexcept
{
    return of_->what == kind::plain || of_->what == kind::spin || of_->what == kind::fenced;
}

// The claim stays there for the others, who must not get anything by it.
void user::adopt()
{
    is_adopted_ = true;
    auto how = options(now_.on);
    how.sync_replicas = 0;
    how.at_least = {};
    home_.at(0).adopt(
        *of_->given,
        how,
        cancellable([self = shared_from_this(), tried = *of_->given](error_code ec, hold got) {
            if (ec != error::claim_gone)
                return self->on_answer(ec, std::move(got));
            if (self->of_->given == tried)
                self->of_->given.reset();
            self->finish();
        })
    );
}

void user::give()
{
    held_.give([self = shared_from_this()](error_code ec, claim what) {
        if (ec != error::invalid_argument)  // an extension or a re-entry is under way
            self->check_error(ec);
        if (!ec)
            self->of_->given = std::move(what);
        self->finish();
    });
}

/// For the server to be asked: each part may have to connect and to bring its script, and the parts
/// of a red lock agree on a token then.
bool user::leaves_time(section const& when, object const& of) const
{
    auto const longest_round_trip = 2 * home_.around().net().now.most;
    auto const round_trips = 2 + 3 * of.parts.size();
    return when.how != section::way::timed || when.limit > round_trips * longest_round_trip;
}

void user::check_error(error_code ec, section const& when, object const& of) const
{
    if (!ec || !home_.around().is_untroubled())
        return;
    if (ec == boost::asio::error::operation_aborted && cancelled_)
        return;
    if ((ec == error::unavailable || ec == error::no_quorum) && !leaves_time(when, of))
        return;
    // A writer that has lost its lock, and reads, is refused when it enters again to write.
    if ((ec == error::lost || ec == error::would_deadlock) &&
        (when.may_end() || home_.limits_holds()))
        return;
    throw violation{
        "errors", of.name + ": an operation fails with nothing wrong: " + ec.message(), of.name};
}

void user::on_answer(error_code ec, hold got, std::string permit)
{
    check_error(ec);
    waits_since_.reset();
    held_ = std::move(got);
    permit_ = std::move(permit);
    // It may have come while the machine stood still, and be over by now.
    if (!held_)
        return finish();
    enter();
}

/// Its field at the server; of a permit its id; empty for several locks.
std::string user::field_of(hold const& h) const
{
    if (!permit_.empty())
        return permit_;
    auto const& inside = *detail::state_of(h);
    auto const* const one = dynamic_cast<ownership const*>(inside.target.get());
    return one ? inside.inside->field(one->number(), one->how().field_end) : std::string{};
}

bool user::has_profile() const noexcept
{
    return home_.around().plan().settings.durability == durability::all;
}

judge::stay user::told_by(hold const& h, int synced) const
{
    judge::stay s{
        of_,
        home_.number(),
        &home_.computer(),
        &h,
        uuids_,
        field_of(h),
        of_->what != kind::read_write || now_.writes};
    s.owner = now_.as_owner ? static_cast<std::uint64_t>(number_) + 1 : 0;
    s.synced = has_profile() ? static_cast<int>(home_.around().plan().settings.replicas.value_or(2))
                             : synced;
    s.before = mishaps_;
    s.asked = asked_;
    return s;
}

void user::enter()
{
    auto& around = home_.around();
    inside_ = around.truth().enter(told_by(held_, is_adopted_ ? 0 : now_.on.synced));
    if (may_stay_taken() && !is_adopted_)
        around.truth().reserve(**inside_, asked_, now_.on.at_least);
    around.count_section();
    ++operation_;
    for (auto const& each : now_.re_entries)
        after(each.after, [each](user& self) { self.re_enter(each); });
    for (auto const& each : now_.extensions)
        after(each.after, [each](user& self) { self.extend(each); });
    after(now_.stay, [](user& self) { self.leave(); });
}

// With the owner of its hold nobody waits, on either side of a read-write lock.
void user::re_enter(section::re_entry const& how)
{
    if (!inside_)
        return;  // it has left, and is with what it has entered before
    auto& around = home_.around();
    auto again =
        [self = shared_from_this(),
         of = operation_,
         when = now_,
         what = of_,
         asked = re_entry_asked{
             how, around.truth().mishaps_of(*of_), around.time().now()}](error_code ec, hold got) {
            // It may come in the next section.
            if (ec != error::not_replicated || (asked.how.on.synced == 0 && !self->has_profile()))
                self->check_error(ec, when, *what);
            if (self->operation_ == of && got)
                self->enter_again(std::move(got), asked);
        };
    auto const& name = of_->parts.front();
    auto const& at = home_.at(0);
    auto const on = options(how.on);
    switch (of_->what) {
    case kind::plain: return lock{at, name}.acquire(on, std::move(again));
    case kind::spin: return spin_lock{at, name}.acquire(on, std::move(again));
    case kind::fenced: return fenced_lock{at, name}.acquire(on, std::move(again));
    case kind::fair: return fair_lock{at, name}.acquire(on, std::move(again));
    case kind::read_write: {
        read_write_lock const both{at, name};
        return now_.writes && how.writes ? both.write().acquire(on, std::move(again))
                                         : both.read().acquire(on, std::move(again));
    }
    default: return;
    }
}

void user::enter_again(hold got, re_entry_asked const& asked)
{
    auto& truth = home_.around().truth();
    auto& made = again_.emplace_back(inner{std::move(got), {}});
    auto s = told_by(made.held, asked.how.on.synced);
    s.writes = s.writes && (of_->what != kind::read_write || asked.how.writes);
    s.before = asked.before;
    s.asked = asked.at;
    made.at = truth.enter(std::move(s));
    if (may_stay_taken())
        truth.reserve(*made.at, asked.at, asked.how.on.at_least);
}

void user::extend(section::extension const& how)
{
    bool const is_there = how.of == 0 ? inside_.has_value() : how.of <= again_.size();
    if (!is_there)
        return;
    auto& which = how.of == 0
        ? held_
        : std::next(again_.begin(), static_cast<std::ptrdiff_t>(how.of) - 1)->held;
    which.extend(how.lease, [self = shared_from_this(), when = now_, what = of_](error_code ec) {
        if (ec != error::not_held && ec != error::invalid_argument)
            self->check_error(ec, when, *what);  // as above
    });
}

void user::leave()
{
    bool const stands = static_cast<bool>(held_);
    auto& truth = home_.around().truth();
    auto const left = truth.leave(*inside_, stands ? "leaves" : "has lost");
    inside_.reset();
    if (now_.stays_inside && !again_.empty()) {
        auto outer = std::exchange(held_, {});
        if (stands && !now_.drops)
            outer.release(checked());
        return after(*now_.stays_inside, [](user& self) {
            self.leave_inner();
            self.finish();
        });
    }
    leave_inner();
    if (now_.drops || !stands)
        return finish();
    if (now_.gives && may_travel())
        return give();
    held_.release([self = shared_from_this(), &truth, left](error_code ec) {
        truth.released(left, ec);
        self->check_error(ec);
        self->finish();
    });
}

void user::leave_inner()
{
    ++operation_;
    for (auto& each : again_) {
        bool const stands = static_cast<bool>(each.held);
        home_.around().truth().leave(each.at, stands ? "leaves again" : "has lost again");
        if (stands && !now_.drops)
            each.held.release(checked());
    }
    again_.clear();
}

void user::finish()
{
    waits_since_.reset();
    held_ = hold{};
    go_on();
}

// ---- Counters ----------------------------------------------------------------------------------

void user::ask_semaphore()
{
    semaphore const s{home_.at(0), of_->name};
    auto const n = std::min<std::int64_t>(now_.permits, of_->permits);
    auto const taken = [self = shared_from_this(), n](error_code ec, bool got) {
        self->check_error(ec);
        self->waits_since_.reset();
        if (ec || !got)
            return self->finish();
        auto& around = self->home_.around();
        auto const number =
            around.truth().take_permits(*self->of_, self->home_.number(), n, self->asked_);
        around.count_section();
        ++self->operation_;
        self->after(self->now_.stay, [n, number](user& u) {
            auto& truth = u.home_.around().truth();
            truth.give_permits(*u.of_, u.home_.number(), n, number);
            semaphore const back{u.home_.at(0), u.of_->name};
            back.release(n, [again = u.shared_from_this(), &truth, number](error_code e) {
                truth.released(number, e);
                again->check_error(e);
                if (e)
                    again->of_->is_doubtful = true;
                again->finish();
            });
        });
    };
    // What a process had that died does not come back, and who waits for it would wait for ever.
    bool const may_dwindle = !home_.around().plan().faults.empty();
    bool const has_limit = now_.how == section::way::attempt || now_.how == section::way::timed;
    if (may_dwindle && !has_limit)
        now_.how = section::way::timed;
    switch (now_.how) {
    case section::way::attempt: return s.try_acquire(n, cancellable(taken));
    case section::way::timed: return s.try_acquire_for(now_.limit, n, cancellable(taken));
    default: return s.acquire(n, cancellable([taken](error_code ec) { taken(ec, !ec); }));
    }
}

// A latch of its own: it opens when all have counted, and not before.
void user::ask_latch()
{
    waits_since_.reset();
    counts_left_ = 1 + static_cast<int>(now_.permits);
    auto const name = of_->name + ":" + std::to_string(number_) + ":" + std::to_string(next_);
    countdown_latch const l{home_.at(0), name};
    auto const fails = [self = shared_from_this()](error_code ec) {
        self->check_error(ec);
        return static_cast<bool>(ec);
    };
    l.try_set_count(counts_left_, [=, self = shared_from_this()](error_code ec, bool made) {
        if (fails(ec) || !made)
            return self->finish();
        self->waits_since_ = self->home_.around().time().now();
        auto const opened = self->cancellable([self, fails](error_code failed, bool is_open) {
            self->waits_since_.reset();
            bool const has_gone = std::ranges::any_of(self->of_->at, [](auto const* at) {
                return at->losses.any != 0;
            });
            if (!fails(failed) && is_open && self->counts_left_ != 0 && !has_gone)
                throw violation{"latches", self->of_->name + " opened early", self->of_->name};
            self->counts_left_ = -1;
            self->home_.around().count_section();
            self->finish();
        });
        // A count that a server has lost leaves the latch closed.
        if (self->home_.around().is_untroubled())
            l.wait(self->cancellable([o = opened.get()](error_code ended) mutable {
                o(ended, !ended);
            }));
        else
            l.wait_for(self->home_.around().plan().longest_wait / 2, opened);
        // By its name: what waits for its time must not keep a client longer than its process.
        for (int i = self->counts_left_; i != 0; --i)
            self->after(self->now_.stay * i / 4, [name](user& u) {
                --u.counts_left_;
                countdown_latch{u.home_.at(0), name}.count_down([counts = u.shared_from_this()](
                                                                    error_code failed
                                                                ) { counts->check_error(failed); });
            });
    });
}

}  // namespace colock::simulation
