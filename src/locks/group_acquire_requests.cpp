#include "core/in_portions.hpp"
#include "core/with_words.hpp"
#include "decide/validity.hpp"
#include "holds/hold_state.hpp"
#include "locks/group_acquire.hpp"
#include "locks/quorum_steps.hpp"
#include "redis/link_settings.hpp"
#include <colock/printable.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace colock {

namespace {

using operations = detail::lock_operations<detail::lock_id>;

/// Whether asking again does not help. It may help if a connection is down, after our own
/// cancellation, if a lock that is named twice was lost while the group asked for it again, and if
/// a server does not vote yet.
bool is_final(error_code const& ec) noexcept
{
    return ec.category() == error_category() && ec != error::unavailable &&
        ec != error::not_replicated && ec != error::lost && ec != error::no_quorum;
}

bool is_any(error_code const& ec) noexcept { return bool{ec}; }

// Releases at once, because the next request must not re-enter a hold that is given up. Nobody
// waits for the answer; without one the lease ends.
void give_back(hold& part)
{
    if (part)
        part.release([](failure) {});
    part = {};
}

}  // namespace

group_acquire::requests::requests(
    operation& of, core& inside, lock_group const& group, acquire_options const& options
)
    : acquire_{of}
    , core_{inside}
    , of_{group}
    , options_{options}
    , requests_{std::make_unique<request[]>(group.parts.size())}
    , has_tokens_{std::ranges::all_of(group.parts, &follows_clock)}
    , limit_{[this] { cancel_unanswered(); }}
{}

// ---- Rounds ------------------------------------------------------------------------------------

/// The handler of a part's answer.
struct group_acquire::requests::reply {
    std::shared_ptr<operation> life;
    requests& to;
    std::size_t i;

    void operator()(failure ec, hold got) const
    {
        auto& r = to.requests_[i];
        r.known = {.drawn = got.fencing_token(), .reached = got.fencing_token()};
        r.got = std::move(got);
        to.on_answer(i, ec);
    }
    void operator()(failure ec, decide::raise_answer const& answer) const
    {
        if (!ec)
            to.on_raised(i, answer);
        to.on_answer(i, ec ? ec : to.requests_[i].ec);
    }
    void operator()(failure ec, if_acquired<hold> got) const
    {
        to.requests_[i].is_refused = !ec && !got;
        to.is_taken_ = to.is_taken_ || (!ec && !got);
        (*this)(ec, got ? std::move(*got) : hold{});
    }
    /// The answer to a new lease. A lost part can be taken again. A part is released already if its
    /// client has closed.
    void operator()(failure ec) const
    {
        if (ec == error::lost)
            ec = {};
        else if (ec == error::not_held)
            ec = error::closed;
        to.on_answer(i, ec);
    }
};

auto group_acquire::requests::expect(std::size_t i)
{
    auto& r = requests_[i];
    r.answered = false;
    r.is_refused = false;
    r.ec = {};
    ++unanswered_;
    return with_words(
        core_.strand(),
        asio::bind_cancellation_slot(r.signal.slot(), reply{acquire_.shared_from_this(), *this, i})
    );
}

void group_acquire::requests::on_answer(std::size_t i, failure ec)
{
    requests_[i].answered = true;
    requests_[i].ec = ec;
    if (--unanswered_ == 0)
        over.set(true);
    else if (asks_ && has_most_answers())
        core_.set_alarm(
            limit_, asks_->most_have_answered(clock::now(), usual_round_trip([](request const& r) {
                                                  return !r.answered;
                                              }))
        );
}

void group_acquire::requests::ask(
    time_point until, std::size_t in_a_turn, bool (*which)(request const&)
)
{
    has_lost_ = false;
    if (of_.by_majority)
        asks_.emplace(clock::now(), until);
    behind_ = {};
    core_.set_alarm(limit_, until);
    for (auto& r : all())
        r.to_ask = which(r);
    ++unanswered_;  // until all are asked
    auto const ask_one = [this, life = acquire_.shared_from_this()](std::size_t i) {
        auto const& [where, id] = of_.parts[i];
        if (std::exchange(requests_[i].to_ask, false))
            operations::try_acquire_for(where, expect(i), id, milliseconds{0}, options_);
    };
    in_portions(core_.strand(), of_.parts.size(), in_a_turn, ask_one, [this] {
        if (--unanswered_ == 0)
            over.set(true);
    });
}

