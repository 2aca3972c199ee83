// The settlement of an ownership.
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/owed_step.hpp"
#include "core/script_call.hpp"
#include "core/subscription_manager.hpp"
#include "holds/ownership.hpp"
#include "holds/settlement.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

namespace {

/// Its hold is no longer one of the ownership's holds.
bool has_ended(hold_operation const& who) { return who.hold && !who.hold->is_linked(); }

/// It releases its hold.
bool is_release(std::shared_ptr<hold_operation> const& who)
{
    return has_ended(*who) && !who->extends;
}

/// A hold that was released before its extension was sent gets none.
hold_operations without_late_extensions(hold_operations doing)
{
    auto const late = std::ranges::stable_partition(doing, [](auto const& who) {
        return !(who->extends && has_ended(*who));
    });
    for (auto const& who : std::vector(late.begin(), late.end())) {
        bool const was_lost = who->hold->current_status() == hold_state::status::lost;
        who->complete(was_lost ? error::lost : who->hold->closed ? error::closed : error::not_held);
    }
    doing.erase(late.begin(), doing.end());
    return doing;
}

/// Tells callers that want something from the server at once that it refuses. Releases go on.
void end_all_but_releases(hold_operations& doing, failure why)
{
    auto const others = std::ranges::stable_partition(doing, is_release);
    for (auto const& who : std::vector(others.begin(), others.end()))
        who->complete(why);
    doing.erase(others.begin(), doing.end());
}

void complete(hold_operations const& all, failure ec)
{
    for (auto const& who : all)
        who->complete(ec);
}

/// The copies that any of them wants. Renewals wait for the step, so the limit is by the shortest
/// lease: that of the holds that are there is at most `shortest`.
void ask_copies(step& call, hold_operations const& doing, milliseconds shortest)
{
    for (auto const& who : doing)
        if (!who->wants.is_none()) {
            shortest = std::min(shortest, who->hold->lease);
            who->inside->ask_copies(call, who->wants, shortest);
        }
}

}  // namespace

/// One script, with the texts that it refers to: depth and lease, or the release if there is no
/// hold any more. A lock that stays taken gets the rest of its time as its lease instead.
struct settlement::request {
    explicit request(ownership const& of)
        : last{of.holds_.is_empty() && !of.server_.stays_taken(clock::now())}
        , stays{of.holds_.is_empty() && !last}
        , lease{of.promise()}
        , channel{last ? of.field_.channel() : std::string{}}
        , joins{last && of.listener_ ? of.listener_->number_that_joins() : 0}
        , texts{of, *this}
        , keys{texts.keys()}
        , arguments{texts.arguments()}
        , call{
              last ? *of.how().script.release : *of.how().script.extend, of.slot(), keys, arguments}
    {}
    request(request const&) = delete;
    request& operator=(request const&) = delete;

    struct written : script_texts {
        written(ownership const& of, request const& what)
        {
            if (what.last)
                of.field_.write_release(*this, what.channel, what.joins);
            else
                of.field_.write_lease(
                    *this, what.lease, std::max(of.holds_.size(), std::size_t{1})
                );
        }
    };

    bool last;
    bool stays;  ///< the lock stays taken for a while, without a hold
    milliseconds lease;
    milliseconds proven{};  ///< of the lease, by its answer
    std::string channel;
    std::uint64_t joins;  ///< see `ownership_listener::number_that_joins`
    written texts;
    script_texts::views keys, arguments;
    step call;
};

hold_operations settlement::take_asked() noexcept { return std::exchange(asked_, {}); }

void settlement::ask(std::shared_ptr<hold_operation> who)
{
    if (who->done && !core_.is_stopped())  // which an alarm would keep busy
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    asked_.push_back(std::move(who));
    if (!running_)
        run(of_.shared_from_this());
    else if (sending_ && !sending_->alone)  // else it has run, perhaps, in a call that failed
        sending_.withdraw();                // another one is made, for both
}

strand_task settlement::run([[maybe_unused]] std::shared_ptr<ownership> self)
{
    core::activity const settling{core_};
    running_ = true;
    of_.forget_renewal();
    while (!asked_.empty() && !of_.is_gone() && !core_.is_stopped()) {
        auto doing = without_late_extensions(take_asked());
        request now{of_};
        begin(now, doing);
        std::optional<decide::lease_steps::step> set;
        if (!now.last)
            set = of_.begin_step(now.lease);
        else if (of_.may_have_successor())
            set = of_.begin_step({});
        answer const got = co_await sending_.send(now.call, of_.stands_until());
        if (set)
            now.proven = of_.end_step(*set, got, now.call.on);
        bool const gives_back = of_.is_releasing() || std::ranges::any_of(doing, is_release);
        reliable::terms const how{
            .idempotent = true,
            .owed = gives_back && !(of_.is_place_ && core_.refusal()),
            .until = of_.stands_until()};
        if (sending_.may_repeat(got, how))
            keep_due(now, doing, got);
        else
            conclude(now, doing, got);
        co_await sending_.repeats(got, how);
    }
    running_ = false;
    auto const rest = take_asked();
    if (of_.is_gone())
        note_found_lost(rest);
    complete(rest, of_.is_gone() ? error::lost : error::closed);
    of_.settled();
}

void settlement::begin(request& which, hold_operations const& doing)
{
    if (!which.last)
        return ask_copies(which.call, doing, of_.holds_.shortest_due(clock::now()));
    of_.begin_release();
    which.call.owed = owe_release();
    which.call.repeats = unsure_;
}

