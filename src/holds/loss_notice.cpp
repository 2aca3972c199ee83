#include "core/core.hpp"
#include "holds/loss_notice.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colock {

namespace {

/// The events after which a field of a hash may be missing. `shared`: the hash has the fields of
/// others, too, and each that leaves is an "hdel"; a field of one's own goes with the whole hash.
bool may_take_away(std::string_view event, bool shared) noexcept
{
    constexpr std::array<std::string_view, 6> all{
        "del", "expired", "evicted", "set", "rename_from", "rename_to"};
    return (event == "hdel" && !shared) || std::ranges::find(all, event) != all.end();
}

}  // namespace

// In a cluster each node sends the events of its own keys alone, and a subscription may be at
// another node.
std::unique_ptr<loss_notice> loss_notice::of(
    core& inside, std::string const& key, bool shared, std::function<void()> ask
)
{
    auto const& settings = inside.settings();
    if (!settings.instant_notice || settings.topology == topology::cluster)
        return nullptr;
    return std::make_unique<loss_notice>(inside, key, shared, std::move(ask));
}

loss_notice::loss_notice(
    core& inside, std::string const& key, bool shared, std::function<void()> ask
)
    : core_{inside}
    , channel_{"__keyspace@" + std::to_string(inside.settings().database) + "__:" + key}
    , shared_{shared}
    , ask_{std::move(ask)}
{
    may_have_missed_ = !core_.subscriptions().add(channel_, *this);
}

loss_notice::~loss_notice()
{
    if (!core_.is_shut_down())
        core_.subscriptions().remove(channel_, *this, false);
}

void loss_notice::on_subscribed()
{
    if (std::exchange(may_have_missed_, false))
        on_message("del");
}

// The ownership may end, and this notice with it, before `ask` returns.
void loss_notice::on_message(std::string_view event)
{
    if (!may_take_away(event, shared_))
        return;
    auto const ask = ask_;
    ask();
}

}  // namespace colock
