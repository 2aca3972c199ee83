// The requests of an ownership to the server: one script after the other, until the server has what
// the holds need.
#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "decide/names.hpp"
#include "holds/ownership.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace colock {

using status = hold_state::status;

namespace {

/// It releases its hold, which is no longer one of the ownership's holds.
bool is_release(std::shared_ptr<hold_operation> const& who)
{
    return who->hold && !who->hold->is_linked();
}

/// Tells callers that want something from the server at once that it refuses. Releases go on.
void end_all_but_releases(hold_operations& doing, error_code why)
{
    auto const others = std::ranges::stable_partition(doing, is_release);
    for (auto const& who : std::vector(others.begin(), others.end()))
        who->complete(why);
    doing.erase(others.begin(), doing.end());
}

/// The greatest number that any of them wants.
void ask_replicas(step& call, hold_operations const& doing)
{
    for (auto const& who : doing)
        if (who->replicas > call.replicas)
            who->inside->ask_replicas(call, who->replicas, who->hold->lease);
}

}  // namespace

/// One script, with the texts that it refers to: depth and lease, or the release if there is no
/// hold any more. A lock that stays taken gets the rest of its time as its lease instead.
struct ownership::request {
    explicit request(ownership const& of)
        : last{of.holds_.empty() && !of.is_kept()}
        , lease{of.promise()}
        , field{of.core_.field<recycled_string>(of.number_, of.how().field_end)}
        , channel{last ? of.how().channel(of.name_, of.prefix()) : std::string{}}
        , depth{std::to_string(std::max(of.holds_.size(), std::size_t{1}))}
        , lease_text{std::to_string(lease.count())}
        , more{last ? of.how().release_argument(of.name_, of.prefix()) : of.how().leases(of.name_, of.prefix())}
        , queue{last ? of.how().queue_keys(of.name_, of.prefix()) : std::vector<std::string>{}}
        , joins{last && of.how().has_list && of.listener_ && of.listener_->joins_list()}
        , place{last && of.how().names_place() ? decide::place_and_channel<recycled_string>(joins ? "last" : "", channel) : recycled_string{channel}}
        , keys{of.name_}
        , arguments{field, last ? std::string_view{place} : depth}
        , call{last ? *of.how().release : *of.how().extend, of.slot_, {}, {}}
    {
        keys.insert(keys.end(), queue.begin(), queue.end());
        if (!last)
            arguments.push_back(lease_text);
        if (!more.empty())
            arguments.push_back(more);
        call.synced = of.synced_;
        call.keys = keys;
        call.arguments = arguments;
    }
    request(request const&) = delete;
    request& operator=(request const&) = delete;

    bool last;
    milliseconds lease;
    recycled_string field;
    std::string channel, depth, lease_text, more;
    std::vector<std::string> queue;
    bool joins;             ///< this client goes to the end of the wait list if another one is told
    recycled_string place;  ///< that and the channel, as the script takes it
    boost::container::static_vector<std::string_view, 4> keys, arguments;
    step call;
};

/// How long a step may wait to be sent: as long as the field may exist.
struct ownership::send_limit {
    explicit send_limit(ownership& whose) : of{whose} {}

    void begin() { of.core_.set_alarm(expiry, of.stands_until()); }

    ownership& of;
    decide::alarm_queue::alarm expiry{[this] {
        if (clock::now() < of.stands_until())  // by now
            begin();
        else if (of.sending_ && of.core_.transport().withdraw(*of.sending_))
            of.sending_->answered.set({});
    }};
};

void ownership::ask(std::shared_ptr<hold_operation> who)
{
    if (who->done)
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    asked_.push_back(std::move(who));
    if (!settling_)
        settle(shared_from_this());
}

strand_task ownership::settle([[maybe_unused]] std::shared_ptr<ownership> self)
{
    core::activity const settling{core_};
    settling_ = true;
    forget_renewal();
    pause before_repeat;
    std::uint32_t refusals = 0;
    send_limit limit{*this};
    while (!asked_.empty() && !gone_ && !core_.is_stopped()) {
        auto doing = std::exchange(asked_, {});
        request now{*this};
        if (now.last)
            begin_release(now.channel);
        else
            ask_replicas(now.call, doing);
        if (!endless_)
            limit.begin();
        sending_ = &now.call;
        core_.transport().submit(now.call);
        answer const got = co_await now.call.answered;
        sending_ = nullptr;
        limit.expiry.clear();
        if (!now.last)
            server_until_ = std::max(server_until_, clock::now() + now.lease);
        if (!may_send_again(got, doing)) {
            refusals = 0;
            conclude(now, doing, got);
            continue;
        }
        if (got.passing && !now.last)
            end_all_but_releases(doing, got.ec);
        for (auto const& who : doing)
            who->refused = got.passing ? got.ec : error_code{};
        unsure_ = unsure_ || (now.last && got.what == answer::kind::lost);
        asked_.insert(asked_.begin(), doing.begin(), doing.end());
        if (got.what != answer::kind::lost) {
            core_.rest(before_repeat, core_.repeat_pause(++refusals));
            co_await before_repeat.over;
        }
    }
    settling_ = false;
    settled();
}

