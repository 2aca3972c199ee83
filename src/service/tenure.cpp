#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/tenure.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace colock {

using status = hold_state::status;

namespace {

constexpr milliseconds pause_before_repeat{20};

}  // namespace

tenure::tenure(core& inside, contention& key, std::uint64_t number, owner const& who)
    : core_{inside}
    , key_{&key}
    , name_{key.name()}
    , number_{number}
    , slot_{key.slot()}
    , who_{who}
{
    core_.add(*this);
}

tenure::~tenure() = default;

bool tenure::is_held() const noexcept { return living_holds() != 0; }

std::size_t tenure::living_holds() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(holds_, [](hold_state const& h) {
        return h.is_confirmed();
    }));
}

void tenure::abandon() noexcept
{
    auto const asked = std::exchange(asked_, {});
    for (auto& hold : holds_)
        auto const waits = std::exchange(hold.loss_waits, nullptr);
}

void tenure::begin(hold_ptr first, time_point sent, milliseconds lease)
{
    server_until_ = sent + lease;
    token_ = first->token;
    first->ownership = shared_from_this();
    first->born = clock::now();
    first->ends = sent + lease;
    holds_.push_back(*first);
    confirm(*first, sent, lease);
    renew_at_ = core_.watchdog().first_renewal(sent, lease);
    watch();
}

void tenure::give_back(time_point until)
{
    server_until_ = until;
    owed_ = true;
    ask(std::make_shared<change>(core_.shared_from_this(), nullptr));
}

void tenure::enter(std::shared_ptr<change> who)
{
    auto& hold = *who->hold;
    auto const now = clock::now();
    hold.ownership = shared_from_this();
    hold.born = now;
    hold.ends = now + hold.lease;
    holds_.push_back(hold);
    ask(std::move(who));
}

void tenure::release(std::shared_ptr<change> who)
{
    auto const hold = who->hold;
    expire(clock::now());  // by the clock: after a pause of the process no timer has fired yet
    if (!hold->is_linked()) {
        who->finish(hold->now() == status::lost ? error_code{error::lost} : error_code{});
        return;
    }
    if (!gone_ && !settling_ && key_ && is_last(*hold) && key_->hand_over(*hold)) {
        who->finish({});
        return;
    }
    remove(*hold, asio::error::operation_aborted);
    if (gone_) {
        who->finish(error::lost);
        if (holds_.empty())
            end();
        return;
    }
    ask(std::move(who));
}

bool tenure::is_last(hold_state const& hold) const noexcept
{
    return &holds_.front() == &hold && &holds_.back() == &hold;
}

// The promise on the field is the same, and so are the times of the watchdog.
void tenure::pass_on(hold_state& last, hold_ptr const& next)
{
    who_ = next->who;
    token_ = next->token;
    next->ownership = shared_from_this();
    next->born = clock::now();
    next->ends = last.ends;
    next->proven = last.proven;
    next->set_valid_until(last.promised_until());
    holds_.push_back(*next);
    remove(last, asio::error::operation_aborted);
}

void tenure::let_go(hold_state& last)
{
    remove(last, asio::error::operation_aborted);
    end();
}

void tenure::extend(std::shared_ptr<change> who, milliseconds lease)
{
    auto& hold = *who->hold;
    expire(clock::now());
    if (hold.now() != status::held) {
        who->finish(hold.now() == status::lost ? error::lost : error::not_held);
        return;
    }
    // Shorter counts from now on: the server may set it before its answer comes.
    auto const now = clock::now();
    hold.lease = lease;
    hold.set_valid_until(std::min(hold.promised_until(), decide::valid_until(now, lease)));
    hold.ends = now + lease;
    ask(std::move(who));
    watch();
}

void tenure::drop(hold_ptr const& hold)
{
    if (!hold->is_linked())
        return;
    release(std::make_shared<change>(core_.shared_from_this(), hold));
}

