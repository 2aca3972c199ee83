#include <colock/detail/abi.hpp>

namespace colock::detail {

char const abi_boost = 0;

}  // namespace colock::detail
