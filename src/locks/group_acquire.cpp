#include "core/keyed_state.hpp"
#include "decide/courtesy.hpp"
#include "decide/presence.hpp"
#include "decide/validity.hpp"
#include "decide/wait_plan.hpp"
#include "locks/group_acquire.hpp"
#include "locks/group_hold.hpp"
#include "locks/quorum_steps.hpp"
#include <colock/printable.hpp>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

namespace colock {

namespace {

/// After giving everything back, the next try comes after the first of these pauses plus a random
/// part of the second.
constexpr milliseconds shortest_round_pause{50};
constexpr milliseconds more_round_pause{100};

/// Those that give way to this one have answered by then.
constexpr milliseconds shortest_wait_to_ask_again{1};

/// While servers do not vote yet.
constexpr milliseconds longest_round_pause{1'000};

/// The wait for each part, up to twice as long at random.
constexpr milliseconds first_round_limit{1'500};

}  // namespace

/// The entry in the client: it ends the acquire when the client closes, and while it exists the
/// client is not closed.
class group_acquire::registry_entry final : public keyed_state {
public:
    registry_entry(core& inside, std::weak_ptr<operation> of, std::string name, owner who)
        : keyed_state{inside, state_kind::group}
        , of_{std::move(of)}
        , asked_name_{std::move(name)}
        , who_{who}
        , activity_{inside}
    {}

    /// Each of its parts waits only until a round is over, if at all.
    void tell(presence& to) const override
    {
        if (to.is_old_enough(begun_))
            to.waits(word_of(kind()), asked_name_, who_, begun_);
    }

    void end_waiters(failure why) override
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
    std::string asked_name_;
    owner who_;
    time_point begun_ = clock::now();
    core::activity activity_;
};

group_acquire::group_acquire(core_ptr inside, lock_group of, acquire_options options)
    : inside_{std::move(inside)}
    , of_{std::move(of)}
    , options_{options}
    , parts_{*this, *inside_, of_, options_}
    , round_limit_{first_round_limit * static_cast<int>(of_.parts.size())}
{
    // One owner for all: a lock may be among them twice.
    if (!options_.as)
        options_.as = owner{};
}

void group_acquire::start()
{
    // One server of a majority can be spared, also the first one: its own request has the error.
    auto const ec = inside_->enter();
    if (ec && (!of_.by_majority || ec == error::closed))
        return fail(ec);
    if (ended_)
        return fail(ended_);
    if (wait) {
        answer_by_ = clock::now() + *wait;
        deadline_ =
            answer_by_ - std::min<clock::duration>(2 * inside_->round_trip().usual(), *wait / 10);
    }
    known_as_ =
        std::make_shared<registry_entry>(*inside_, weak_from_this(), of_.name, *options_.as);
    inside_->keyed_states().add(known_as_);
    if (takes_free)
        acquire_free();
    else
        of_.by_majority ? acquire_most() : acquire_all();
}

void group_acquire::cancel() { stop(asio::error::operation_aborted); }

void group_acquire::stop(failure why)
{
    if (!ended_)
        ended_ = why;
    parts_.cancel_unanswered();
    pause_.finish();
}

// All are asked at once. If some refused, they are taken one after the other, in an order that all
// keep: so no caller waits for a lock while it holds a later one. Where that isn't enough, because
// others keep another order, the round ends at its limit: everything is given back, and it begins
// again.
strand_task group_acquire::acquire_all()
{
    // Keeps this alive during a pause; during a request the parts do.
    std::shared_ptr<operation> life;
    do {
        parts_.ask_all(deadline_, in_a_turn());
        life.reset();
        co_await parts_.over;
        bool const in_turn = !parts_.has_all() && !why_end();
        if (in_turn) {
            auto const all = in_order();
            parts_.give_back_from_first_refused(all);
            auto until = never;
            for (auto const i : all) {
                if (!parts_.has(i)) {
                    parts_.wait_for(i, std::min(deadline_, until));
                    co_await parts_.over;
                    if (!parts_.has(i) || parts_.has_lost() || ended_)
                        break;
                }
                parts_.watch(i);
                until = until == never ? clock::now() + next_round_limit() : until;
            }
        }
        if (parts_.has_all() && !ended_ && ((in_turn && options_.lease) || !parts_.has_enough())) {
            parts_.set_leases(deadline_);
            co_await parts_.over;
        }
        parts_.clear_limit();
        if (parts_.has_enough() && !ended_)
            co_return grant();
        life = shared_from_this();
        if (why_end())
            break;
        parts_.give_back_all();
        inside_->rest(pause_, pause_before_next());
        co_await pause_.over;
    } while (!why_end());
    give_up(*why_end(), std::move(life));
}

// All are asked at once, and most of them are enough. Where somebody else has a part, the first
// such part decides: an acquire that has one before it asks for the rest once more, because the
// others are about to give way; one that has none gives everything back, and waits for that part as
// one waits for any lock. One that has most of them but not the first also gives way, once and for
// a moment: the first may be that of a client that was told, and asks for the rest.
strand_task group_acquire::acquire_most()
{
    auto order = in_order();
    bool is_second_try = false;
    std::shared_ptr<operation> life;
    do {
        if (!parts_.has_all()) {
            parts_.ask_missing(std::min(deadline_, clock::now() + server_limit()));
            life.reset();
            co_await parts_.over;
        }
        auto const refused = parts_.first_refused(order);
        bool const is_refused = refused != order.end();
        bool const is_behind = is_refused && !parts_.has_any_of({order.begin(), refused});
        bool const has_enough = parts_.has_enough();
        bool const gives_way = is_behind && has_enough && !is_second_try && may_give_way();
        auto const agreed_by = std::min(deadline_, clock::now() + server_limit());
        while (!gives_way && parts_.has_enough() && !parts_.has_agreed() && !ended_ &&
               clock::now() < agreed_by) {
            if (auto const behind = parts_.behind(); behind != milliseconds{0}) {
                life = shared_from_this();
                inside_->rest(pause_, behind);
                co_await pause_.over;
            }
            if (ended_ || !parts_.agree(agreed_by))
                break;
            life.reset();
            co_await parts_.over;
        }
        parts_.clear_limit();
        if (!gives_way && parts_.has_enough() && parts_.has_agreed() && !ended_)
            co_return grant();
        life = shared_from_this();
        if (why_end())
            break;
        bool const keeps = is_refused && !is_behind && !has_enough && !is_second_try;
        is_second_try = keeps || gives_way;
        if (!keeps)
            parts_.give_back_all();
        auto pause = keeps ? before_asking_again() : gives_way ? to_give_way() : milliseconds{0};
        if (!is_second_try && is_refused && !has_enough) {
            auto const until = std::min(deadline_, clock::now() + longest_wait_for_one());
            parts_.wait_for(*refused, until);
            life.reset();
            co_await parts_.over;
            life = shared_from_this();
            bool const is_in_vain = !parts_.has(*refused);
            if (is_in_vain)  // its owner may not be the owner of the whole
                std::rotate(refused, refused + 1, order.end());
            if (why_end() || !is_in_vain || clock::now() >= until)
                continue;
        }
        if (!is_second_try)
            pause = pause_before_next();
        inside_->rest(pause_, pause);
        co_await pause_.over;
    } while (!why_end());
    give_up(*why_end(), std::move(life));
}

strand_task group_acquire::acquire_free()
{
    parts_.ask_all(never, in_a_turn());
    co_await parts_.over;
    if (parts_.has_stale() && !ended_) {
        parts_.set_leases(never);
        co_await parts_.over;
    }
    if (!ended_ && parts_.has_failed(false))
        give_up(parts_.first_error(), shared_from_this());
    else if (ended_ || parts_.has_stale())
        give_up(error::lost, shared_from_this());
    else
        grant();
}

// Gives everything back before it reports the failure, because somebody may try at once then. But
// not if the caller wants an answer now.
strand_task group_acquire::give_up(failure why, std::shared_ptr<operation> life)
{
    if (why == error::no_quorum)
        if (auto const votes = say_who_waits_to_vote(); !votes.empty())
            why = {why, votes};
    if (ended_ || inside_->is_stopped()) {
        parts_.give_back_all();
    } else {
        auto const most = of_.by_majority ? server_limit() : inside_->settings().timeout;
        if (parts_.release_all(std::min(answer_by_, clock::now() + most))) {
            life.reset();  // the requests keep it
            co_await parts_.over;
        }
        parts_.clear_limit();
    }
    fail(ended_ ? ended_ : why);
}

// First by name; the rest decides between equal names. The write side comes before the read side,
// because a writer may also read, but a reader must not write. And one server may have several
// names.
std::vector<std::size_t> group_acquire::in_order() const
{
    std::vector<std::size_t> all(of_.parts.size());
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

std::optional<failure> group_acquire::why_end() const noexcept
{
    if (ended_)
        return ended_;
    if (inside_->is_stopped())
        return error::closed;
    if (parts_.has_failed(true))
        return parts_.first_error();
    if (once && parts_.has_failed(false))
        return of_.by_majority ? failure{error::no_quorum} : parts_.first_error();
    if (once || clock::now() >= deadline_)
        return parts_.why_unserved();
    return {};
}

// ---- Times -------------------------------------------------------------------------------------

milliseconds group_acquire::server_limit() const noexcept
{
    if (of_.server_limit)
        return *of_.server_limit;
    auto shortest = parts_.lease_of(0);
    for (std::size_t i = 1; i != of_.parts.size(); ++i)
        shortest = std::min(shortest, parts_.lease_of(i));
    return std::clamp(shortest / 20, milliseconds{20}, milliseconds{1'000});
}

// Longer each time, because otherwise a longer queue would keep it out for ever.
clock::duration group_acquire::next_round_limit() noexcept
{
    auto const now = round_limit_ * (1 + inside_->jitter());
    round_limit_ = std::min(round_limit_ * 2, decide::longest_lease);
    return std::chrono::duration_cast<clock::duration>(now);
}

// Its server may stand still, while the others do not. At random, because all who wait for it would
// ask the others at the same time.
milliseconds group_acquire::longest_wait_for_one() const noexcept
{
    auto const cap = std::min<milliseconds>(inside_->settings().poll_cap, decide::longest_unkept);
    return cap + std::chrono::ceil<milliseconds>(cap * inside_->jitter());
}

milliseconds group_acquire::to_give_way() const
{
    return std::chrono::ceil<milliseconds>(decide::courtesy::pause(parts_.round_trip_of_refused()));
}

bool group_acquire::may_give_way() const
{
    return !once && clock::now() + 2 * to_give_way() < deadline_;
}

milliseconds group_acquire::before_asking_again() const
{
    auto const round_trip = std::chrono::ceil<milliseconds>(parts_.round_trip_of_refused());
    return within_deadline(std::max(round_trip, shortest_wait_to_ask_again));
}

milliseconds group_acquire::pause_before_next()
{
    auto pause = shortest_round_pause +
        std::chrono::ceil<milliseconds>(more_round_pause * inside_->jitter());
    if (auto const vote = parts_.next_vote().at; vote != never) {
        say_who_waits_to_vote();
        auto const left = std::chrono::ceil<milliseconds>(vote - clock::now());
        pause = std::clamp(left, pause, longest_round_pause);
    }
    return within_deadline(pause);
}

milliseconds group_acquire::within_deadline(milliseconds pause) const noexcept
{
    if (deadline_ == never)
        return pause;
    auto const left = std::chrono::ceil<milliseconds>(deadline_ - clock::now());
    return std::clamp(left, milliseconds{0}, pause);
}

std::string group_acquire::say_who_waits_to_vote()
{
    auto const next = parts_.next_vote();
    if (next.at == never)
        return {};
    auto const left = std::chrono::ceil<std::chrono::seconds>(next.at - clock::now());
    auto why = place_of(of_.parts[next.part]) + " has started a short time ago and votes in " +
        std::to_string(left.count()) +
        " s. Remedy: wait until servers that have restarted may vote; or, if it loses nothing in a "
        "restart, config::vote_after = 0";
    inside_->log(log_level::warning, {.about = "votes", .cause = of_.name}, [&] {
        return "lock '" + printable(of_.name) + "': " + why;
    });
    return why;
}

// ---- The end -----------------------------------------------------------------------------------

void group_acquire::grant()
{
    if (auto* const many = std::get_if<completion<held_locks>>(&done)) {
        auto holds = held_locks{parts_.take_all()};
        known_as_->over();
        return (*many)({}, std::move(holds));
    }
    auto const known = parts_.known();
    auto const token = parts_.agreed_token();
    auto whole = make_group_hold(inside_, of_, parts_.take_all(), known, token, options_);
    known_as_->over();
    auto const give = [&](auto& c) {
        if constexpr (!std::is_same_v<decltype(c), completion<held_locks>&>)
            c(failure{}, detail::hold_access::make<group_hold>(std::move(whole)));
    };
    std::visit(give, done);
}

void group_acquire::fail(failure ec)
{
    if (known_as_)
        known_as_->over();
    std::visit([&](auto& c) { c(ec, {}); }, done);
}

}  // namespace colock
