#include "service/core.hpp"
#include "service/resident.hpp"

#include <utility>

namespace colock {

resident::resident(core& inside, std::string known_as, unsigned slot)
    : core_{inside}
    , known_as_{std::move(known_as)}
    , slot_{slot}
{}

void resident::leave() noexcept { core_.move_out(*this); }

resident* resident_list::find(std::string const& known_as) const noexcept
{
    auto const at = known_.find(known_as);
    return at == known_.end() ? nullptr : at->second.get();
}

void resident_list::add(std::shared_ptr<resident> r)
{
    auto const& known_as = r->known_as();
    known_.emplace(known_as, std::move(r));
}

std::shared_ptr<resident> resident_list::take_out(resident& r) noexcept
{
    auto const at = known_.find(r.known_as());
    if (at == known_.end() || at->second.get() != &r)
        return {};
    auto gone = std::move(at->second);
    known_.erase(at);
    return gone;
}

std::vector<std::shared_ptr<resident>> resident_list::all() const
{
    std::vector<std::shared_ptr<resident>> copy;
    copy.reserve(known_.size());
    for (auto const& [name, r] : known_)
        copy.push_back(r);
    return copy;
}

}  // namespace colock
