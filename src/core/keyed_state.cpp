#include "core/core.hpp"
#include "core/keyed_state.hpp"

#include <utility>

namespace colock {

keyed_state::keyed_state(core& inside, std::string state_key, unsigned slot)
    : core_{inside}
    , state_key_{std::move(state_key)}
    , slot_{slot}
{}

void keyed_state::unregister() noexcept
{
    auto const last = core_.keyed_states().remove(*this);
    core_.on_less();
}

keyed_state* keyed_state_registry::find(std::string const& state_key) const noexcept
{
    auto const at = known_.find(state_key);
    return at == known_.end() ? nullptr : at->second.get();
}

void keyed_state_registry::add(std::shared_ptr<keyed_state> r)
{
    auto const& state_key = r->state_key();
    known_.emplace(state_key, std::move(r));
}

std::shared_ptr<keyed_state> keyed_state_registry::remove(keyed_state& r) noexcept
{
    auto const at = known_.find(r.state_key());
    if (at == known_.end() || at->second.get() != &r)
        return {};
    auto gone = std::move(at->second);
    known_.erase(at);
    return gone;
}

std::vector<std::shared_ptr<keyed_state>> keyed_state_registry::all() const
{
    std::vector<std::shared_ptr<keyed_state>> copy;
    copy.reserve(known_.size());
    for (auto const& [name, r] : known_)
        copy.push_back(r);
    return copy;
}

void keyed_state_registry::on_link_up(slot_filter const& mine)
{
    for (auto const& each : all())
        if (mine(each->slot()))
            each->on_link_up();
}

void keyed_state_registry::end_waiters(error_code why)
{
    for (auto const& each : all())
        each->end_waiters(why);
}

void keyed_state_registry::release_all()
{
    for (auto const& each : all())
        each->release_all();
}

void keyed_state_registry::destroy_pending() noexcept
{
    for (auto const& each : all())
        each->destroy_pending();
}

}  // namespace colock