/// Nothing if no copies have the field. A side of a read-write lock may have the same field again.
std::shared_ptr<owed_copies> settlement::owe_release() const
{
    if (of_.copies_.is_none())
        return {};
    auto const again = [field = of_.field_]() -> std::optional<script_call::request> {
        if (field.how().is_side()) {
            auto const kind = state_of(field.how().kind);
            auto const* const found = field.inside().keyed_states().find(kind, field.name());
            if (found && found->wants(field.number()))
                return {};
        }
        script_texts texts;
        field.write_release(texts, field.channel(), 0);
        auto const keys = texts.keys(), arguments = texts.arguments();
        return script_call::request{
            field.how().script.release,
            {keys.begin(), keys.end()},
            {arguments.begin(), arguments.end()}};
    };
    auto const until = std::min(of_.stands_until(), owed_until_);
    return owe(core_, of_.slot(), of_.copies_, until, again);
}

void settlement::keep_due(request const& which, hold_operations& doing, answer const& got)
{
    if (got.passing && !which.last)
        end_all_but_releases(doing, got.ec);
    for (auto const& who : doing)
        who->refused = got.passing ? got.ec : failure{};
    if (got.what == answer::kind::lost) {
        unsure_ = unsure_ || which.last;
        unsure_of_stay_ = unsure_of_stay_ || which.stays;
    }
    asked_.insert(asked_.begin(), doing.begin(), doing.end());
}

void settlement::conclude(request const& which, hold_operations const& doing, answer const& got)
{
    auto outcome = why_unanswered(got, core_.is_stopped());
    if (which.last)
        outcome = conclude_release(which, got, outcome);
    else if (got.what == answer::kind::replied)
        outcome = conclude_extension(which, doing, got);
    if (outcome == error::lost)
        note_found_lost(doing);
    for (auto const& who : doing) {
        bool const was_lost = who->hold && who->hold->current_status() == hold_state::status::lost;
        bool const is_missing = !outcome && got.unsynced && !who->wants.is_none();
        if (is_missing && who->extends)
            take_back_extension(*who->hold, who->lease_before);
        if ((outcome || is_missing) && who->extends)
            who->hold->stay(who->hold->promised_until());
        who->complete(was_lost ? failure{error::lost} : is_missing ? got.unsynced : outcome);
    }
    // After the end of its lease it is free, whatever the answer was.
    if (which.last && !of_.is_place_ && outcome && outcome != error::lost &&
        clock::now() < of_.stands_until()) {
        core_.note_unreleased(
            "of " + of_.field_.description() + ", which is held until its lease ends", outcome
        );
        of_.let_run_out();
    }
    unsure_ = unsure_of_stay_ = false;
}

// The server has the longer lease. Another script sets the one that the copies have.
void settlement::take_back_extension(hold_state& of, milliseconds lease)
{
    of.lease = lease;
    of_.ask(nullptr);
}

// The owner has relied on it until now. After the end of its lease nothing is proven: the release
// may have been late.
void settlement::note_found_lost(hold_operations const& doing)
{
    auto const now = clock::now();
    for (auto const& who : doing) {
        auto const& hold = who->hold;
        if (!is_release(who) || !hold->given ||
            hold->current_status() != hold_state::status::released || now >= hold->promised_until())
            continue;
        core_.tell(events::found_lost{of_.name(), of_.field_.shown_id(), of_.how().why_gone});
    }
}

failure settlement::conclude_release(request const& which, answer const& got, failure unanswered)
{
    using kind = decide::release_answer::kind;
    auto r = decide::release_answer{};
    if (got.what == answer::kind::replied)
        r = decide::read_release(got.value);
    // If a repeat finds nothing, and nothing else can have removed the field or permit, it finds
    // its own effect.
    bool const may_be_own = r.what == kind::gone && clock::now() < of_.stands_until();
    // A call for several locks may have failed behind this one, and was sent again in parts.
    bool const before = may_be_own && (unsure_ || which.call.alone);
    bool const released = r.what == kind::released;
    if (released && r.receivers == r.refused)
        core_.log(log_level::warning, {"publish"}, [&] {
            return "release " + of_.name() +
                ": the server refuses to publish; waiters get in at the poll cap. Remedy: allow"
                " the user the channel " +
                which.channel;
        });
    if (of_.listener_ && (released || r.receivers == r.unheard))
        of_.listener_->released(of_, r, others_of(r.receivers, which.channel));
    if (released || before || (may_be_own && unsure_of_stay_))
        return {};
    if (got.what != answer::kind::replied)
        return unanswered;
    return r.what == kind::gone ? error::lost : error::bad_reply;
}

failure settlement::conclude_extension(
    request const& which, hold_operations const& doing, answer const& got
)
{
    switch (decide::read_extend(got.value)) {
    case decide::extend_answer::gone:
        of_.gone(error::lost);
        // The repeat of a kept time that is over finds nothing, as it should.
        return unsure_of_stay_ && of_.holds_.is_empty() && !of_.server_.stays_taken(clock::now())
            ? failure{}
            : error::lost;
    case decide::extend_answer::malformed: return error::bad_reply;
    case decide::extend_answer::extended: break;
    }
    of_.extended(got, which.lease, which.proven, doing);
    return {};
}

// If the server does not report receivers, there may be one. This client's own subscription may
// linger.
unsigned settlement::others_of(std::int64_t receivers, std::string_view channel) const noexcept
{
    if (receivers < 0)
        return 1;
    bool const by_us = core_.subscriptions().is_live(channel);
    return static_cast<unsigned>(std::max<std::int64_t>(0, receivers - std::int64_t{by_us}));
}

}  // namespace colock
