#include "decide/fair_wait.hpp"
#include "decide/names.hpp"
#include "service/protocol.hpp"

namespace colock {

release_form release_form::of(lock_ref which)
{
    if (which.kind != lock_kind::fair)
        return {&scripts::release};
    decide::fair_keys const keys{which.name};
    return {
        &scripts::fair_release,
        {keys.queue, keys.timeouts, keys.tickets},
        decide::redisson_fair_wait};
}

}  // namespace colock
