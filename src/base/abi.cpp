#include <colock/detail/abi.hpp>

namespace colock {
inline namespace v0_3 {
namespace detail {

char const abi_boost = 0;

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
