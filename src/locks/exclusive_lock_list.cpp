// How a lock waits in the list of waiting clients at the server. A release tells the first of them
// alone, by a channel of its own. The channel of the lock tells everybody; a waiter listens there
// while the holder is a client that does not know the list, such as Redisson.
#include "core/core.hpp"
#include "core/pause.hpp"
#include "core/subscription_manager.hpp"
#include "decide/names.hpp"
#include "locks/contention_state.hpp"
#include "locks/exclusive_lock.hpp"

#include <charconv>
#include <iterator>
#include <utility>

namespace colock {

void contention_state::turn_listener::on_subscribed()
{
    is_live = true;
    of.of.on_turn_heard();
}

void contention_state::turn_listener::on_message(std::string_view payload)
{
    unsigned listening = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), listening);
    of.of.on_turn(listening);
}

void contention_state::turn_listener::on_interrupted()
{
    is_live = false;
    of.place.interrupted();
}

// A release passes over a client that does not listen, so this one waits by the lock's channel.
void contention_state::turn_listener::on_not_subscribed()
{
    of.list_refused = true;
    of.of.on_turn_heard();
}

bool exclusive_lock::may_use_list() const noexcept
{
    return how().has_list && contention_ && !contention_->list_refused &&
        core_.transport().counts_receivers();
}

/// A single try does not wait, so it takes no place.
std::string_view exclusive_lock::place_to_ask() const noexcept
{
    if (!may_use_list() || (first().once && !contention_->place.may_stand()))
        return {};
    auto const& r = *contention_;
    bool const gives_way = r.wakes && clock::now() < r.turns.back_until();
    return r.place.to_ask(r.turn.is_live, gives_way);
}

// Instead of waiting until others had their chance: it asks for a place behind them.
bool exclusive_lock::joins_behind()
{
    if (may_use_list() && contention_->wakes)
        hear_turn();
    else
        subscribe();
    return contention_->wakes && !place_to_ask().empty();
}

void exclusive_lock::hear_turn()
{
    auto& r = ensure_contention();
    if (!r.turn.channel.empty())
        return;
    r.turn.channel = decide::turn_channel(r.channel, core_.uuid());
    r.turn.is_live = core_.subscriptions().add(r.turn.channel, r.turn);
}

// After a refusal. True if a message may have been missed until now, so that the client has to ask
// once more.
bool exclusive_lock::hears_anew(std::string_view asked, bool stands)
{
    auto& r = *contention_;
    if (stands && !r.place.is_standing())
        return true;
    if (stands && r.wakes) {
        if (is_alone())  // with followers the lock is handed over, which needs the channel
            stop_listening();
        return false;
    }
    if (r.wakes && may_use_list()) {
        r.list_refused = r.turn.is_live && !asked.empty();
        if (!r.list_refused) {
            hear_turn();
            return r.turn.is_live;
        }
    }
    if (r.listens)
        return false;
    subscribe();
    return r.is_live;
}

void exclusive_lock::stop_listening()
{
    auto& r = *contention_;
    if (std::exchange(r.listens, false))
        core_.subscriptions().remove(r.channel, *this, !r.turns.others().is_large());
    r.is_live = false;
}

// Others may have been told before this client was heard, or it can't be heard, so it asks.
void exclusive_lock::on_turn_heard()
{
    if (!ownership_)
        wake();
}

// The client that has its turn asks at once. While others listen to the lock's channel, who have no
// place in the list, it sometimes lets them ask first.
void exclusive_lock::on_turn(unsigned listening)
{
    auto& r = *contention_;
    r.place.told();
    if (ownership_ || !r.sleeping)
        return;
    auto const now = clock::now();
    r.heard = r.turns.told(now, listening, core_.round_trip().usual());
    get_up();
    sleep_to_cap();
}

bool exclusive_lock::joins_list()
{
    bool const joins = !is_empty() && may_use_list() && contention_->turn.is_live;
    if (joins)
        contention_->place.sent();
    return joins;
}

void exclusive_lock::joined(bool stands)
{
    if (!contention_)
        return;
    contention_->place.answered(stands);
    contention_->awaits_turn = contention_->place.is_standing();
}

bool exclusive_lock::awaits_turn() noexcept
{
    return contention_ && std::exchange(contention_->awaits_turn, false) &&
        contention_->place.is_standing();
}

// Nobody waits here any more. If this client's turn has come, or comes now, the next client is
// told.
void exclusive_lock::leave_list()
{
    auto& r = *contention_;
    if (!r.turn.channel.empty())
        core_.subscriptions().remove(std::exchange(r.turn.channel, {}), r.turn);
    r.turn.is_live = false;
    if (r.place.owes_an_answer() && !core_.is_stopped())
        send_leave(core_, std::string{name()}, slot(), r.channel);
    r.place.gone();
    r.awaits_turn = false;
}

// NOLINTBEGIN(*-avoid-reference-coroutine-parameters): tasks end before the core does
strand_task exclusive_lock::send_leave(
    core& inside, std::string key, unsigned in_slot, std::string channel
)
// NOLINTEND(*-avoid-reference-coroutine-parameters)
{
    core::activity const leaving{inside};
    std::string_view const keys[]{key};
    std::string_view const arguments[]{channel, inside.uuid()};
    pause before_repeat;
    for (std::uint32_t refusals = 0;;) {
        step s{scripts::leave, in_slot, keys, arguments};
        inside.transport().submit(s);
        answer const got = co_await s.answered;
        bool const is_due = got.what == answer::kind::lost || got.what == answer::kind::not_now;
        if (!is_due || inside.is_stopped())
            co_return;
        if (got.what == answer::kind::not_now) {
            inside.rest(before_repeat, inside.repeat_pause(++refusals));
            co_await before_repeat.over;
        }
    }
}

}  // namespace colock
