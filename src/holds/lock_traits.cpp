#include "decide/fair_wait.hpp"
#include "decide/names.hpp"
#include "holds/lock_traits.hpp"

namespace colock {

namespace {

constexpr lock_traits permits{
    .script =
        {.acquire = &scripts::permit_acquire,
         .extend = &scripts::permit_extend,
         .renew = &scripts::permit_extend,
         .release = &scripts::permit_release},
    .is_permit = true,
    .why_gone = "the server no longer has it (its lease ended there, or it was released by its id)",
    .channel = &decide::semaphore_channel,
};

}  // namespace

lock_traits const& lock_traits::of_permits() noexcept { return permits; }

std::string lock_traits::leases(std::string_view name, std::string_view prefix) const
{
    return has_leases ? decide::lease_prefix(name, prefix) : std::string{};
}

std::vector<std::string> lock_traits::queue_keys(std::string_view name, std::string_view prefix)
    const
{
    if (!has_queue)
        return {};
    decide::fair_keys const keys{name, prefix};
    return {keys.queue, keys.timeouts, keys.tickets};
}

std::string lock_traits::release_argument(std::string_view name, std::string_view prefix) const
{
    if (has_queue)
        return std::string{decide::redisson_fair_wait};
    return is_side() ? decide::lease_prefix(name, prefix) : std::string{};
}

}  // namespace colock
