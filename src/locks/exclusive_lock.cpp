#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "decide/handover.hpp"
#include "locks/contention.hpp"
#include "locks/exclusive_lock.hpp"

#include <utility>

namespace colock {

exclusive_lock::exclusive_lock(core& inside, lock_traits const& how, std::string of)
    : one_owner{inside, how, std::move(of)}
{}

exclusive_lock::~exclusive_lock() = default;

// ---- The queue ---------------------------------------------------------------------------------

void exclusive_lock::admit(std::shared_ptr<waiter> const& who)
{
    if (is_owner_back(who))
        return;
    if (who->once && is_taken_for(*who)) {
        who->give_up();
        forget_if_idle();  // made only for this acquire
        return;
    }
    join(who);
    if (!is_asking())
        ensure_asker().start();
}

// ---- The ownership -----------------------------------------------------------------------------

void exclusive_lock::hand_out(grant const& what)
{
    if (since_ == time_point{})
        since_ = clock::now();
    if (contention_)
        contention_->tokens.put(what.last_token, what.tokens);
    auto const who = take_first();
    auto const taken = make_hold(*who, what.last_token);
    begin(*who, taken, what);
    send_away_who_tries_once();
}

// An ownership that stands already ends: only one owner at a time has the lock at the server.
void exclusive_lock::begin(waiter& who, hold_ptr const& taken, grant const& what)
{
    if (contention_)
        contention_->granted();
    if (auto const before = std::exchange(ownership_, nullptr))
        before->replaced(what.proven.sent);
    ownership_ = make_recycled<ownership>(core_, this, how_, name(), what.number, who.who);
    ownership_->begin(taken, what.proven);
    who.grant(taken);
    admit_same_owner(who);
}

// Another client may have had the lock, so the tenure begins, and no token is left of an earlier
// one.
void exclusive_lock::adopt(
    std::shared_ptr<waiter> const& who,
    std::uint64_t number,
    std::uint64_t token,
    decide::proven_grant const& proven
)
{
    forget_tenure();
    since_ = clock::now();
    auto const taken = who->make_hold();
    taken->token = token;
    bool const is_doubtful = ownership_ != nullptr;  // another owner's grant may be the later one
    begin(*who, taken, {number, token, 0, proven});
    send_away_who_tries_once();
    if (is_doubtful)
        ownership_->suspect();
    if (awaits_attempt())
        asker_->wake();  // the head waits for this hold from now on
}

hold_ptr exclusive_lock::make_hold(waiter const& who, std::uint64_t only_token)
{
    auto taken = who.make_hold();
    if (draws_tokens())
        taken->token = contention_ ? contention_->tokens.take() : only_token;
    return taken;
}

// The copies have what the last hold asked them for, and no more for sure.
decide::handover_kind exclusive_lock::how_to_pass(waiter const& next, hold_state const& last) const
{
    if (!last.wants.covers(next.wants))
        return decide::handover_kind::released;
    return decide::handover{
        .now = clock::now(),
        .since = since_,
        .max_tenure = core_.settings().max_tenure,
        .valid_until = last.promised_until(),
        .lease = last.proven,
        .resumed = clock::resumed(),
        .is_alike = next.is_alike(last),
        .is_undisturbed = !ownership_->is_suspect(),
        .has_token = !draws_tokens() || (contention_ && !contention_->tokens.empty()),
        .is_quiet = !ownership_->is_setting()}
        .decide();
}

// The queue is empty also where the client closes. An attempt is under way beside the ownership if
// the lock was adopted meanwhile: its answer is about its own field.
bool exclusive_lock::hand_over(hold_state& last)
{
    if (is_empty() || ownership_->is_spoken_for() || is_sending() || !may_go_on(*ownership_))
        return false;
    waiter const& next = first();
    auto const held = ownership_;
    if (contention_)
        contention_->tokens.pass(held->token());  // that of a red lock may be above the block
    switch (how_to_pass(next, last)) {
    case decide::handover_kind::released: return false;
    case decide::handover_kind::by_script:
        ensure_asker().take_over(*held);
        held->let_go(last);
        return true;
    case decide::handover_kind::at_once: break;
    }
    auto const who = take_first();
    auto const taken = make_hold(*who, 0);
    held->pass_on(last, taken);
    core_.tell(events::handed_over{name()});
    who->grant(taken);
    admit_same_owner(*who);
    if (is_empty() && contention_)  // without waiters it is not kept for long
        contention_->set_alarm(clock::now() + core_.settings().linger);
    return true;
}

void exclusive_lock::ended(ownership& which)
{
    if (ownership_.get() != &which)
        return;
    ownership_.reset();
    on_queue_changed();
    if (!asker_ || !asker_->takes_over())  // nobody takes over its field
        forget_tenure();
    if (is_asking())
        asker_->wake();
    else
        forget_if_idle();
}

// The next tenure of the key begins from zero.
void exclusive_lock::forget_tenure() noexcept
{
    since_ = {};
    if (contention_)
        contention_->tokens.drop_rest();
}

// ---- Other clients -----------------------------------------------------------------------------

contention& exclusive_lock::ensure_contention()
{
    if (contention_)
        return *contention_;
    auto& by = ensure_asker();
    contention_ = std::make_unique<contention>(
        core_, *this, how_, by.wake_event(), by.asked(), [this] { on_contention_alarm(); }
    );
    return *contention_;
}

void exclusive_lock::asking_ended()
{
    if (contention_) {
        contention_->end();
        if (!contention_->remember())
            contention_.reset();
    }
    if (!contention_)
        asker_.reset();
    forget_if_idle();
}

// Drops it if nothing refers to it any more. May destroy it.
void exclusive_lock::forget_if_idle() noexcept
{
    if (is_in_use() || (contention_ && contention_->is_remembered()))
        return;
    if (contention_)
        contention_->end();
    unregister();
}

void exclusive_lock::forget()
{
    if (!contention_ || is_asking())
        return;
    contention_->forget();
    forget_if_idle();
}

bool exclusive_lock::awaits_message() const noexcept
{
    return is_asleep() && contention_->place.can_be_told();
}

bool exclusive_lock::ask_unless_told()
{
    bool const asks = is_asleep() && !awaits_message();
    if (asks)
        asker_->wake();
    return asks;
}

// It may overtake the answer that the request stands in the list.
void exclusive_lock::on_turn(std::uint64_t number, std::uint64_t listening)
{
    if (is_asking() && asker_->number() == number)
        ensure_contention().on_turn(listening);
}

std::uint64_t exclusive_lock::number_that_joins()
{
    bool const may_join = !is_empty() && !first().once && how_.has_list && !is_sending() &&
        core_.mailbox().of(slot()).is_live;
    return may_join ? ensure_asker().number_that_joins() : 0;
}

void exclusive_lock::released(ownership const&, decide::release_answer const& got, unsigned others)
{
    if (core_.refusal() || !(others != 0 || got.told || contention_))
        return;
    ensure_contention().released(others, got.told);
    contention_->place.joined(got.since);
    if (got.told && how_.has_list)  // who comes back waits for its turn, too
        core_.mailbox().open(slot());
    if (got.since != 0)
        note_taken();  // by the client that has its turn
    if (!is_asking())
        contention_->remember();
}

}  // namespace colock
