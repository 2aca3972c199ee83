// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// To be loaded before all else (LD_PRELOAD) into a program whose wall clock is to be wrong: by the
// seconds that the file COLOCK_WALL_CLOCK_SHIFT holds, a native 64-bit integer, which may change at
// any time. Steady clocks are left alone. libfaketime does the same, but a server whose allocator
// asks for the time while libfaketime begins does not start with it.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

std::int64_t const volatile* shift = nullptr;

__attribute__((constructor)) void begin()
{
    auto const* file = std::getenv("COLOCK_WALL_CLOCK_SHIFT");
    int const fd = file ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    auto* at = ::mmap(nullptr, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at != MAP_FAILED)
        shift = static_cast<std::int64_t const volatile*>(at);
}

std::int64_t seconds() { return shift ? *shift : 0; }

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int clock_gettime(clockid_t which, timespec* to) noexcept
{
    auto const result = ::syscall(SYS_clock_gettime, which, to);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        to->tv_sec += seconds();
    return static_cast<int>(result);
}

int gettimeofday(timeval* to, void*) noexcept
{
    timespec now{};
    if (::clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1'000;
    return 0;
}

time_t time(time_t* to) noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