void tenure::release_all()
{
    auto const self = shared_from_this();
    while (!holds_.empty())
        remove(holds_.front(), error::closed);
    if (gone_)
        end();
    else if (!leaving_)
        ask(std::make_shared<change>(core_.shared_from_this(), nullptr));
}

void tenure::remove(hold_state& hold, error_code why)
{
    hold.unlink();
    if (hold.now() == status::held && hold.given)
        core_.events().released(
            name_, std::chrono::duration_cast<microseconds>(clock::now() - hold.born)
        );
    hold.end(why);
    watch();
}

void tenure::lose(hold_state& hold, error_code why)
{
    if (hold.now() != status::held)
        return;
    hold.lose();
    core_.events().lost(name_, why);
    core_.log(log_level::warning, [&] {
        return "hold " + name_ + " (" + core_.field(number_) + "): lost: " +
            (gone_              ? "the server no longer has it (expired, deleted or forced)"
                 : hold.renewed ? "its lease is nearly over and no renewal was answered"
                                : "its own lease is nearly over, and it asked for no renewal") +
            "; stop the work it protects";
    });
}

void tenure::gone(error_code why)
{
    auto const self = shared_from_this();
    gone_ = true;
    forget_renewal();
    for (auto& hold : holds_)
        lose(hold, why);
    watch();
    detach();
}

void tenure::expire(time_point now)
{
    bool const is_due = std::ranges::any_of(holds_, [&](hold_state const& hold) {
        return hold.is_confirmed() && now >= lose_at(hold);
    });
    if (!is_due)
        return;
    auto const self = shared_from_this();
    for (auto& hold : holds_)
        if (hold.is_confirmed() && now >= lose_at(hold))
            lose(hold, error::lost);
    if (!is_held()) {
        forget_renewal();
        detach();  // who waits here may try: the server decides when
    }
    watch();
}

void tenure::ask(std::shared_ptr<change> who)
{
    if (who->done)
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    asked_.push_back(std::move(who));
    if (!settling_)
        settle(shared_from_this());
}

sequence tenure::settle([[maybe_unused]] std::shared_ptr<tenure> self)
{
    settling_ = true;
    forget_renewal();
    pause before_repeat;
    decide::agenda::entry give_up{[this] {
        if (sending_ && core_.transport().withdraw(*sending_))
            sending_->answered.set({});
    }};
    while (!asked_.empty() && !gone_ && !core_.is_stopped()) {
        auto const doing = std::exchange(asked_, {});
        bool const last = holds_.empty();
        auto const field = core_.field(number_);
        auto const depth = std::to_string(holds_.size());
        auto const lease = promise(clock::now());
        auto const lease_text = std::to_string(lease.count());
        auto const channel = last ? decide::lock_channel(name_) : std::string{};
        std::string_view const keys[]{name_};
        std::string_view const give_back[]{field, channel};
        std::string_view const keep[]{field, depth, lease_text};
        step s = last ? step{scripts::release, slot_, keys, give_back}
                      : step{scripts::extend, slot_, keys, keep};
        if (last && !std::exchange(leaving_, true)) {
            ++core_.count.owed_releases;
            heard_by_us_ = core_.subscriptions().expect_echo(channel);
        }
        if (!owed_)
            core_.set_alarm(give_up, server_until_);
        sending_ = &s;
        core_.transport().submit(s);
        answer const got = co_await s.answered;
        sending_ = nullptr;
        give_up.clear();
        if (!last)
            server_until_ = std::max(server_until_, got.sent + lease);

        if (may_send_again(got)) {
            unsure_ = unsure_ || (last && got.what == answer::kind::lost);
            asked_.insert(asked_.begin(), doing.begin(), doing.end());
            if (got.what != answer::kind::lost) {
                core_.rest(before_repeat, pause_before_repeat);
                co_await before_repeat.over;
            }
            continue;
        }
        auto const outcome = last ? conclude_release(got) : conclude_extend(doing, got, lease);
        for (auto const& who : doing) {
            bool const was_lost = who->hold && who->hold->now() == status::lost;
            who->finish(was_lost ? error_code{error::lost} : outcome);
        }
        if (last && outcome && outcome != error::lost)
            core_.note_unreleased();
        unsure_ = false;
    }
    settling_ = false;
    for (auto const& who : std::exchange(asked_, {}))
        who->finish(gone_ ? error::lost : error::closed);
    if (holds_.empty())
        end();
    else if (!gone_ && !renewing_ && renew_at_ == never) {
        renew_at_ = clock::now();  // what was due meanwhile
        watch();
    }
    if (is_doubted())
        doubt();
}

