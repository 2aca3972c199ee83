#include "decide/fair_wait.hpp"
#include "decide/names.hpp"
#include "holds/protocol.hpp"

namespace colock {

namespace {

constexpr protocol of_plain{.has_list = true};

constexpr protocol of_spin{.subscribes = false};

constexpr protocol of_fenced{.has_list = true, .has_floor = false};

constexpr protocol of_fair{
    .acquire = &scripts::fair_acquire,
    .release = &scripts::fair_release,
    .force = &scripts::fair_force,
    .has_queue = true,
};

constexpr protocol of_read{
    .acquire = &scripts::read_acquire,
    .extend = &scripts::read_extend,
    .renew = &scripts::read_renew,
    .release = &scripts::read_release,
    .force = &scripts::read_write_force,
    .has_leases = true,
    .is_side = true,
    .channel = &decide::read_write_channel,
};

constexpr protocol of_write{
    .acquire = &scripts::write_acquire,
    .release = &scripts::write_release,
    .force = &scripts::read_write_force,
    .is_side = true,
    .field_end = ":write",
    .channel = &decide::read_write_channel,
};

constexpr protocol permits{
    .acquire = &scripts::permit_acquire,
    .extend = &scripts::permit_extend,
    .renew = &scripts::permit_extend,
    .release = &scripts::permit_release,
    .is_permit = true,
    .why_gone = "the server no longer has it (its lease ended there, or it was released by its id)",
    .channel = &decide::semaphore_channel,
};

}  // namespace

protocol const& protocol::of_permits() noexcept { return permits; }

protocol const& protocol::of(lock_kind kind) noexcept
{
    switch (kind) {
    case lock_kind::plain: break;
    case lock_kind::spin: return of_spin;
    case lock_kind::fenced: return of_fenced;
    case lock_kind::fair: return of_fair;
    case lock_kind::read: return of_read;
    case lock_kind::write: return of_write;
    }
    return of_plain;
}

std::string protocol::leases(std::string_view name, std::string_view prefix) const
{
    return has_leases ? decide::lease_prefix(name, prefix) : std::string{};
}

std::vector<std::string> protocol::queue_keys(std::string_view name, std::string_view prefix) const
{
    if (!has_queue)
        return {};
    decide::fair_keys const keys{name, prefix};
    return {keys.queue, keys.timeouts, keys.tickets};
}

std::string protocol::release_argument(std::string_view name, std::string_view prefix) const
{
    if (has_queue)
        return std::string{decide::redisson_fair_wait};
    return is_side ? decide::lease_prefix(name, prefix) : std::string{};
}

}  // namespace colock
