#include "allocations.hpp"

namespace bench {

constinit thread_local allocation_count allocated;

}  // namespace bench
