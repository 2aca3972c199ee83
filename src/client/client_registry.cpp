#include "client/client_registry.hpp"
#include "core/core.hpp"

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

void client_registry::shutdown()
{
    for (auto const& known : std::exchange(cores_, {}))
        if (auto const alive = known.lock())
            alive->shut_down();
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