void ownership::begin_release(std::string const& channel)
{
    if (std::exchange(releasing_, true))
        return;
    ++core_.count.owed_releases;
    // Without a listener another ownership may begin. It must get this message like any other.
    echo_ = listener_ ? listener_->expect_echo(channel) : 0;
}

bool ownership::may_send_again(answer const& got, hold_operations const& doing) const noexcept
{
    if (core_.is_stopped() || (clock::now() >= stands_until() && !endless_))
        return false;
    // A release stays due while the server refuses the connection.
    bool const unsent = got.what == answer::kind::failed && got.sent == time_point{};
    bool const gives_back = releasing_ || std::ranges::any_of(doing, is_release);
    return got.what == answer::kind::lost || got.what == answer::kind::not_now ||
        (unsent && releasing_) || (got.passing && gives_back);
}

void ownership::conclude(request const& which, hold_operations const& doing, answer const& got)
{
    auto outcome = core_.is_stopped() ? error_code{error::closed}
        : got.ec                      ? got.ec
                                      : error_code{error::unavailable};
    if (which.last)
        outcome = conclude_release(got, which, outcome);
    else if (got.what == answer::kind::replied)
        outcome = conclude_extend(doing, got, which.lease);
    for (auto const& who : doing) {
        bool const was_lost = who->hold && who->hold->now() == status::lost;
        bool const is_missing = !outcome && got.unsynced && who->replicas != 0;
        who->complete(was_lost ? error_code{error::lost} : is_missing ? got.unsynced : outcome);
    }
    // After the end of its lease the lock is free, whatever the answer was.
    if (which.last && outcome && outcome != error::lost && clock::now() < stands_until()) {
        core_.note_unreleased(
            "of " + name_ + " (" + core_.field(number_) + "), which is held until its lease ends",
            outcome
        );
        let_run_out();
    }
    unsure_ = false;
}

error_code ownership::conclude_release(
    answer const& got, request const& which, error_code unanswered
)
{
    auto const& channel = which.channel;
    auto r = decide::release_answer{};
    if (got.what == answer::kind::replied)
        r = decide::read_release(got.value);
    using kind = decide::release_answer::kind;
    // If a repeat finds nothing, and nothing else can have removed the field or permit, it finds
    // its own effect.
    bool const before = r.what == kind::gone && unsure_ && clock::now() < stands_until();
    bool const published = r.what == kind::released && r.receivers >= 0;
    if (echo_ != 0 && !published && !before)
        core_.subscriptions().expect_no_echo(channel, echo_);
    if (r.what == kind::released && r.receivers == r.refused)
        core_.log(log_level::warning, [&] {
            return "release " + name_ +
                ": the server refuses to publish; waiters get in at the poll cap. Remedy: allow"
                " the user the channel " +
                channel;
        });
    if (listener_ && r.what == kind::released)
        listener_->published(others_of(r.receivers, channel), r.told);
    if (listener_ && which.joins && r.what == kind::released)
        listener_->joined(r.stands);
    if (listener_ && r.what == kind::released && r.receivers == r.unheard)
        listener_->unheard(*this);
    if (r.what == kind::released || before)
        return {};
    if (got.what != answer::kind::replied)
        return unanswered;
    return r.what == kind::gone ? error::lost : error::bad_reply;
}

// The field may still exist. The other side of the hash must not keep it alive.
void ownership::let_run_out()
{
    if (auto const other = beside())
        other->gone(error::lost);
}

// If the server does not report receivers, there may be one.
unsigned ownership::others_of(std::int64_t receivers, std::string_view channel) const noexcept
{
    if (receivers < 0)
        return 1;
    bool const by_us = echo_ != 0 && echo_ == core_.subscriptions().epoch_of(channel);
    return static_cast<unsigned>(std::max<std::int64_t>(0, receivers - std::int64_t{by_us}));
}

error_code ownership::conclude_extend(
    hold_operations const& doing, answer const& got, milliseconds set
)
{
    switch (decide::read_extend(got.value)) {
    case decide::extend_answer::gone: gone(error::lost); return error::lost;
    case decide::extend_answer::malformed: return error::bad_reply;
    case decide::extend_answer::extended: break;
    }
    expire(clock::now());
    clear_suspicion(got.sent);
    for (auto& hold : holds_) {
        bool const asked =
            std::ranges::any_of(doing, [&](auto const& who) { return who->hold.get() == &hold; });
        if (asked || (is_renewed(hold) && hold.is_confirmed()))
            confirm(hold, got.sent, set);
    }
    if (auto const lease = shortest_renewed_lease(); lease != milliseconds::max() && !renewing_)
        renew_at_ =
            decide::renewal_schedule::renewal_time(got.sent, std::min(lease, set), core_.jitter());
    watch();
    // An earlier renewal whose script the server did not know runs after this.
    if (unanswered_ != 0 && !is_suspect())
        suspect();
    return {};
}

void ownership::settled()
{
    for (auto const& who : std::exchange(asked_, {}))
        who->complete(gone_ ? error::lost : error::closed);
    if (holds_.empty()) {
        if (core_.is_stopped())
            let_run_out();
        finish();
    } else if (!gone_ && !renewing_ && renew_at_ == never) {
        renew_at_ = clock::now();  // a renewal may have come due in the meantime
        watch();
    }
    if (listener_)
        listener_->settled();
    if (is_suspect())
        suspect();
}

}  // namespace colock