// If all are needed, the parts are renewed until it has all, because nobody knows how long that
// takes.
void group_acquire::requests::wait_for(std::size_t i, time_point until)
{
    limit_.clear();
    asks_.reset();
    auto const& [where, id] = of_.parts[i];
    auto options = options_;
    if (!of_.by_majority) {
        options = {.as = options_.as};
        options.sync_replicas = options_.sync_replicas;
        options.durability = options_.durability;
    }
    // Its own limit says whether somebody else has it.
    auto const left = std::chrono::ceil<milliseconds>(until - clock::now());
    if (until == never)
        operations::acquire(where, expect(i), id, options);
    else
        operations::try_acquire_for(where, expect(i), id, std::max(left, milliseconds{1}), options);
}

void group_acquire::requests::set_leases(time_point until)
{
    core_.set_alarm(limit_, until);
    asks_.reset();
    bool const renewed = !options_.lease || options_.renew;
    for (std::size_t i = 0; i != of_.parts.size(); ++i) {
        auto& part = requests_[i].got;
        if (!detail::state_of(part))
            continue;
        if (!renewed)
            asio::dispatch(of_.parts[i].where->strand(), [state = detail::state_of(part)] {
                state->renewed = false;
            });
        part.extend(lease_of(i), expect(i));
    }
}

bool group_acquire::requests::release_all(time_point until)
{
    core_.set_alarm(limit_, until);
    asks_.reset();
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        if (auto part = std::exchange(requests_[i].got, {}))
            part.release(expect(i));
    return unanswered_ != 0;
}

void group_acquire::requests::cancel_unanswered()
{
    for (auto& r : all())
        if (std::exchange(r.to_ask, false)) {
            r.ec = asio::error::operation_aborted;
            r.is_refused = false;
        } else if (!r.answered)
            r.signal.emit(asio::cancellation_type::terminal);
}

// ---- Agreement ---------------------------------------------------------------------------------

bool group_acquire::requests::has_agreed()
{
    if (!of_.by_majority)
        return true;
    token_ = token();
    std::size_t agreed = 0;
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        agreed += is_good(i) && requests_[i].known.agrees(token_, clock::now());
    return agreed >= of_.needed();
}

// Of the parts that are good now.
std::uint64_t group_acquire::requests::token() const
{
    if (!has_tokens_)
        return 0;
    std::vector<std::uint64_t> drawn;
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        if (is_good(i))
            drawn.push_back(requests_[i].known.drawn);
    return decide::common_token(std::move(drawn), of_.needed()).value_or(0);
}

bool group_acquire::requests::agree(time_point until)
{
    core_.set_alarm(limit_, until);
    asks_.reset();
    behind_ = {};
    agreed_by_ = until;
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        if (auto const& r = requests_[i]; is_good(i) && !r.known.agrees(token_, clock::now()))
            raise_token(of_.parts[i], r.got, token_, expect(i));
    return unanswered_ != 0;
}

// A server that does not vote yet, or whose clock is too far behind, counts as one that fails.
void group_acquire::requests::on_raised(std::size_t i, decide::raise_answer const& answer)
{
    auto& r = requests_[i];
    auto const behind = std::chrono::ceil<milliseconds>(answer.behind);
    if (answer.received + behind > agreed_by_) {
        r.ec = error::no_quorum;
        if (behind != milliseconds{0})
            say_behind(i, behind);
    } else if (behind != milliseconds{0})
        behind_ = behind_ == milliseconds{0} ? behind : std::min(behind_, behind);
    else if (!answer.is_there())
        r.ec = error::lost;
    r.known.reached = std::max(r.known.reached, answer.reached);
    r.known.votes_from = decide::votes_from(answer, votes_after(of_, i, lease_of(i)));
    if (!r.ec && *r.known.votes_from > clock::now())
        r.ec = error::no_quorum;
}

