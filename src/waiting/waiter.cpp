#include "base/recycling.hpp"
#include "decide/validity.hpp"
#include "waiting/waiter.hpp"

#include <algorithm>
#include <utility>

namespace colock {

waiter::waiter(core_ptr c, state_kind what, std::string key, acquire_options const& options)
    : inside{std::move(c)}
    , kind{what}
    , name{std::move(key)}
    , who{options.as.value_or(owner{})}
    , lease{std::max(options.lease.value_or(inside->settings().lease), options.at_least)}
    , at_least{options.at_least}
    , renewed{!options.lease || options.renew}
    , shared_owner{options.as.has_value()}
    , re_entrant{options.re_entrant}
    , replicas{static_cast<unsigned>(options.sync_replicas)}
    , limit{[this] {
        auto const life = shared_from_this();
        auto why = once ? inside->transport().down_reason(decide::slot_of(name)) : error_code{};
        if (once && !why)
            why = error::unavailable;
        leave(why);
    }}
{}

// A single try has time for two rounds: the one under way, and its own.
error_code waiter::limit_to(milliseconds longest)
{
    once = longest == milliseconds{0};
    auto const& settings = inside->settings();
    wait = once ? settings.timeout + (replicas ? 2 : 0) * settings.sync_timeout
                : std::min(longest, decide::longest_lease);
    return longest < milliseconds{0} ? error_code{error::invalid_argument} : error_code{};
}

hold_ptr waiter::make_hold() const
{
    auto made = make_recycled<hold_state>(inside, who, lease, renewed);
    made->at_least = at_least;
    return made;
}

void waiter::tell_acquired() const
{
    auto const waited = std::chrono::duration_cast<microseconds>(clock::now() - asked);
    inside->events().acquired(name, waited, attempts);
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
    if (auto* const tries = std::get_if<completion<std::optional<hold>>>(&done))
        (*tries)({}, detail::make_hold(taken));
    else
        std::get<completion<hold>>(done)({}, detail::make_hold(taken));
}

void waiter::grant(std::vector<held_permit> const& taken)
{
    limit.clear();
    std::vector<permit> got;
    for (auto const& [held, id] : taken) {
        begin(held);
        got.emplace_back(detail::make_hold(held), id);
    }
    tell_acquired();
    if (auto* const all = std::get_if<completion<std::vector<permit>>>(&done))
        (*all)({}, std::move(got));
    else if (auto* const tries = std::get_if<completion<std::optional<permit>>>(&done))
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

void waiter::fail(error_code ec)
{
    limit.clear();
    if (is_done())
        return;
    if (ec || !once)
        inside->tell_ended(name, asked, attempts, ec);
    std::visit(
        [ec]<class... Values>(completion<Values...>& caller) { caller(ec, Values{}...); }, done
    );
}

bool waiter::is_done() const noexcept
{
    return !std::visit([](auto const& caller) { return static_cast<bool>(caller); }, done);
}

void waiter::ask_replicas(step& s) const
{
    if (replicas != 0)
        inside->ask_replicas(s, replicas, lease);
}

void start(
    std::shared_ptr<waiter> who, error_code wrong, void (*admit)(std::shared_ptr<waiter> const&)
)
{
    auto const& strand = who->inside->strand();
    asio::dispatch(strand, [who = std::move(who), wrong, admit] {
        if (auto const ec = wrong ? wrong : who->inside->enter())
            who->fail(ec);
        else
            admit(who);
    });
}

}  // namespace colock
