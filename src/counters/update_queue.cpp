#include "core/core.hpp"
#include "counters/update_queue.hpp"
#include "decide/idempotency.hpp"
#include "decide/names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colock {

namespace {

/// Updates that can be added up.
bool is_sum(scripts::script const& what) noexcept
{
    return &what == &scripts::semaphore_release || &what == &scripts::semaphore_release_existing ||
        &what == &scripts::latch_count_down;
}

}  // namespace

update::update(core_ptr c, std::string n, scripts::script const& s, std::int64_t a, std::string ch)
    : inside{std::move(c)}
    , name{std::move(n)}
    , what{s}
    , amount{a}
    , channel{std::move(ch)}
    , limit{[this] {
        auto const why = inside->transport().down_reason(decide::slot_of(name));
        complete(why ? why : error_code{error::unavailable}, 0);
    }}
{}

void update::cancel() { complete(asio::error::operation_aborted, 0); }

void update::complete(error_code ec, std::int64_t result)
{
    auto const life = shared_from_this();
    limit.clear();
    if (auto const told = std::exchange(done, nullptr))
        told(ec, result);
    if (auto* const where = std::exchange(queue, nullptr))
        where->withdraw_unwanted();
}

// The log may be the only report: a guard that is destroyed has no caller.
void update::refuse(error_code why)
{
    if (owed)
        inside->log(log_level::warning, [&] {
            return "release of permits or counts of " + name +
                ": not sent, so they may be out for good: " + why.message();
        });
    complete(why, 0);
}

update_queue::update_queue(core& inside, std::string of)
    : keyed_state{inside, state_kind::updates, std::move(of)}
    , record_{decide::request_record(
          name(), inside.uuid() + ":change", inside.settings().key_prefix
      )}
    , expiry_{[this] {
        if (sending_ && core_.transport().withdraw(*sending_))
            sending_->answered.set({});
    }}
{}

update_queue::~update_queue() = default;

void update_queue::add(std::shared_ptr<update> who)
{
    if (who->done) {
        who->queue = this;
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    }
    if (who->owed)
        ++core_.count.owed_releases;
    waiting_.push_back(std::move(who));
    if (!running_)
        run();
}

void update_queue::withdraw_unwanted()
{
    if (sending_ && !is_wanted() && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
}

// The batch under way, or the next one that has a caller or is owed.
bool update_queue::take_next()
{
    if (!now_.of.empty())
        return true;
    std::erase_if(waiting_, [](auto const& e) { return !e->done && !e->owed; });
    if (waiting_.empty())
        return false;
    now_ = {};
    now_.number = core_.next_number();
    auto const& first = waiting_.front()->what;
    auto const end = is_sum(first)
        ? std::ranges::find_if(waiting_, [&](auto const& e) { return &e->what != &first; })
        : waiting_.begin() + 1;
    now_.of.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    for (auto const& each : now_.of)
        now_.amount += each->amount;
    return true;
}

script_request update_queue::next_step() const
{
    auto const& any = *now_.of.front();
    script_request made{
        &any.what,
        {name(), record_},
        {any.text.empty() ? std::to_string(now_.amount) : any.text,
         std::to_string(now_.number),
         decide::record_life_text(),
         any.channel}};
    if (!any.third_key.empty())
        made.keys.push_back(any.third_key);
    return made;
}

strand_task update_queue::run()
{
    core::activity const running{core_};
    running_ = true;
    while (take_next()) {
        script_call asked{next_step(), slot()};
        if (now_.unsure)
            core_.set_alarm(expiry_, decide::repeat_until(now_.first_sent));
        sending_ = &asked.call;
        core_.transport().submit(asked.call);
        answer const got = co_await asked.call.answered;
        sending_ = nullptr;
        expiry_.clear();
        if (got.what == answer::kind::lost && !std::exchange(now_.unsure, true))
            now_.first_sent = got.sent;
        if (got.what != answer::kind::lost && is_to_be_repeated(got)) {
            core_.rest(pause_, core_.repeat_pause(++now_.refusals));
            co_await pause_.over;
        }
        if (!is_to_be_repeated(got))
            conclude(got);
    }
    running_ = false;
    unregister();
}

bool update_queue::is_wanted() const noexcept
{
    return std::ranges::any_of(now_.of, [](auto const& e) { return e->owed || e->done; });
}

bool update_queue::is_to_be_repeated(answer const& got) const noexcept
{
    bool const known = !now_.unsure || clock::now() < decide::repeat_until(now_.first_sent);
    if (core_.is_stopped() || !is_wanted() || !known)
        return false;
    bool const owed = std::ranges::any_of(now_.of, [](auto const& e) { return e->owed; });
    return got.what == answer::kind::lost || got.what == answer::kind::not_now ||
        ((is_unsent(got) || got.passing) && owed);
}

void update_queue::complete(update& who, error_code ec, std::int64_t result)
{
    if (std::exchange(who.owed, false)) {
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
    error_code ec;
    if (got.what != answer::kind::replied)
        ec = why_unanswered(got, core_.is_stopped());
    else if (got.value.what != decide::reply::kind::integer)
        ec = error::bad_reply;
    for (auto const& each : std::exchange(now_.of, {}))
        complete(*each, ec, got.value.number);
}

// A closing client completes updates that have begun. A stopped client owes nothing any more.
void update_queue::end_waiters(error_code why)
{
    if (!core_.is_stopped())
        return;
    auto const life = shared_from_this();
    auto all = waiting_;
    all.insert(all.end(), now_.of.begin(), now_.of.end());
    for (auto const& each : all)
        complete(*each, why, 0);
    withdraw_unwanted();
    pause_.finish();
}

void update_queue::destroy_pending() noexcept
{
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
