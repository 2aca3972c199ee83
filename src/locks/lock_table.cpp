#include "base/recycling.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/fair_lock.hpp"
#include "locks/lock_table.hpp"
#include "locks/read_write_lock.hpp"

#include <iterator>
#include <utility>

namespace colock {

namespace {

template <class State>
std::shared_ptr<wait_queue> make(core& inside, lock_traits const& how, std::string name)
{
    return make_recycled<State>(inside, how, std::move(name));
}

constexpr lock_traits table[]{
    {.kind = lock_kind::plain,
     .has_list = true,
     .may_be_taken_over = true,
     .make_state = &make<exclusive_lock>},
    {.kind = lock_kind::spin,
     .subscribes = false,
     .may_be_taken_over = true,
     .make_state = &make<exclusive_lock>},
    {.kind = lock_kind::fenced,
     .has_list = true,
     .has_redisson_tokens = true,
     .may_be_taken_over = true,
     .make_state = &make<exclusive_lock>},
    {.kind = lock_kind::fair,
     .script =
         {.acquire = &scripts::fair_acquire,
          .release = &scripts::fair_release,
          .force = &scripts::fair_force},
     .has_queue = true,
     .make_state = &make<fair_lock_state>},
    {.kind = lock_kind::read,
     .script =
         {.acquire = &scripts::read_acquire,
          .extend = &scripts::read_extend,
          .renew = &scripts::read_renew,
          .release = &scripts::read_release,
          .force = &scripts::read_write_force},
     .has_leases = true,
     .side = "read",
     .channel = &decide::read_write_channel,
     .held = &decide::inspect_answer::is_read,
     .make_state = &make<readers>},
    {.kind = lock_kind::write,
     .script =
         {.acquire = &scripts::write_acquire,
          .release = &scripts::write_release,
          .force = &scripts::read_write_force},
     .has_list = true,
     .closed_by = lock_kind::read,
     .side = "write",
     .field_end = ":write",
     .channel = &decide::read_write_channel,
     .held = &decide::inspect_answer::is_written,
     .make_state = &make<writers>}};

constexpr bool is_in_order() noexcept
{
    for (std::size_t i = 0; i != std::size(table); ++i)
        if (static_cast<std::size_t>(table[i].kind) != i)
            return false;
    return true;
}
static_assert(is_in_order());

}  // namespace

lock_traits const& traits_of(lock_kind kind) noexcept
{
    return table[static_cast<std::size_t>(kind)];
}

std::span<lock_traits const> all_lock_traits() noexcept { return table; }

}  // namespace colock
