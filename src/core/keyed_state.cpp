#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/presence.hpp"

#include <algorithm>
#include <array>

namespace colock {

namespace {

constexpr std::array<std::string_view, 6> lock_words{
    "lock", "spin", "fenced", "fair", "read", "write"};
static_assert(lock_words.size() == static_cast<std::size_t>(detail::lock_kind::write) + 1);

}  // namespace

std::string_view word_of(state_kind kind) noexcept
{
    if (is_lock(kind))
        return lock_words.at(static_cast<std::size_t>(kind));
    switch (kind) {
    case state_kind::semaphore: return "semaphore";
    case state_kind::permit_semaphore: return "permit";
    case state_kind::latch: return "latch";
    case state_kind::group: return "group";
    default: return "";  // nobody holds these, or waits for them
    }
}

keyed_state::keyed_state(
    core& inside, state_kind kind, std::string name, std::optional<unsigned> slot
)
    : core_{inside}
    , name_{std::move(name)}
    , slot_{slot ? *slot : decide::slot_of(name_)}
    , kind_{kind}
    , is_counted_{kind != state_kind::group && kind != state_kind::watch}
{
    if (is_counted_)
        ++core_.count.keys;
}

keyed_state::keyed_state(core& inside, state_kind kind)
    : keyed_state{inside, kind, inside.keyed_states().unused_name(), 0}
{}

void keyed_state::stop_counting() noexcept
{
    if (std::exchange(is_counted_, false))
        --core_.count.keys;
}

void keyed_state::unregister() noexcept
{
    auto const last = core_.keyed_states().remove(*this);
    stop_counting();
    core_.on_less();
}

keyed_state* keyed_state_registry::find(state_kind kind, std::string_view name) const noexcept
{
    auto const at = known_.find(key{kind, name});
    return at == known_.end() ? nullptr : at->get();
}

void keyed_state_registry::add(std::shared_ptr<keyed_state> s) { known_.insert(std::move(s)); }

std::shared_ptr<keyed_state> keyed_state_registry::remove(keyed_state& s) noexcept
{
    auto const at = known_.find(key{s.kind(), s.name()});
    if (at == known_.end() || at->get() != &s)
        return {};
    return std::move(known_.extract(at).value());
}

bool keyed_state_registry::forced(std::string_view name, std::uint64_t number) const
{
    bool has_it = false;  // both sides of a read-write lock may
    for (std::size_t i = 0; i != lock_words.size(); ++i) {
        auto* const found = find(static_cast<state_kind>(i), name);
        has_it |= found && found->on_forced(number);
    }
    return has_it;
}

void keyed_state_registry::on_turn(
    std::string_view name, std::uint64_t number, std::uint64_t listening
) const
{
    auto const tell = [&](state_kind kind) {
        if (auto* const found = find(kind, name))
            found->on_turn(number, listening);
    };
    for (std::size_t i = 0; i != lock_words.size(); ++i)
        tell(static_cast<state_kind>(i));
    tell(state_kind::semaphore);
    tell(state_kind::permit_semaphore);
}

std::vector<std::shared_ptr<keyed_state>> keyed_state_registry::all() const
{
    std::vector<std::shared_ptr<keyed_state>> copy;
    copy.reserve(known_.size());
    copy.assign(known_.begin(), known_.end());
    return copy;
}

bool keyed_state_registry::is_in_use() const noexcept
{
    return std::ranges::any_of(known_, [](auto const& each) { return each->is_in_use(); });
}

void keyed_state_registry::on_reached(slot_filter const& mine)
{
    for (auto const& each : all())
        if (mine(each->slot()))
            each->on_reached();
}

void keyed_state_registry::on_mailbox()
{
    for (auto const& each : all())
        if (may_be_told(each->kind()))
            each->on_mailbox();
}

void keyed_state_registry::tell(presence& to) const
{
    for (auto const& each : known_) {
        each->tell(to);
        if (to.has_enough_waits())
            return;
    }
}

void keyed_state_registry::end_waiters(failure why)
{
    for (auto const& each : all())
        each->end_waiters(why);
}

void keyed_state_registry::forget()
{
    for (auto const& each : all())
        each->forget();
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
