#include "system/process.hpp"

#ifdef _WIN32
#    include <process.h>
#else
#    include <unistd.h>
#endif

namespace colock {

#ifdef _WIN32
int process_id() noexcept { return ::_getpid(); }
#else
int process_id() noexcept { return ::getpid(); }
#endif

}  // namespace colock