void group_acquire::requests::say_behind(std::size_t i, milliseconds by) const
{
    auto const at = place_of(of_.parts[i]);
    core_.log(log_level::warning, {.about = "clock of a part", .cause = at}, [&] {
        return "lock '" + printable(of_.name) + "': the clock of " + at + " is " +
            std::to_string(by.count()) +
            " ms behind that of another of its servers, which is more than the limit of an answer. "
            "Remedy: synchronize the servers' clocks";
    });
}

auto group_acquire::requests::next_vote() const noexcept -> later_vote
{
    later_vote next;
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        if (auto const& r = requests_[i]; r.ec == error::no_quorum && r.known.votes_from)
            if (auto const at = *r.known.votes_from; at > clock::now() && at < next.at)
                next = {at, i};
    return next;
}

// ---- Parts -------------------------------------------------------------------------------------

void group_acquire::requests::watch(std::size_t i)
{
    auto const& part = requests_[i].got;
    part.lost(asio::bind_executor(
        core_.strand(),
        [this,
         weak = acquire_.weak_from_this(),
         watched = std::weak_ptr{detail::state_of(part)},
         i](failure ec) {
            auto const life = weak.lock();
            if (!life || ec == asio::error::operation_aborted)
                return;
            auto const& now = detail::state_of(requests_[i].got);
            if (!now || now != watched.lock())
                return;  // it was of an earlier round
            requests_[i].ec = ec;
            has_lost_ = true;
            cancel_unanswered();
        }
    ));
}

void group_acquire::requests::give_back_from_first_refused(std::vector<std::size_t> const& order)
{
    bool stays = !options_.lease;
    for (auto const i : order) {
        auto& part = requests_[i].got;
        stays = stays && part;
        if (!stays)
            give_back(part);
    }
}

void group_acquire::requests::give_back_all()
{
    for (auto& r : all())
        give_back(r.got);
}

std::vector<hold> group_acquire::requests::take_all()
{
    std::vector<hold> parts;
    parts.reserve(of_.parts.size());
    for (auto& r : all())
        parts.push_back(std::move(r.got));
    return parts;
}

// ---- The outcome -------------------------------------------------------------------------------

bool group_acquire::requests::has_all() const noexcept
{
    return std::ranges::all_of(all(), [](request const& r) { return bool{r.got}; });
}

bool group_acquire::requests::has_enough() const noexcept
{
    auto const fresh = std::ranges::count_if(
        std::views::iota(std::size_t{0}, of_.parts.size()),
        [this](std::size_t i) { return is_good(i); }
    );
    return static_cast<std::size_t>(fresh) >= of_.needed();
}

// At least half of the validity must be left, as for a single lock.
bool group_acquire::requests::is_fresh(std::size_t i) const noexcept
{
    auto const lease = lease_of(i);
    auto const& part = requests_[i].got;
    return part && part.valid_for((lease - decide::drift(lease)) / 2);
}

bool group_acquire::requests::has_failed(bool final) const noexcept
{
    auto const failed = std::ranges::count_if(
        all(), final ? &is_final : &is_any, [](request const& r) { return r.ec; }
    );
    return static_cast<std::size_t>(failed) > of_.parts.size() - of_.needed();
}

failure group_acquire::requests::why_unserved() const noexcept
{
    if (is_taken_)
        return {};
    if (of_.by_majority)
        return error::no_quorum;
    auto const failed = std::ranges::find_if(all(), [](request const& r) {
        return r.ec && r.ec != asio::error::operation_aborted;
    });
    return failed == all().end() ? failure{error::unavailable} : failed->ec;
}

failure group_acquire::requests::first_error() const noexcept
{
    auto const of = [](request const& r) { return r.ec; };
    auto at = std::ranges::find_if(all(), &is_final, of);
    if (at == all().end())
        at = std::ranges::find_if(all(), &is_any, of);
    return at->ec;
}

milliseconds group_acquire::requests::lease_of(std::size_t i) const noexcept
{
    return options_.lease.value_or(of_.parts[i].where->settings().lease);
}

}  // namespace colock
