// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// To be loaded before all else (LD_PRELOAD) into a program whose wall clock is to be wrong: by the
// seconds that the file COLOCK_WALL_CLOCK_SHIFT holds, a native 64-bit integer, which may change at
// any time. Or it stands still, at the microseconds since 1970 that the file COLOCK_WALL_CLOCK_AT
// holds. Steady clocks are left alone. libfaketime does the same, but a server whose allocator
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

using shared_number = std::int64_t const volatile*;

shared_number shift = nullptr, standing = nullptr;

shared_number number_in(char const* variable)
{
    auto const* file = std::getenv(variable);
    int const fd = file ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return nullptr;
    auto* at = ::mmap(nullptr, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<shared_number>(at);
}

__attribute__((constructor)) void begin()
{
    shift = number_in("COLOCK_WALL_CLOCK_SHIFT");
    standing = number_in("COLOCK_WALL_CLOCK_AT");
}

void set_wall_clock(timespec& to)
{
    if (shift)
        to.tv_sec += *shift;
    if (!standing)
        return;
    auto const at = *standing;
    to.tv_sec = at / 1'000'000;
    to.tv_nsec = at % 1'000'000 * 1'000;
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int clock_gettime(clockid_t which, timespec* to) noexcept
{
    auto const result = ::syscall(SYS_clock_gettime, which, to);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        set_wall_clock(*to);
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