bool tenure::may_send_again(answer const& got) const noexcept
{
    if (core_.is_stopped() || (clock::now() >= server_until_ && !owed_))
        return false;
    // A release is owed also while the server refuses the connection.
    bool const unsent = got.what == answer::kind::failed && got.sent == time_point{};
    return got.what == answer::kind::lost || got.what == answer::kind::not_now ||
        (unsent && leaving_);
}

error_code tenure::conclude_release(answer const& got)
{
    if (got.what != answer::kind::replied)
        return core_.is_stopped() ? error_code{error::closed}
            : got.ec              ? got.ec
                                  : error_code{error::unavailable};
    auto const r = decide::read_release(got.value);
    if (r.what == decide::release_answer::kind::malformed)
        return error::bad_reply;
    if (r.receivers < 0)
        core_.log(log_level::warning, [&] {
            return "release " + name_ +
                ": the server refuses to publish; waiters get in at the poll cap. Remedy: allow"
                " the user the channel " +
                decide::lock_channel(name_);
        });
    // A repeat that finds nothing, while nothing else can have removed it, finds its own effect.
    bool const now = r.what == decide::release_answer::kind::released;
    bool const before = !now && unsure_ && clock::now() < server_until_;
    if (heard_by_us_ && !now && !before)
        core_.subscriptions().expect_no_echo(decide::lock_channel(name_));
    if (key_ && now)
        key_->published(others_of(r.receivers));
    bool const released = now || before;
    return released ? error_code{} : error_code{error::lost};
}

// Where the server does not say, somebody may have heard it.
unsigned tenure::others_of(std::int64_t receivers) const noexcept
{
    if (receivers < 0)
        return 1;
    auto const ours = std::int64_t{heard_by_us_};
    return static_cast<unsigned>(std::max<std::int64_t>(0, receivers - ours));
}

error_code tenure::conclude_extend(
    std::vector<std::shared_ptr<change>> const& doing, answer const& got, milliseconds set
)
{
    if (got.what != answer::kind::replied)
        return core_.is_stopped() ? error_code{error::closed}
            : got.ec              ? got.ec
                                  : error_code{error::unavailable};
    switch (decide::read_extend(got.value)) {
    case decide::extend_answer::gone: gone(error::lost); return error::lost;
    case decide::extend_answer::malformed: return error::bad_reply;
    case decide::extend_answer::extended: break;
    }
    auto const now = clock::now();
    expire(now);
    believe(got.sent);
    for (auto& hold : holds_) {
        bool const asked =
            std::ranges::any_of(doing, [&](auto const& who) { return who->hold.get() == &hold; });
        if (asked || (is_renewed(hold, now) && hold.is_confirmed()))
            confirm(hold, got.sent, set);
    }
    if (auto const lease = shortest_renewed_lease(now); lease != milliseconds::max() && !renewing_)
        renew_at_ =
            decide::renewal_schedule::renewal_time(got.sent, std::min(lease, set), core_.dice());
    watch();
    return {};
}

void tenure::detach()
{
    if (auto* const key = std::exchange(key_, nullptr))
        key->ended(*this);
}

void tenure::end()
{
    auto const self = shared_from_this();
    forget_renewal();
    if (std::exchange(leaving_, false))
        --core_.count.owed_releases;
    core_.watchdog().forget(*this);
    detach();
    core_.remove(*this);
}

}  // namespace colock
