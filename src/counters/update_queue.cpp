#include "core/core.hpp"
#include "core/owed_step.hpp"
#include "counters/update_queue.hpp"
#include "decide/idempotency.hpp"
#include "decide/names.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

/// Updates that can be added up.
bool is_sum(scripts::script const& what) noexcept
{
    return &what == &scripts::semaphore_release || &what == &scripts::semaphore_release_existing ||
        &what == &scripts::latch_count_down;
}

/// Changes that bring permits.
bool tells_list(scripts::script const& what) noexcept
{
    return &what == &scripts::semaphore_release || &what == &scripts::semaphore_release_existing ||
        &what == &scripts::semaphore_set || &what == &scripts::permit_return ||
        &what == &scripts::permit_set;
}

}  // namespace

update::update(core_ptr c, request what)
    : inside{std::move(c)}
    , asked{std::move(what)}
    , limit{[this] {
        auto why = inside->transport().down_reason(decide::slot_of(asked.name));
        if (!why)
            why = refused;
        complete(why ? why : failure{error::unavailable}, 0);
    }}
{
    asked.name = inside->key_of(std::move(asked.name));
}

void update::complete(failure ec, std::int64_t result)
{
    auto const life = shared_from_this();
    limit.clear();
    if (auto const told = std::exchange(done, nullptr))
        told(ec, result);
    if (auto* const where = std::exchange(queue, nullptr))
        where->withdraw_unwanted();
}

update_queue::update_queue(core& inside, std::string of)
    : keyed_state{inside, state_kind::updates, std::move(of)}
    , record_{decide::request_record(
          name(), inside.uuid() + ":change", inside.settings().key_prefix
      )}
    , sending_{inside}
{}

// A closing client still gives back. When it has ended, the log may be the only report of that: a
// guard that is destroyed has no caller.
void update_queue::admit(std::shared_ptr<update> const& who)
{
    core& owner = *who->inside;
    auto const& name = who->asked.name;
    bool const is_let_in = who->asked.owed && owner.is_closing();
    if (auto const ec = is_let_in ? failure{} : owner.enter()) {
        if (who->asked.owed)
            owner.log(log_level::warning, {"unreleased", {}, paced_log::of_locks}, [&] {
                return "release of permits or counts of " + name +
                    ": not sent, so they may be out for good: " + ec.text();
            });
        return who->complete(ec, 0);
    }
    auto const make = [&] { return std::make_shared<update_queue>(owner, name); };
    find_or_make<update_queue>(owner.keyed_states(), state_kind::updates, name, make).add(who);
}

void update_queue::add(std::shared_ptr<update> who)
{
    if (who->done) {
        who->queue = this;
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    }
    if (who->asked.owed)
        ++core_.count.owed_releases;
    waiting_.push_back(std::move(who));
    if (!running_)
        run();
}

void update_queue::withdraw_unwanted()
{
    if (!is_wanted())
        sending_.withdraw();
}

// The batch under way, or the next one that has a caller or is owed.
bool update_queue::take_next()
{
    if (!now_.of.empty())
        return true;
    std::erase_if(waiting_, [](auto const& e) { return !e->done && !e->asked.owed; });
    if (waiting_.empty())
        return false;
    now_ = {};
    now_.number = core_.next_number();
    auto const& first = waiting_.front()->asked.what;
    auto const end = is_sum(first)
        ? std::ranges::find_if(waiting_, [&](auto const& e) { return &e->asked.what != &first; })
        : waiting_.begin() + 1;
    now_.of.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    for (auto const& each : now_.of)
        now_.amount += each->asked.amount;
    return true;
}

script_call::request update_queue::next_step() const
{
    auto const& any = now_.of.front()->asked;
    auto const& prefix = core_.settings().key_prefix;
    script_call::request made{
        &any.what,
        {name(), record_},
        {any.text.empty() ? std::to_string(now_.amount) : any.text,
         std::to_string(now_.number),
         decide::record_life_text(),
         any.channel ? any.channel(name(), prefix) : std::string{}}};
    if (tells_list(any.what)) {
        made.arguments.push_back(decide::wait_list(name(), prefix));
        made.arguments.push_back(core_.mailbox_argument(slot()));
    }
    if (any.has_leases)
        made.keys.push_back(decide::permit_leases(name(), prefix));
    return made;
}

strand_task update_queue::run()
{
    core::activity const running{core_};
    running_ = true;
    while (take_next()) {
        script_call asked{next_step(), slot()};
        bool const owes = ask_copies(asked);
        answer const got = co_await sending_.send(asked.call, now_.until);
        if (got.what == answer::kind::lost)
            now_.until = std::min(now_.until, decide::repeat_until(got.sent));
        for (auto const& each : now_.of)
            each->refused = got.passing ? got.ec : failure{};
        reliable::terms const how{.idempotent = true, .owed = is_owed(), .until = now_.until};
        if (co_await sending_.repeats(got, how) && is_wanted())
            continue;
        conclude(got);
        // The next number would hide from the next primary that it lacks this one.
        if (owes && !asked.call.owed && got.what == answer::kind::replied)
            co_await covered_;
    }
    running_ = false;
    unregister();
}

// An update that gives back is answered without its copies, and owes them: true if so.
bool update_queue::ask_copies(script_call& what)
{
    decide::copies const wants{core_.settings().durability};
    if (wants.is_none())
        return false;
    core_.ask_copies(what.call, wants, core_.settings().lease);
    what.call.repeats = now_.until != never;  // it may find its work done
    if (!is_owed())
        return false;
    covered_.reset();
    auto const over = [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->covered_.set(true);
    };
    auto const until = decide::repeat_until(clock::now());
    auto const again = [about = what.texts] { return std::optional{about}; };
    what.call.owed = owe(core_, slot(), wants, until, again, over);
    return true;
}

bool update_queue::is_wanted() const noexcept
{
    return std::ranges::any_of(now_.of, [](auto const& e) { return e->asked.owed || e->done; });
}

bool update_queue::is_owed() const noexcept
{
    return std::ranges::any_of(now_.of, [](auto const& e) { return e->asked.owed; });
}

void update_queue::complete(update& who, failure ec, std::int64_t result)
{
    if (std::exchange(who.asked.owed, false)) {
        --core_.count.owed_releases;
        if (ec)
            core_.note_unreleased(
                "of permits or counts of " + name() + ", which may be out for good", ec
            );
    }
    who.complete(ec, result);
}

void update_queue::conclude(answer const& got)
{
    failure ec;
    if (got.what != answer::kind::replied)
        ec = why_unanswered(got, core_.is_stopped());
    else if (got.value.what != decide::reply::kind::integer)
        ec = error::bad_reply;
    else
        ec = got.unsynced;
    for (auto const& each : std::exchange(now_.of, {}))
        complete(*each, ec, got.value.number);
}

// A closing client completes updates that have begun. A stopped client owes nothing any more.
void update_queue::end_waiters(failure why)
{
    if (!core_.is_stopped())
        return;
    auto const life = shared_from_this();
    auto all = waiting_;
    all.insert(all.end(), now_.of.begin(), now_.of.end());
    for (auto const& each : all)
        complete(*each, why, 0);
    withdraw_unwanted();
}

void update_queue::destroy_pending() noexcept
{
    covered_.destroy_waiting();
    auto all = std::exchange(waiting_, {});
    for (auto& each : std::exchange(now_.of, {}))
        all.push_back(std::move(each));
    for (auto const& each : all) {
        each->limit.clear();
        each->queue = nullptr;
        each->done = nullptr;
    }
}

}  // namespace colock
