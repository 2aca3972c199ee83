#include "base/recycling.hpp"
#include "decide/validity.hpp"
#include "waiting/wait_queue.hpp"

#include <algorithm>
#include <utility>

namespace colock {

waiter::waiter(core_ptr c, state_kind what, std::string key, acquire_options const& options)
    : decide::acquire_terms{options, c->settings().lease, c->settings().durability}
    , inside{std::move(c)}
    , kind{what}
    , name{std::move(key)}
    , limit{[this] {
        auto const life = shared_from_this();
        leave(why_unserved());
    }}
{}

// The answer of a server counts for as long as it is reached.
failure waiter::why_unserved() const
{
    auto const& transport = inside->transport();
    auto const slot = decide::slot_of(name);
    if (!once && queue && queue->is_taken() && transport.is_up(slot))
        return {};
    auto const down = transport.down_reason(slot);
    return down ? down : failure{error::unavailable};
}

// A single try has time for two rounds: the one under way, and its own.
failure waiter::limit_to(milliseconds longest)
{
    once = longest == milliseconds{0};
    auto const& settings = inside->settings();
    wait = once ? settings.timeout + (wants.is_none() ? 0 : 2) * settings.sync_timeout
                : std::min(longest, decide::longest_lease);
    return longest < milliseconds{0} ? failure{error::invalid_argument} : failure{};
}

hold_ptr waiter::make_hold() const
{
    auto made = make_recycled<hold_state>(inside, who, lease, renewed);
    made->at_least = at_least;
    made->wants = wants;
    return made;
}

// A call that is cancelled before it reaches the strand has not begun to wait.
microseconds waiter::waited() const
{
    bool const began = asked != time_point{};
    return std::chrono::duration_cast<microseconds>(
        began ? clock::now() - asked : clock::duration{0}
    );
}

template <class Event>
void waiter::tell() const
{
    inside->tell(Event{.name = name, .number = arrival, .waited = waited(), .attempts = attempts});
}

void waiter::tell_acquired() const { tell<events::acquired>(); }

void waiter::tell_waiting(milliseconds some) const
{
    inside->tell(events::waiting{.name = name, .number = arrival, .waited = waited(), .lease = some}
    );
}

void waiter::begin(hold_ptr const& taken) const
{
    taken->given = true;
    ++inside->count.holds;
}

void waiter::grant(hold_ptr const& taken)
{
    limit.clear();
    begin(taken);
    tell_acquired();
    if (auto* const tries = std::get_if<completion<if_acquired<hold>>>(&done))
        (*tries)({}, detail::hold_access::make<hold>(taken));
    else
        std::get<completion<hold>>(done)({}, detail::hold_access::make<hold>(taken));
}

void waiter::grant(std::vector<held_permit> const& taken)
{
    limit.clear();
    permit_list got;
    for (auto const& [held, id] : taken) {
        begin(held);
        got.emplace_back(held, id);
    }
    tell_acquired();
    if (auto* const all = std::get_if<completion<permit_list>>(&done))
        (*all)({}, std::move(got));
    else if (auto* const tries = std::get_if<completion<if_acquired<permit>>>(&done))
        (*tries)({}, std::move(got.front()));
    else
        std::get<completion<permit>>(done)({}, std::move(got.front()));
}

void waiter::grant()
{
    limit.clear();
    if (auto* const tries = std::get_if<completion<bool>>(&done))
        (*tries)({}, true);
    else
        std::get<completion<>>(done)({});
}

void waiter::leave(failure why)
{
    if (queue)
        queue->leave(*this, why);
    else
        fail(why);
}

void waiter::fail(failure ec)
{
    limit.clear();
    if (is_done())
        return;
    if (ec == asio::error::operation_aborted)
        tell<events::cancelled>();
    else if (!ec && !once)
        tell<events::gave_up>();
    std::visit(
        [ec]<class... Values>(completion<Values...>& caller) { caller(ec, Values{}...); }, done
    );
}

bool waiter::is_done() const noexcept
{
    return !std::visit([](auto const& caller) { return static_cast<bool>(caller); }, done);
}

void waiter::ask_copies(step& s) const
{
    if (!wants.is_none())
        inside->ask_copies(s, wants, lease);
}

void start(
    std::shared_ptr<waiter> who, failure wrong, void (*admit)(std::shared_ptr<waiter> const&)
)
{
    auto const& strand = who->inside->strand();
    asio::dispatch(strand, [who = std::move(who), wrong, admit] {
        if (auto const ec = wrong ? wrong : who->inside->enter())
            return who->fail(ec);
        who->arrive();
        admit(who);
    });
}

}  // namespace colock
