#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/validity.hpp"
#include "locks/group_acquire.hpp"
#include "locks/group_hold.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

namespace colock {

namespace {

using operations = detail::lock_operations<lock_id>;

/// After giving everything back, the next try comes after the first of these pauses plus a random
/// part of the second.
constexpr milliseconds shortest_pause{50};
constexpr milliseconds more_pause{100};

/// The wait for each part, up to twice as long at random.
constexpr milliseconds first_round_limit{1'500};

/// Whether asking again does not help. It may help if a connection is down, or after our own
/// cancellation.
bool is_final(error_code ec) noexcept
{
    return ec.category() == error_category() && ec != error::unavailable &&
        ec != error::not_replicated;
}

bool is_any(error_code ec) noexcept { return bool{ec}; }

}  // namespace

/// The entry in the client: it ends the acquire when the client closes, and while it exists the
/// client is not closed.
class group_acquire::registration final : public keyed_state {
public:
    registration(core& inside, std::weak_ptr<operation> of)
        : keyed_state{inside, state_kind::group, std::to_string(inside.next_number()), 0}
        , of_{std::move(of)}
        , activity_{inside}
    {}

    void end_waiters(error_code why) override
    {
        if (auto const whose = std::static_pointer_cast<group_acquire>(of_.lock()))
            whose->stop(why);
    }
    void over() noexcept
    {
        activity_.finish();
        unregister();
    }

private:
    std::weak_ptr<operation> of_;
    core::activity activity_;
};

group_acquire::group_acquire(core_ptr inside, lock_group of, acquire_options options)
    : inside_{std::move(inside)}
    , of_{std::move(of)}
    , options_{options}
    , requests_{std::make_unique<request[]>(of_.parts.size())}
    , round_limit_{first_round_limit * static_cast<int>(of_.parts.size())}
    , limit_{[this] { cancel_unanswered(); }}
{
    // One owner for all: a lock may be among them twice.
    if (!options_.as)
        options_.as = owner{};
}

void group_acquire::start()
{
    if (auto const ec = inside_->enter())
        return fail(ec);
    if (ended_)
        return fail(ended_);
    if (wait) {
        answer_by_ = clock::now() + *wait;
        deadline_ =
            answer_by_ - std::min<clock::duration>(2 * inside_->round_trip().usual(), *wait / 10);
    }
    registration_ = std::make_shared<registration>(*inside_, weak_from_this());
    inside_->keyed_states().add(registration_);
    acquire_all();
}

void group_acquire::cancel() { stop(asio::error::operation_aborted); }

void group_acquire::stop(error_code why)
{
    if (!ended_)
        ended_ = why;
    cancel_unanswered();
    if (pause_.is_linked()) {
        pause_.unlink();
        pause_.alarm.clear();
        pause_.over.set(true);
    }
}

// All are asked at once. If all are needed and some refused, they are taken one after the other, in
// an order that all keep: so no caller waits for a lock while it holds a later one. Where
// that isn't enough, because others keep another order, the round ends at its limit: everything is
// given back, and it begins again.
strand_task group_acquire::acquire_all()
{
    // Keeps this alive during a pause; during a request the parts do.
    std::shared_ptr<operation> life;
    do {
        ask_all();
        life.reset();
        co_await round_over_;
        bool const in_turn = !of_.by_majority && !has_all() && !why_end();
        if (in_turn) {
            auto const all = in_order();
            give_back_from_first_refused(all);
            auto until = never;
            for (auto const i : all) {
                if (!requests_[i].got) {
                    ask_in_turn(i, until);
                    co_await round_over_;
                }
                if (!requests_[i].got || ended_)
                    break;
                watch(i);
                if (until == never)
                    until = clock::now() + next_round_limit();
            }
        }
        bool const is_lease_due = in_turn && options_.lease;
        if (!of_.by_majority && has_all() && !ended_ && (is_lease_due || !has_enough())) {
            set_leases();
            co_await round_over_;
        }
        limit_.clear();
        if (has_enough() && !ended_)
            co_return grant();
        if (why_end())
            break;
        give_back();
        life = shared_from_this();
        inside_->rest(pause_, pause_before_next());
        co_await pause_.over;
    } while (!why_end());
    auto const why = *why_end();
    give_back_and_hear();
    if (unanswered_ != 0) {
        life.reset();
        co_await round_over_;
    }
    limit_.clear();
    fail(ended_ ? ended_ : why);
}

// First by name; the rest decides between equal names. The write side comes before the read side,
// because a writer may also read, but a reader must not write. And one server may have several
// names.
group_acquire::order group_acquire::in_order() const
{
    order all(of_.parts.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    auto const sort_key = [this](std::size_t i) {
        auto const& [where, id] = of_.parts[i];
        auto const& settings = where->settings();
        auto const at = settings.addresses.empty() ? address{} : settings.addresses.front();
        auto const write_before_read = -static_cast<int>(id.kind);
        return std::tuple{
            where->key_of(id.name),
            write_before_read,
            at.host,
            at.port,
            at.unix_socket,
            settings.database};
    };
    std::ranges::stable_sort(all, {}, sort_key);
    return all;
}

// ---- Requests to the parts --------------------------------------------------------------------

/// The handler of a part's answer.
struct group_acquire::reply {
    std::shared_ptr<group_acquire> to;
    std::size_t i;

    void operator()(error_code ec, hold got) const
    {
        to->requests_[i].got = std::move(got);
        to->on_answer(i, ec);
    }
    void operator()(error_code ec, std::optional<hold> got) const
    {
        (*this)(ec, got ? std::move(*got) : hold{});
    }
    /// The answer to a new lease. A lost part can be taken again.
    void operator()(error_code ec) const
    {
        to->on_answer(i, ec == error::lost ? error_code{} : ec);
    }
};

auto group_acquire::expect(std::size_t i)
{
    auto& r = requests_[i];
    r.answered = false;
    r.ec = {};
    ++unanswered_;
    return asio::bind_executor(
        inside_->strand(),
        asio::bind_cancellation_slot(
            r.signal.slot(), reply{std::static_pointer_cast<group_acquire>(shared_from_this()), i}
        )
    );
}

void group_acquire::ask_all()
{
    set_limit(of_.by_majority ? std::min(deadline_, clock::now() + server_limit()) : deadline_);
    for (std::size_t i = 0; i != of_.parts.size(); ++i) {
        auto const& [where, id] = of_.parts[i];
        operations::try_acquire_for(where, expect(i), id, milliseconds{0}, options_);
    }
}

// The parts are renewed until it has all, because nobody knows how long that takes.
void group_acquire::ask_in_turn(std::size_t i, time_point until)
{
    set_limit(std::min(deadline_, until));
    auto const& [where, id] = of_.parts[i];
    operations::acquire(
        where,
        expect(i),
        id,
        {.lease = {}, .as = options_.as, .sync_replicas = options_.sync_replicas}
    );
}

// Sets the leases of all parts again, because the first parts have waited for the last.
void group_acquire::set_leases()
{
    set_limit(deadline_);
    for (std::size_t i = 0; i != of_.parts.size(); ++i) {
        auto& part = requests_[i].got;
        if (!is_renewed())
            asio::dispatch(of_.parts[i].where->strand(), [state = detail::state_of(part)] {
                state->renewed = false;
            });
        part.extend(lease_of(i), expect(i));
    }
}

void group_acquire::on_answer(std::size_t i, error_code ec)
{
    requests_[i].answered = true;
    requests_[i].ec = ec;
    if (--unanswered_ == 0)
        round_over_.set(true);
}

// A part may be lost during the wait for others: then waiting does not help.
void group_acquire::watch(std::size_t i)
{
    requests_[i].got.lost(asio::bind_executor(
        inside_->strand(),
        [weak = weak_from_this(), i](error_code ec) {
            auto const self = std::static_pointer_cast<group_acquire>(weak.lock());
            if (!self || ec == asio::error::operation_aborted)
                return;
            self->requests_[i].ec = ec;
            self->cancel_unanswered();
        }
    ));
}

void group_acquire::set_limit(time_point at) { inside_->set_alarm(limit_, at); }

void group_acquire::cancel_unanswered()
{
    for (auto& r : requests())
        if (!r.answered)
            r.signal.emit(asio::cancellation_type::terminal);
}

// Renewed parts before the first refused one may stay.
void group_acquire::give_back_from_first_refused(order const& all)
{
    bool stays = !options_.lease;
    for (auto const i : all) {
        auto& part = requests_[i].got;
        stays = stays && part;
        if (!stays)
            give_back(part);
    }
}

void group_acquire::give_back()
{
    for (auto& r : requests())
        give_back(r.got);
}

// Gives everything back before it reports the failure, because somebody may try at once then. But
// not if the caller wants an answer now.
void group_acquire::give_back_and_hear()
{
    if (ended_ || inside_->is_stopped())
        return give_back();
    auto const most = of_.by_majority ? server_limit() : inside_->settings().timeout;
    set_limit(std::min(answer_by_, clock::now() + most));
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        if (auto part = std::exchange(requests_[i].got, {}))
            part.release(expect(i));
}

// Releases at once, because the next request must not re-enter a hold that is given up. Nobody
// waits for the answer; without one the lease ends.
void group_acquire::give_back(hold& part)
{
    if (part)
        part.release([](error_code) {});
    part = {};
}

// ---- The outcome ---------------------------------------------------------------------------

bool group_acquire::has_all() const noexcept
{
    return std::ranges::all_of(requests(), [](request const& r) { return bool{r.got}; });
}

bool group_acquire::has_enough() const noexcept
{
    auto const fresh = std::ranges::count_if(
        std::views::iota(std::size_t{0}, of_.parts.size()),
        [this](std::size_t i) { return !requests_[i].ec && is_fresh(i); }
    );
    return static_cast<std::size_t>(fresh) >= of_.needed();
}

// At least half of the validity must be left, as for a single lock.
bool group_acquire::is_fresh(std::size_t i) const noexcept
{
    auto const lease = lease_of(i);
    auto const& part = requests_[i].got;
    return part && part.valid_for((lease - decide::drift(lease)) / 2);
}

/// Empty: go on. No error: somebody else has it.
std::optional<error_code> group_acquire::why_end() const noexcept
{
    auto const spare = of_.parts.size() - of_.needed();
    if (ended_)
        return ended_;
    if (inside_->is_stopped())
        return error::closed;
    if (count(&is_final) > spare)
        return first_error();
    if (once && count(&is_any) > spare)
        return of_.by_majority ? error_code{error::no_quorum} : first_error();
    if (once || clock::now() >= deadline_)
        return error_code{};
    return {};
}

std::size_t group_acquire::count(bool (*is_such)(error_code) noexcept) const noexcept
{
    return static_cast<std::size_t>(
        std::ranges::count_if(requests(), is_such, [](request const& r) { return r.ec; })
    );
}

// A final error, if there is any.
error_code group_acquire::first_error() const noexcept
{
    auto const of = [](request const& r) { return r.ec; };
    auto at = std::ranges::find_if(requests(), &is_final, of);
    if (at == requests().end())
        at = std::ranges::find_if(requests(), &is_any, of);
    return at->ec;
}

// ---- Times -------------------------------------------------------------------------------------

milliseconds group_acquire::lease_of(std::size_t i) const noexcept
{
    return options_.lease.value_or(of_.parts[i].where->settings().lease);
}

milliseconds group_acquire::server_limit() const noexcept
{
    if (of_.server_limit)
        return *of_.server_limit;
    auto shortest = lease_of(0);
    for (std::size_t i = 1; i != of_.parts.size(); ++i)
        shortest = std::min(shortest, lease_of(i));
    return std::clamp(shortest / 20, milliseconds{20}, milliseconds{1'000});
}

// Longer each time, because otherwise a longer queue would keep it out for ever.
clock::duration group_acquire::next_round_limit() noexcept
{
    auto const now = round_limit_ * (1 + inside_->jitter());
    round_limit_ = std::min(round_limit_ * 2, decide::longest_lease);
    return std::chrono::duration_cast<clock::duration>(now);
}

milliseconds group_acquire::pause_before_next()
{
    auto const pause =
        shortest_pause + std::chrono::ceil<milliseconds>(more_pause * inside_->jitter());
    if (deadline_ == never)
        return pause;
    return std::min(pause, std::chrono::ceil<milliseconds>(deadline_ - clock::now()));
}

// ---- The end -----------------------------------------------------------------------------------

void group_acquire::grant()
{
    std::vector<hold> parts;
    for (auto& r : requests())
        parts.push_back(std::move(r.got));
    auto const all =
        std::make_shared<group_hold>(*inside_, of_.name, std::move(parts), of_.needed());
    auto whole = all->begin(inside_, *options_.as, lease_of(0), is_renewed());
    registration_->over();
    std::visit([&](auto& c) { c(error_code{}, detail::make_hold(std::move(whole))); }, done);
}

void group_acquire::fail(error_code ec)
{
    if (registration_)
        registration_->over();
    std::visit([&](auto& c) { c(ec, {}); }, done);
}

}  // namespace colock
