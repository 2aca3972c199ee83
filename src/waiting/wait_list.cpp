#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/reliable.hpp"
#include "decide/names.hpp"
#include "redis/transport.hpp"
#include "waiting/wait_list.hpp"

#include <utility>

namespace colock {

namespace {

/// A wait list that nobody keeps alive ends after that time, see scripts/README.md.
constexpr std::chrono::minutes list_life{2};

}  // namespace

/// A leave that is not answered yet. The client may want the same place again in
/// the meantime: a leave that is repeated after that would take the new entry away.
class wait_list::owed_leave final : public keyed_state {
public:
    owed_leave(core& inside, std::string_view lock, std::string_view entry)
        : keyed_state{inside, state_kind::leave, name_of(lock, entry), 0}
        , sending{inside}
    {}

    /// True if there is one. It is not repeated.
    static bool call_off(core& inside, std::string_view lock, std::string_view entry)
    {
        auto* const found = inside.keyed_states().find(state_kind::leave, name_of(lock, entry));
        if (found)
            static_cast<owed_leave*>(found)->call_off();
        return found;
    }
    bool is_called_off() const noexcept { return is_called_off_; }

    void over() noexcept { unregister(); }

    reliable sending;

private:
    static std::string name_of(std::string_view lock, std::string_view entry)
    {
        return std::string{lock}.append(1, ' ').append(entry);
    }
    void call_off()
    {
        is_called_off_ = true;
        unregister();
        sending.withdraw();  // which may end the task, and destroy this
    }

    bool is_called_off_ = false;
};

wait_list::wait_list(
    core& inside,
    keyed_state const& lock,
    std::string const* channel,
    event<bool>& ask,
    waiting_client& whose
)
    : core_{inside}
    , lock_{lock}
    , channel_{channel}
    , ask_{ask}
    , whose_{whose}
{}

bool wait_list::may_be_used() const noexcept
{
    return channel_ && !is_refused_ && core_.transport().counts_receivers();
}

std::string_view wait_list::to_ask(bool once, time_point back_until) const noexcept
{
    if (!may_be_used() || (once && !place.may_stand()))
        return {};
    return place.to_ask(is_live_, wakes && clock::now() < back_until);
}

void wait_list::hear()
{
    if (is_heard())
        return;
    turn_channel_ = decide::turn_channel(*channel_, core_.uuid());
    is_live_ = core_.subscriptions().add(turn_channel_, *this);
    call_off_leave();
}

void wait_list::call_off_leave()
{
    if (owed_leave::call_off(core_, lock_.name(), entry()))
        place.remains();
}

void wait_list::granted() noexcept
{
    place.granted();
    by_release_ = joining::no;
}

wait_list::next wait_list::refused(std::string_view asked, bool stands)
{
    if (stands && !asked.empty() && !place.is_standing())
        return next::ask;
    if (stands && wakes)
        return next::list_alone;
    if (!wakes || !may_be_used())
        return next::channel;
    is_refused_ = is_live_ && !asked.empty();
    if (is_refused_)
        return next::channel;
    hear();
    return is_refused_ ? next::channel : is_live_ ? next::ask : next::sleep;
}

bool wait_list::joins() noexcept
{
    bool const does = may_be_used() && is_live_ && !place.may_stand();
    if (does)
        place.sent();
    by_release_ = does ? joining::is_sent : joining::no;
    return does;
}

void wait_list::joined(bool stands) noexcept
{
    if (by_release_ != joining::is_sent)
        return;  // it has left since, by a script that came after that one
    place.answered(stands);
    by_release_ = place.is_standing() ? joining::stands : joining::no;
}

bool wait_list::awaits_turn() noexcept
{
    return std::exchange(by_release_, joining::no) == joining::stands && place.is_standing();
}

void wait_list::leave()
{
    if (is_heard())
        core_.subscriptions().remove(std::exchange(turn_channel_, {}), *this);
    is_live_ = false;
    give_up_place();
}

void wait_list::stand_for(std::int64_t permits)
{
    if (permits != permits_)
        give_up_place();
    permits_ = permits;
    if (is_heard())
        call_off_leave();
}

void wait_list::give_up_place()
{
    if (place.owes_an_answer() && !core_.is_stopped())
        send_leave(core_, lock_.name(), lock_.slot(), *channel_, entry());
    place.gone();
    by_release_ = joining::no;
}

// NOLINTBEGIN(*-avoid-reference-coroutine-parameters): tasks end before the core does
strand_task wait_list::send_leave(
    core& inside, std::string key, unsigned in_slot, std::string channel, std::string entry
)
// NOLINTEND(*-avoid-reference-coroutine-parameters)
{
    core::activity const leaving{inside};
    std::string_view const keys[]{key};
    std::string_view const arguments[]{channel, entry};
    auto const owed = std::make_shared<owed_leave>(inside, key, entry);
    inside.keyed_states().add(owed);
    reliable::terms how{.idempotent = true, .until = clock::now() + list_life};
    answer got;
    do {
        how.owed = !inside.refusal();
        step s{scripts::leave, in_slot, keys, arguments};
        got = co_await owed->sending.send(s, how.until);
    } while (co_await owed->sending.repeats(got, how) && !owed->is_called_off());
    owed->over();
}

// Others may have been told before this client was heard.
void wait_list::on_subscribed()
{
    is_live_ = true;
    ask_.set(true);
}

void wait_list::on_message(std::string_view payload)
{
    place.told();
    whose_.on_turn(decide::read_turn(payload));
}

void wait_list::on_interrupted()
{
    is_live_ = false;
    place.interrupted();
    whose_.on_unheard();
}

// A release passes over a client that does not listen, so this one waits by the lock's channel.
void wait_list::on_not_subscribed()
{
    is_refused_ = true;
    ask_.set(true);
}

}  // namespace colock
